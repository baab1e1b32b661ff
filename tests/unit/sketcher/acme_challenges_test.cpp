#include "sketcher/reads/acme_challenges.hpp"

#include <catch2/catch.hpp>

namespace prophecy::sketcher {

TEST_CASE("Look-ups of challenges have a budget for each second") {
  using std::chrono::milliseconds;
  LookUpBudget budget;
  const TimePoint start{std::chrono::seconds(1000)};
  std::uint32_t taken = 0;
  for (int i = 0; i < 1000; ++i)
    taken += budget.take(start + milliseconds(i / 2)) ? 1 : 0;
  CHECK(taken == LookUpBudget::kPerSecond);
  CHECK_FALSE(budget.take(start + milliseconds(999)));
  CHECK(budget.take(start + milliseconds(1000)));
}

TEST_CASE("Only what may be a challenge is looked for") {
  CHECK(AcmeChallenges::may_be("/.well-known/acme-challenge/abc-DEF_123"));
  for (const char* target : {"/.well-known/acme-challenge/", "/.well-known/acme-challenge", "/x",
                             "/.well-known/acme-challenge/a/b", "/.well-known/acme-challenge/..",
                             "/.well-known/acme-challenge/a?b"}) {
    INFO(target);
    CHECK_FALSE(AcmeChallenges::may_be(target));
  }
}

}  // namespace prophecy::sketcher
