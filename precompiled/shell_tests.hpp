// As standard.hpp, for tests of what has an event loop.
#include "precompiled/asio.hpp"

#include <catch2/catch.hpp>
