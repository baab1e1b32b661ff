// As standard.hpp, for tests.
#include "precompiled/standard.hpp"

#include <catch2/catch.hpp>
