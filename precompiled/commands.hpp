// As standard.hpp, for programs with commands and JSON.
#include "precompiled/asio.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
