#include "dht/core/steps.hpp"

// A build for tests stands for the release after this one, and speaks one step more.
#ifndef PROPHECY_STEPS_AHEAD
#define PROPHECY_STEPS_AHEAD 0
#endif

namespace prophecy::dht {

Steps own_steps() {
  return {.oldest = 1, .newest = 1 + PROPHECY_STEPS_AHEAD};
}

}  // namespace prophecy::dht
