// A primary that shows its proposals to some backups only, so that the others have them from these.
#include "pbft/core/views/left_out.hpp"

#include <catch2/catch.hpp>

#include "pbft/group.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr Duration kInterval = milliseconds(500);

// Counts of one interval after another.
struct Watch {
  bool after(std::uint64_t all, std::uint64_t late) {
    taken.all += all;
    taken.late += late;
    now += kInterval;
    left_out.note(taken, now);
    return left_out.is_due();
  }

  TakenProposals taken;
  TimePoint now{};
  LeftOut left_out{kInterval};
};

constexpr NodeId kSelf = 1;
constexpr NodeId kShown = 3;  // the backup that gets all

// Backup 1, of view 0, and proposals that come some time after the other backup's vote for them.
struct Backup : Subject {
  Backup() : Subject(kSelf) {}

  enum class By : std::uint8_t { primary, other_backup };
  // Yields whether the replica is still in the view.
  bool take(By way, Duration after_vote, std::initializer_list<NodeId> committed_by = {}) {
    ++sequence;
    const Proposal proposal = pre_prepare(sequence, {request(sequence)});
    feed(prepare(kShown, sequence, proposal.batch));
    for (const NodeId other : committed_by)
      feed(commit(other, sequence, proposal.batch));
    pass(after_vote);
    if (way == By::primary) {
      feed(proposal.frame);
    } else {
      feed_as_it_is(encode_sealed(*proposal.frame, ring(kShown)));
    }
    // Its vote is what the others have waited for.
    feed(commit(0, sequence, proposal.batch));
    feed(commit(kShown, sequence, proposal.batch));
    for (const Execution& execution : std::vector(actions.executions))
      executed(execution.id, "result");
    if (replica.state() != ReplicaState::normal) return false;
    REQUIRE(replica.status().last_ordered == sequence);
    pass(milliseconds(50) - after_vote);
    return replica.state() == ReplicaState::normal;
  }
  // As the shell does: a tick when one is wanted.
  void pass(Duration length) {
    const TimePoint end = now + length;
    while (replica.next_timer() <= end && replica.state() == ReplicaState::normal)
      tick(std::max(replica.next_timer() - now, Duration{}));
    if (replica.state() == ReplicaState::normal) now = end;
  }
  int until_blame(By way, Duration after_vote, std::initializer_list<NodeId> committed_by = {}) {
    for (int number = 1; number <= 100; ++number) {
      if (!take(way, after_vote, committed_by)) return number;
    }
    return 0;
  }

  std::uint64_t sequence = 0;
};

constexpr Duration kLate = TakenProposals::kLateAfter;

}  // namespace

TEST_CASE("Many late proposals, in two intervals, are the primary's doing") {
  Watch watch;
  CHECK_FALSE(watch.after(10, 10));
  CHECK(watch.after(10, 2));
}

TEST_CASE("A few late proposals, or a small share, or one interval are not") {
  Watch watch;
  for (int i = 0; i < 10; ++i)
    CHECK_FALSE(watch.after(1, 1));
  for (int i = 0; i < 10; ++i)
    CHECK_FALSE(watch.after(100, 19));
  for (int i = 0; i < 10; ++i) {
    CHECK_FALSE(watch.after(20, 20));
    CHECK_FALSE(watch.after(20, 0));
  }
  watch.after(20, 20);
  watch.left_out.restart(watch.taken, watch.now);
  CHECK_FALSE(watch.after(20, 20));
  CHECK(watch.after(20, 20));
}

TEST_CASE("A backup asks for another primary when it has its proposals from others, and late") {
  Backup backup;
  const int proposals = backup.until_blame(Backup::By::other_backup, kLate);
  // Two intervals of twenty.
  CHECK(proposals >= 39);
  CHECK(proposals <= 42);
  CHECK(backup.replica.status().view_change_cause == ViewChangeCause::left_out);
}

TEST_CASE("Also when the primary sends them in the end") {
  CHECK(Backup().until_blame(Backup::By::primary, kLate) > 0);
}

TEST_CASE("A backup that hands proposals on at once, before the primary's come, deposes nobody") {
  CHECK(Backup().until_blame(Backup::By::other_backup, kLate - milliseconds(1)) == 0);
}

TEST_CASE("A backup for which nobody waits does not ask for another primary") {
  CHECK(Backup().until_blame(Backup::By::other_backup, kLate, {2, kShown}) == 0);
}

}  // namespace prophecy::pbft::test
