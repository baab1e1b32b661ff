#include "sketcher/ring/drain_watch.hpp"

#include <catch2/catch.hpp>

namespace prophecy::sketcher {
namespace {

using std::chrono::seconds;

dht::BootTime at(int seconds_of_boot) {
  return dht::BootTime(seconds(seconds_of_boot));
}

}  // namespace

TEST_CASE("A drain is not over before others have had time to ask") {
  DrainWatch watch(seconds(2));
  watch.on_ask(at(5));  // in another change, long ago
  CHECK_FALSE(watch.is_over(7, at(100)));
  watch.note(true, at(100));
  CHECK_FALSE(watch.is_over(7, at(100)));
  CHECK_FALSE(watch.is_over(7, at(102)));
  CHECK(watch.is_over(7, at(103)));
  CHECK(watch.is_over(0, at(100)));
}

TEST_CASE("A drain is not over while others ask") {
  DrainWatch watch(seconds(2));
  watch.note(true, at(100));
  watch.on_ask(at(102));
  watch.note(true, at(103));
  CHECK_FALSE(watch.is_over(7, at(104)));
  CHECK(watch.is_over(7, at(105)));
}

TEST_CASE("A member that has joined again begins a drain anew") {
  DrainWatch watch(seconds(2));
  watch.note(true, at(100));
  watch.note(false, at(101));
  CHECK_FALSE(watch.is_over(0, at(110)));
  watch.note(true, at(120));
  CHECK_FALSE(watch.is_over(7, at(121)));
  CHECK(watch.is_over(7, at(123)));
}

}  // namespace prophecy::sketcher
