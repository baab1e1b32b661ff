#include "sketcher/worker/spare_heap.hpp"

#include <initializer_list>

#include <catch2/catch.hpp>

using prophecy::sketcher::SpareHeap;

namespace {

// How often memory is given back, with so many live sessions at each look.
int times_given_back(SpareHeap& spare, std::initializer_list<std::size_t> live_sessions) {
  int times = 0;
  for (const std::size_t live : live_sessions)
    times += spare.should_give_back(live) ? 1 : 0;
  return times;
}

}  // namespace

TEST_CASE("What a row of looks has not seen in use is given back, once") {
  SpareHeap spare;
  CHECK(times_given_back(spare, {0, 0, 5000, 4000, 10}) == 0);
  CHECK(times_given_back(spare, {10, 10, 10, 10}) == 0);
  CHECK(times_given_back(spare, {10}) == 1);
  CHECK(times_given_back(spare, {10, 0, 10, 20, 30, 10, 10, 10, 10, 10}) == 0);
  CHECK(times_given_back(spare, {0, 5000, 0, 0, 0, 0, 0, 0, 0, 0}) == 1);
}

TEST_CASE("What is in use at one look of each row is kept") {
  SpareHeap spare;
  CHECK(times_given_back(spare, {5000, 0, 0, 0, 0, 0, 0, 0, 0, 4500, 4500, 0, 0, 0, 0}) == 0);
  CHECK(times_given_back(spare, {0, 0, 0, 0, 0}) == 1);
}

TEST_CASE("The memory of few sessions is not worth a walk over the heap") {
  SpareHeap spare;
  CHECK(times_given_back(spare, {1999, 1999, 1999, 1999, 1999, 1000, 1000, 1000, 1000, 1000}) == 0);
  CHECK(times_given_back(spare, {999, 999, 999, 999, 999}) == 1);
}
