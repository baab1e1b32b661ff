#include "dht/core/steps.hpp"

// Of a build for tests, which stands for the release after this one: one more.
#ifndef PROPHECY_STEPS_AHEAD
#define PROPHECY_STEPS_AHEAD 0
#endif

namespace prophecy::dht {

Steps own_steps() {
  return {.oldest = 1, .newest = 1 + PROPHECY_STEPS_AHEAD};
}

}  // namespace prophecy::dht
