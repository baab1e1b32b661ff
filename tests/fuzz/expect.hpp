// REQUIRE and CHECK outside of Catch, so that a fuzz target has the same world around it as unit
// tests have. Included before that world.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace prophecy::fuzz {

inline void expect(bool condition, const char* text, const char* file, int line) {
  if (condition) return;
  std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
  std::abort();
}

}  // namespace prophecy::fuzz

#define EXPECT_IN_FUZZ(condition, text) \
  ::prophecy::fuzz::expect((condition), text, __FILE__, __LINE__)
#define REQUIRE(...) EXPECT_IN_FUZZ((__VA_ARGS__), #__VA_ARGS__)
#define REQUIRE_FALSE(...) EXPECT_IN_FUZZ(!(__VA_ARGS__), "not " #__VA_ARGS__)
#define CHECK(...) REQUIRE(__VA_ARGS__)
#define CHECK_FALSE(...) REQUIRE_FALSE(__VA_ARGS__)
