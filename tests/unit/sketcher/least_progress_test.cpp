#include "sketcher/core/least_progress.hpp"

#include <catch2/catch.hpp>

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

}  // namespace prophecy::sketcher
