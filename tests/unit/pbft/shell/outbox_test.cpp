// Nothing leaves a replica before what it has promised is on the disk.
#include "pbft/replica/outbox.hpp"

#include <algorithm>
#include <deque>

#include <catch2/catch.hpp>

namespace prophecy::pbft::test {
namespace {

// A disk that completes a commit when it is told to.
struct Desk {
  Desk()
      : outbox(
            [this](std::vector<DurableWrite> writes, Outbox::Committed done) {
              commits.push_back({writes.size(), done});
            },
            [this](const Result<>& outcome) { outcomes.push_back(outcome.has_value()); }) {}

  // Sends to replica `to`, and writes so much first.
  void put(NodeId to, std::size_t writes) {
    ReplicaActions actions;
    for (std::size_t i = 0; i < writes; ++i)
      actions.writes.push_back({{static_cast<std::uint8_t>(i)}, nullptr});
    actions.sends.push_back({to, 0, nullptr});
    outbox.put(actions);
    CHECK(actions.writes.empty());
    CHECK(actions.sends.empty());
  }
  void complete(const Result<>& outcome = {}) {
    const auto done = commits.front().done;
    commits.pop_front();
    done(outcome);
  }
  std::vector<NodeId> taken() {
    Outbox::Released out;
    (void)outbox.take(out);
    flushes = flushes || out.flush_parts;
    executions += out.executions.size();
    std::vector<NodeId> to;
    for (const Outgoing& outgoing : out.sends)
      to.push_back(outgoing.to);
    return to;
  }

  struct Pending {
    std::size_t writes = 0;
    Outbox::Committed done;
  };
  std::deque<Pending> commits;
  std::vector<bool> outcomes;
  bool flushes = false;
  std::size_t executions = 0;
  Outbox outbox;
};

using Nodes = std::vector<NodeId>;

}  // namespace

TEST_CASE("What needs no promise leaves at once") {
  Desk desk;
  desk.put(1, 0);
  desk.put(2, 0);
  CHECK(desk.taken() == Nodes{1, 2});
  CHECK(desk.taken().empty());
  CHECK(desk.commits.empty());
}

TEST_CASE("What was promised first is on the disk first, and what comes behind it waits too") {
  Desk desk;
  desk.put(1, 2);
  desk.put(2, 0);
  desk.put(3, 1);
  desk.put(4, 0);
  CHECK(desk.taken().empty());
  REQUIRE(desk.commits.size() == 2);
  CHECK(desk.commits.front().writes == 2);
  desk.complete();
  CHECK(desk.taken() == Nodes{1, 2});
  CHECK(desk.outbox.commits_pending() == 1);
  desk.put(5, 0);
  CHECK(desk.taken().empty());
  desk.complete();
  CHECK(desk.taken() == Nodes{3, 4, 5});
  desk.put(6, 0);
  CHECK(desk.taken() == Nodes{6});
  CHECK(desk.outcomes == std::vector<bool>{true, true});
}

TEST_CASE("A frame that promises nothing waits for no disk") {
  Desk desk;
  desk.put(1, 1);
  ReplicaActions actions;
  actions.sends.push_back({2, 0, nullptr, true});
  actions.sends.push_back({3, 0, nullptr});
  actions.sends.push_back({4, 0, nullptr, true});
  desk.outbox.put(actions);
  CHECK(desk.taken() == Nodes{2, 4});
  ReplicaActions own;
  own.writes.push_back({{1}, nullptr});
  own.sends.push_back({5, 0, nullptr, true});
  own.sends.push_back({6, 0, nullptr});
  desk.outbox.put(own);
  CHECK(desk.taken() == Nodes{5});
  desk.complete();
  CHECK(desk.taken() == Nodes{1, 3});
  desk.complete();
  CHECK(desk.taken() == Nodes{6});
}

TEST_CASE("What waits for one receiver while the disk stalls is bounded") {
  Desk desk;
  desk.put(9, 1);
  const auto frame = std::make_shared<const Bytes>(std::size_t{1} << 20);
  for (int i = 0; i < 1000; ++i) {
    ReplicaActions actions;
    actions.sends.push_back({1, 0, frame});
    desk.outbox.put(actions);
  }
  desk.put(2, 0);
  CHECK(desk.outbox.dropped() == 1000 - (Outbox::kHeldBytesMax >> 20));
  desk.complete();
  const Nodes sent = desk.taken();
  CHECK(std::count(sent.begin(), sent.end(), 1) == Outbox::kHeldBytesMax >> 20);
  CHECK(sent.back() == 2);
  // It has its share again.
  desk.put(9, 1);
  for (int i = 0; i < 2; ++i) {
    ReplicaActions actions;
    actions.sends.push_back({1, 0, frame});
    desk.outbox.put(actions);
  }
  desk.complete();
  CHECK(desk.taken() == Nodes{9, 1, 1});
}

TEST_CASE("Executions and flushes wait as messages do") {
  Desk desk;
  ReplicaActions actions;
  actions.writes.push_back({{1}, nullptr});
  actions.executions.emplace_back();
  actions.flush_parts = true;
  desk.outbox.put(actions);
  CHECK(desk.taken().empty());
  CHECK(desk.executions == 0);
  CHECK_FALSE(desk.flushes);
  desk.complete();
  CHECK(desk.taken().empty());
  CHECK(desk.executions == 1);
  CHECK(desk.flushes);
}

TEST_CASE("After a commit that failed nothing leaves any more") {
  Desk desk;
  desk.put(1, 1);
  desk.put(2, 1);
  desk.complete(Error{ErrorKind::io, "the disk is gone"});
  desk.complete(Error{ErrorKind::io, "the disk is gone"});
  desk.put(3, 0);
  CHECK(desk.taken().empty());
  CHECK(desk.outcomes == std::vector<bool>{false, false});
}

}  // namespace prophecy::pbft::test
