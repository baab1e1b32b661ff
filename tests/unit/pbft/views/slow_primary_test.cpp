#include "pbft/core/views/slow_primary.hpp"

#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr Duration kAllowance = milliseconds(500);
constexpr Duration kGrace = SlowPrimary::kGrace;

struct PaceWatch {
  // A request waits for so long, and is ordered; then nothing waits for a while.
  bool serve(Duration waited, Duration after) {
    slow.note(now, now);
    const bool is_due = slow.due() <= now + waited;
    now = is_due ? slow.due() : now + waited;
    if (is_due) return true;
    slow.note(std::nullopt, now);
    now += after;
    slow.note(std::nullopt, now);
    return false;
  }
  // How many such requests until it is enough; 0: never.
  int requests_until_blame(Duration waited, Duration after) {
    for (int number = 1; number < 10'000; ++number) {
      if (serve(waited, after)) return number;
    }
    return 0;
  }

  SlowPrimary slow{kAllowance, 2};
  TimePoint now{};
};

}  // namespace

TEST_CASE("A primary that lets each request wait a little is found out") {
  PaceWatch watch;
  CHECK(watch.requests_until_blame(milliseconds(125), milliseconds(100)) == 7);
}

TEST_CASE("Seldom late, or by little, is not slow") {
  CHECK(PaceWatch().requests_until_blame(kGrace, Duration{}) == 0);
  CHECK(PaceWatch().requests_until_blame(kGrace + milliseconds(100), milliseconds(500)) == 0);
}

TEST_CASE(
    "Where f+1 primaries in a row are slow, it is the load, and no more are tried for a while") {
  PaceWatch watch;
  const auto is_slow = [&] {
    return watch.requests_until_blame(milliseconds(200), Duration{}) > 0;
  };
  for (Duration pause = SlowPrimary::kPause; pause <= 4 * SlowPrimary::kPause; pause *= 2) {
    for (int primary = 0; primary < 2; ++primary) {
      REQUIRE(is_slow());
      watch.slow.on_blamed(watch.now);
    }
    const TimePoint then = watch.now;
    REQUIRE(is_slow());
    CHECK(watch.now - then >= pause);
    CHECK(watch.now - then < pause + seconds(2));
    watch.slow.restart(watch.now);
  }
}

TEST_CASE("The next pause is a short one again when nobody was blamed for twice as long as it") {
  PaceWatch watch;
  const auto paused_for = [&] {
    for (int primary = 0; primary < 2; ++primary) {
      REQUIRE(watch.requests_until_blame(milliseconds(200), Duration{}) > 0);
      watch.slow.on_blamed(watch.now);
    }
    const TimePoint then = watch.now;
    REQUIRE(watch.requests_until_blame(milliseconds(200), Duration{}) > 0);
    watch.slow.restart(watch.now);
    return then;
  };
  const TimePoint blamed_at = paused_for();
  // The second pause would be twice as long as the first.
  const bool is_over = GENERATE(false, true);
  watch.now = blamed_at + (is_over ? 4 : 3) * SlowPrimary::kPause;
  watch.slow.note(std::nullopt, watch.now);
  const TimePoint then = paused_for();
  CHECK((watch.now - then < 2 * SlowPrimary::kPause) == is_over);
}

TEST_CASE("A primary that has proved itself is none of those in a row") {
  PaceWatch watch;
  for (int times = 0; times < 5; ++times) {
    REQUIRE(watch.requests_until_blame(milliseconds(200), Duration{}) > 0);
    watch.slow.on_blamed(watch.now);
    watch.now += SlowPrimary::kProven;
    watch.slow.note(std::nullopt, watch.now);
  }
}

TEST_CASE("A backup asks for another primary when requests wait again and again") {
  Subject backup(2);
  std::uint64_t sequence = 0;
  while (backup.replica.state() == ReplicaState::normal) {
    REQUIRE(++sequence < 20);
    const Frame late = retransmitted(request(sequence));
    backup.feed(late);
    backup.tick(milliseconds(200));  // well within the time-out
    if (backup.replica.state() != ReplicaState::normal) break;
    const Proposal proposal = pre_prepare(sequence, {late});
    backup.feed(proposal.frame);
    backup.feed(prepare(1, sequence, proposal.batch));
    backup.feed(commit(0, sequence, proposal.batch));
    backup.feed(commit(1, sequence, proposal.batch));
    for (const Execution& execution : std::vector(backup.actions.executions))
      backup.executed(execution.id, "result");
  }
  CHECK(sequence > 1);
  CHECK(backup.replica.status().view_change_cause == ViewChangeCause::primary_slow);
}

}  // namespace prophecy::pbft::test
