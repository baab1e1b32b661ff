#include "sketcher/core/admission/least_progress.hpp"

#include <catch2/catch.hpp>

#include "sketcher/core/admission/queue_progress.hpp"

namespace prophecy::sketcher {

TEST_CASE("a client's time begins anew with every four KiB, not with every byte") {
  LeastProgress progress;
  for (std::size_t i = 1; i < LeastProgress::kBytes; ++i)
    REQUIRE_FALSE(progress.moved(1));
  CHECK(progress.moved(1));
  CHECK_FALSE(progress.moved(LeastProgress::kBytes - 1));
  progress.restart();
  CHECK_FALSE(progress.moved(1));
  CHECK(progress.moved(100 * LeastProgress::kBytes));
  CHECK_FALSE(progress.moved(1));
}

TEST_CASE("what leaves the kernel counts as it does elsewhere, from one look to the next") {
  QueueProgress queue;
  queue.begin(10 * LeastProgress::kBytes);
  CHECK_FALSE(queue.went_on(9 * LeastProgress::kBytes + 1));
  queue.begin(10 * LeastProgress::kBytes);
  CHECK(queue.went_on(9 * LeastProgress::kBytes));
  CHECK_FALSE(queue.went_on(9 * LeastProgress::kBytes));
  CHECK(queue.went_on(0));
  CHECK_FALSE(queue.went_on(0));
}

}  // namespace prophecy::sketcher
