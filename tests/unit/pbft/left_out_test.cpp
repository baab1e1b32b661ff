// A primary that shows its proposals to some backups only, so that the others have them from these.
#include "pbft/core/views/left_out.hpp"

#include <catch2/catch.hpp>

#include "pbft/group.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr Duration kInterval = milliseconds(500);

// Counts of one interval after another.
struct Watch {
  bool after(std::uint64_t all, std::uint64_t late, std::uint64_t overtaken = 0) {
    taken.all += all;
    taken.late += late;
    taken.overtaken += overtaken;
    now += kInterval;
    left_out.note(taken, now);
    return left_out.is_due();
  }

  TakenProposals taken;
  TimePoint now{};
  LeftOut left_out{kInterval};
};

constexpr Duration kLate = TakenProposals::kLateAfter;
constexpr NodeId kSelf = 1;
constexpr NodeId kShown = 3;  // the backup that gets all

// A primary takes up no proposals, and a faulty backup votes for whatever it likes.
TEST_CASE("What is said of proposals that never come is kept no longer than they are waited for") {
  constexpr std::uint64_t kWindow = 8;
  ProposalTimes times;
  std::size_t most = 0;
  for (std::uint64_t done = 0; done < 100; ++done) {
    for (std::uint64_t sequence = done + 1; sequence <= done + kWindow; ++sequence) {
      const Digest batch = sha256(as_bytes(std::to_string(sequence)));
      times.note_vote(sequence, batch, TimePoint{}, done);
      times.note_shown(sequence, batch, done);
    }
    times.note_vote(done, Digest{1}, TimePoint{}, done);
    times.note_shown(done, Digest{1}, done);
    most = std::max(most, times.size());
  }
  CHECK(most == 2 * kWindow);
}

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
    agree(proposal.batch);
    return is_normal_after(milliseconds(50) - after_vote);
  }
  // Its vote is what the others have waited for.
  void agree(const Digest& batch) {
    std::vector<Execution> executions = actions.executions;
    for (const NodeId other : {0u, kShown}) {
      feed(commit(other, sequence, batch));
      executions.insert(executions.end(), actions.executions.begin(), actions.executions.end());
    }
    for (const Execution& execution : executions)
      executed(execution.id, "result");
  }
  bool is_normal_after(Duration length) {
    if (replica.state() != ReplicaState::normal) return false;
    REQUIRE(replica.status().last_ordered == sequence);
    pass(length);
    return replica.state() == ReplicaState::normal;
  }
  // One batch in ten comes late, and behind a frame that names it: of the primary, or of the other
  // backup.
  enum class NamedBy : std::uint8_t {
    nothing,
    commit,
    status,
    next_proposal,
    others_status,
    relayed_proposal,
  };
  int until_blame_of_one_in_ten(NamedBy named_by, Duration after_vote = kLate) {
    for (int number = 1; number <= 100; ++number) {
      const bool is_late = number % 10 == 5;
      const bool is_in_view =
          is_late ? take_behind(named_by, after_vote) : take(By::primary, Duration{});
      if (!is_in_view) return number;
    }
    return 0;
  }
  bool take_behind(NamedBy named_by, Duration after_vote) {
    const std::uint64_t number = ++sequence;
    const Proposal proposal = pre_prepare(number, {request(number)});
    const Proposal next = pre_prepare(number + 1, {request(number + 1)});
    feed(prepare(kShown, number, proposal.batch));
    if (named_by == NamedBy::commit) feed(commit(0, number, proposal.batch));
    if (named_by == NamedBy::status) feed(status_from(0, number));
    if (named_by == NamedBy::others_status) feed(status_from(kShown, number));
    if (named_by == NamedBy::next_proposal) feed(next.frame);
    if (named_by == NamedBy::relayed_proposal) {
      feed_as_it_is(encode_sealed(*next.frame, ring(kShown)));
    }
    pass(after_vote);
    feed(proposal.frame);
    agree(proposal.batch);
    if (named_by == NamedBy::next_proposal || named_by == NamedBy::relayed_proposal) {
      ++sequence;
      feed(prepare(kShown, sequence, next.batch));
      agree(next.batch);
    }
    return is_normal_after(milliseconds(50) - after_vote);
  }
  // The primary sends it again once it is asked, and by then others stand for the batch.
  bool take_refused(const Frame& request) {
    const Proposal proposal = pre_prepare(++sequence, {request});
    feed(proposal.frame);
    feed(prepare(kShown, sequence, proposal.batch));
    feed(status_from(0, sequence));
    pass(kLate);
    feed(proposal.frame);
    agree(proposal.batch);
    return is_normal_after(milliseconds(50) - kLate);
  }
  // By which it has the proposal, and has not committed the batch.
  Frame status_from(NodeId from, std::uint64_t number) {
    const std::vector<std::uint8_t> slots{kHasPrePrepare};
    StatusMessage status;
    status.counter = ++statuses;
    status.first_retained = 1;
    status.last_ordered = status.settled = number - 1;
    status.slots = slots;
    return encode_status(status, ring(from));
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
  std::uint64_t statuses = 0;
};

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

TEST_CASE("Proposals behind what the primary has sent later are its doing, be they few") {
  Watch watch;
  CHECK_FALSE(watch.after(1000, 2, 2));
  CHECK(watch.after(1000, 2, 2));
  watch.left_out.restart(watch.taken, watch.now);
  for (int i = 0; i < 10; ++i)
    CHECK_FALSE(watch.after(1000, 1, 1));
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

TEST_CASE("A primary that skips one proposal in ten loses its view, whatever names the batch") {
  using NamedBy = Backup::NamedBy;
  const auto named_by = GENERATE(NamedBy::commit, NamedBy::status, NamedBy::next_proposal);
  Backup backup;
  const int proposals = backup.until_blame_of_one_in_ten(named_by);
  // Two intervals of twenty.
  CHECK(proposals >= 37);
  CHECK(proposals <= 42);
  CHECK(backup.replica.status().view_change_cause == ViewChangeCause::left_out);
}

TEST_CASE("One proposal in ten that is late in its order, or soon behind it, deposes nobody") {
  CHECK(Backup().until_blame_of_one_in_ten(Backup::NamedBy::nothing) == 0);
  CHECK(Backup().until_blame_of_one_in_ten(Backup::NamedBy::commit, kLate - milliseconds(1)) == 0);
}

TEST_CASE(
    "What another backup names, or hands on, does not show that the primary skipped a batch") {
  CHECK(Backup().until_blame_of_one_in_ten(Backup::NamedBy::others_status) == 0);
  CHECK(Backup().until_blame_of_one_in_ten(Backup::NamedBy::relayed_proposal) == 0);
}

TEST_CASE("A proposal that came in time, and was refused for its client's MACs, is no late one") {
  Backup backup;
  for (int number = 1; number <= 100; ++number) {
    const Frame request = with_wrong_macs(test::request(backup.sequence + 1), {kSelf});
    const bool is_in_view =
        number % 10 == 5 ? backup.take_refused(request) : backup.take(Backup::By::primary, {});
    REQUIRE(is_in_view);
  }
  CHECK(backup.dropped(DropReason::bad_mac) == 10);
}

}  // namespace prophecy::pbft::test
