// Replicas whose machine is halted for a while: no primary is given up for what waited meanwhile.
#include "pbft/core/state/absence.hpp"

#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"
#include "pbft/group.hpp"
#include "pbft/views/view_frames.hpp"
#include "pbft/whole_group.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr Duration kViewTimeOut = ReplicaSettings().view_change_timeout;

std::uint64_t started(const Subject& subject) {
  return subject.replica.counters().view_changes_started;
}

// Until it asks for another primary, as one that runs.
Duration asks_after(Subject& subject) {
  const TimePoint from = subject.now;
  while (started(subject) == 0 && subject.now < from + seconds(10))
    subject.tick(milliseconds(1));
  return subject.now - from;
}

// What may count against a primary.
struct Waiting {
  const char* what;
  void (*begin)(Subject& backup);
};
constexpr Waiting kWaiting[] = {
    {"a proposal", [](Subject& backup) { backup.feed(pre_prepare(1, {request(1)}).frame); }},
    {"a request", [](Subject& backup) { backup.feed(retransmitted(request(1))); }},
};

}  // namespace

TEST_CASE("What an ordinary machine does to a process is no absence") {
  const TimePoint due = TimePoint{} + seconds(5);
  CHECK(absence(due, due - seconds(1)) == Duration{});
  CHECK(absence(due, due) == Duration{});
  CHECK(absence(due, due + kAbsenceMin) == Duration{});
  CHECK(absence(due, due + kAbsenceMin + microseconds(1)) == kAbsenceMin + microseconds(1));
  CHECK(absence(TimePoint::max(), due) == Duration{});
}

TEST_CASE("The time in which a replica did not run counts against no primary") {
  const Waiting& waiting = kWaiting[GENERATE(0, 1)];
  INFO(waiting.what);
  const Duration halted = GENERATE(milliseconds(300), milliseconds(600), seconds(30));
  Subject usual(1);
  waiting.begin(usual);
  const Duration as_usual = asks_after(usual);
  REQUIRE(as_usual <= kViewTimeOut + kViewTimeOut / 10);

  Subject backup(1);
  waiting.begin(backup);
  backup.tick(milliseconds(100));
  backup.jump(halted);
  CHECK(started(backup) == 0);
  // What its timer was early by may count, and no more.
  const Duration left = asks_after(backup);
  CHECK(left <= as_usual - milliseconds(100));
  CHECK(left >= as_usual - milliseconds(100) - ReplicaSettings().status_interval);
}

TEST_CASE("A replica that is halted again and again finds a primary that does nothing") {
  const Waiting& waiting = kWaiting[GENERATE(0, 1)];
  INFO(waiting.what);
  // Also for longer than the time in which the grace is given once.
  const Duration halted = GENERATE(milliseconds(400), milliseconds(1000), milliseconds(30000));
  Subject backup(1);
  waiting.begin(backup);
  int halts = 0;
  for (; started(backup) == 0 && halts < 100; ++halts)
    backup.jump(halted);
  // Of each halt a look's time counts.
  CHECK(halts <= kViewTimeOut / ReplicaSettings().status_interval + 2);
}

TEST_CASE("A replica that is halted again and again finds a primary that has ended") {
  Subject backup(1);
  backup.feed(pre_prepare(1, {request(1)}).frame);
  backup.actions.clear();
  backup.replica.on_peer_gone(0, backup.now, backup.actions);
  int halts = 0;
  for (; started(backup) == 0 && halts < 100; ++halts)
    backup.jump(2 * kViewTimeOut);
  CHECK(halts == 2);
}

TEST_CASE("A group whose machines hardly ever run replaces a primary that has ended") {
  const Duration period = milliseconds(GENERATE(200, 1000, 5000));
  WholeGroup group;
  group.lose([](NodeId to, ByteView /*frame*/) { return to == 0; });
  // The others run for 10 ms in each period, one after another.
  group.halt([&](NodeId node, TimePoint time) {
    const Duration into = (time.time_since_epoch() + period - node * period / kReplicas) % period;
    return into < milliseconds(10) ? time : time + (period - into);
  });
  for (const NodeId backup : {1U, 2U, 3U})
    group.send(backup, retransmitted(request(1)));
  const auto is_done = [&] {
    return group.executed(1) == 1 && group.executed(2) == 1 && group.executed(3) == 1;
  };
  CHECK(group.run_until(TimePoint{} + 40 * period, is_done));
}

TEST_CASE("What came while a replica was halted is read before anybody is blamed") {
  const Waiting& waiting = kWaiting[GENERATE(0, 1)];
  INFO(waiting.what);
  Subject backup(1);
  waiting.begin(backup);
  backup.tick(milliseconds(450));
  backup.jump(seconds(3));
  CHECK(started(backup) == 0);
  CHECK(asks_after(backup) == ReplicaSettings().status_interval);
}

TEST_CASE("A primary that seems to have ended has as long to refute it") {
  Subject backup(1);
  backup.feed(pre_prepare(1, {request(1)}).frame);
  backup.actions.clear();
  backup.replica.on_peer_gone(0, backup.now, backup.actions);
  backup.jump(seconds(3));
  CHECK(started(backup) == 0);
  backup.tick(ReplicaSettings().status_interval);
  CHECK(started(backup) == 1);
}

TEST_CASE("Nor is the next primary given up for it") {
  Subject backup(3);
  backup.feed(pre_prepare(1, {request(1)}).frame);
  asks_after(backup);
  REQUIRE(backup.replica.status().view == 1);
  for (const NodeId peer : {1u, 2u})
    backup.feed(view_change(peer, 1));
  backup.jump(seconds(3));
  CHECK(backup.replica.status().view == 1);
  backup.tick(seconds(2));
  CHECK(backup.replica.status().view == 2);
}

}  // namespace prophecy::pbft::test
