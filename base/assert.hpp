// ASSERT states what can only be false through a defect of our own. It stays on in release:
// a trusted program that has lost its footing stops instead of serving. What a peer, a client,
// a disk or an operator can cause is never asserted, it is an Error.
#pragma once

namespace prophecy {

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace prophecy

#define ASSERT(expression)                                           \
  do {                                                               \
    if (!(expression)) [[unlikely]]                                  \
      ::prophecy::assertion_failed(#expression, __FILE__, __LINE__); \
  } while (false)

// Marks a branch that no input can reach.
#define UNREACHABLE() ::prophecy::assertion_failed("unreachable", __FILE__, __LINE__)
