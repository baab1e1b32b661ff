// Until the end of the block the system has no thread to give, as at the limit on processes, which
// holds for nobody who is root: new threads would need a stack larger than the address space.
#pragma once

#include <cstddef>

#include <catch2/catch.hpp>
#include <pthread.h>

namespace prophecy::pbft::test {

class NoThreads {
 public:
  NoThreads() {
    REQUIRE(::pthread_getattr_default_np(&before_) == 0);
    pthread_attr_t none;
    REQUIRE(::pthread_attr_init(&none) == 0);
    REQUIRE(::pthread_attr_setstacksize(&none, std::size_t{1} << 60) == 0);
    REQUIRE(::pthread_setattr_default_np(&none) == 0);
    ::pthread_attr_destroy(&none);
  }
  ~NoThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_{};
};

}  // namespace prophecy::pbft::test
