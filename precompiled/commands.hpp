// As standard.hpp, for programs with commands and JSON.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "precompiled/asio.hpp"
