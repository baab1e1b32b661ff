// Tentative execution (OSDI 1999, section 5.1): what is prepared is executed and answered, and is
// undone when the group does not agree on it after all.
#include <catch2/catch.hpp>

#include "pbft/group.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft::test {
namespace {

ReplicaSettings tentative() {
  ReplicaSettings settings;
  settings.tentative_execution = true;
  return settings;
}

// Backup 1 that has executed what is prepared at number 1, and not committed.
struct Ahead : Subject {
  explicit Ahead(const Frame& operation = request(1))
      : Subject(1, tentative()), proposal(pre_prepare(1, {operation})) {
    feed(proposal.frame);
    feed(prepare(2, 1, proposal.batch));
    REQUIRE(actions.executions.size() == 1);
    CHECK(actions.executions[0].tentative);
    execution = actions.executions[0].id;
  }
  void commit_it() {
    feed(commit(0, 1, proposal.batch));
    feed(commit(2, 1, proposal.batch));
  }
  // View 1 begins, of which this replica is the primary, with what others know of number 1.
  void begin_view(const std::vector<BatchRecord>& known) {
    for (const NodeId from : {0u, 2u, 3u}) {
      ViewChangeMessage message;
      message.view = 1;
      message.prepared = known;
      message.pre_prepared = known;
      feed(encode_view_change(message, ring(from)));
    }
    REQUIRE(replica.status().view == 1);
    REQUIRE(replica.status().state == ReplicaState::normal);
  }
  [[nodiscard]] std::optional<ReplyMessage> answer_sent() const {
    for (const Outgoing& outgoing : actions.sends) {
      if (auto reply = decode_reply(*outgoing.frame)) return reply;
    }
    return std::nullopt;
  }

  Proposal proposal;
  std::uint64_t execution = 0;
};

Frame tentative_reply(NodeId from, std::uint64_t view, std::string_view result = "good",
                      Sigma sigma = 1 << 16) {
  const Frame committed = reply(from, 1, result, sigma);
  auto message = decode_reply(*committed);
  REQUIRE(message);
  message->view = view;
  message->tentative = true;
  return encode_reply(*message, ring(from));
}

struct TentativeCaller {
  explicit TentativeCaller(bool tentative = true, bool linearizable = false)
      : client(
            [&] {
              ClientSettings settings;
              settings.tentative_execution = tentative;
              settings.linearizable_reads = linearizable;
              return settings;
            }(),
            ring(kClient)) {
    client.submit(as_bytes("op"), CallKind::ordered, now + minutes(1), now, actions);
    replier = decode_request(*actions.sends.at(0).frame, kReplicas)->replier;
  }
  void feed(const Frame& frame) {
    actions.clear();
    client.on_frame(*frame, now, actions);
  }
  [[nodiscard]] bool agreed() const { return actions.completions.size() == 1; }

  TimePoint now{};
  Client client;
  ClientActions actions;
  NodeId replier = 0;
};

}  // namespace

TEST_CASE("What is prepared is executed once, and its reply says that it is tentative") {
  Ahead backup;
  CHECK(backup.replica.status().last_ordered == 0);
  backup.executed(backup.execution, "result");
  CHECK(backup.replica.status().last_executed == 0);  // it is not ordered yet
  REQUIRE(backup.answer_sent());
  CHECK(backup.answer_sent()->tentative);
  CHECK(backup.answer_sent()->sigma == 1 << 16);
  backup.commit_it();
  CHECK(backup.actions.executions.empty());
  CHECK(backup.replica.status().last_executed == 1);
  backup.feed(request(1));
  REQUIRE(backup.answer_sent());
  CHECK_FALSE(backup.answer_sent()->tentative);
  CHECK(as_text(backup.answer_sent()->result) == "result");
}

TEST_CASE("An execution that ends behind the commits is answered for good") {
  Ahead backup;
  backup.commit_it();
  CHECK(backup.replica.status().last_ordered == 1);
  CHECK(backup.replica.status().last_executed == 0);
  backup.executed(backup.execution, "result");
  REQUIRE(backup.answer_sent());
  CHECK_FALSE(backup.answer_sent()->tentative);
}

TEST_CASE("No more than one batch is ahead of what is committed") {
  Ahead backup;
  const Proposal second = pre_prepare(2, {request(1, "op", false, 0, 1)});
  backup.feed(second.frame);
  backup.feed(prepare(2, 2, second.batch));
  CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
  CHECK(backup.actions.executions.empty());
  backup.commit_it();
  CHECK(backup.actions.executions.size() == 1);
}

TEST_CASE("What is ahead is no decision that others could learn") {
  Ahead backup;
  backup.executed(backup.execution, "result");
  StatusMessage status;
  status.counter = 1;
  status.first_retained = 1;
  const auto decisions_for = [&](const StatusMessage& message) {
    backup.tick(milliseconds(100));
    backup.feed(encode_status(message, ring(3)));
    return backup.sent(MessageType::decision);
  };
  CHECK(decisions_for(status) == 0);
  backup.commit_it();
  status.counter = 2;
  CHECK(decisions_for(status) == 1);
}

TEST_CASE("That something is prepared is on the disk when its reply goes out") {
  Ahead before;
  before.executed(before.execution, "result");
  Subject backup(1, tentative(), before.restarted());
  backup.tick(seconds(5));
  REQUIRE(backup.sent(MessageType::view_change) == kReplicas - 1);
  const auto asks = decode_view_change(*backup.actions.sends[0].frame, kReplicas);
  REQUIRE(asks);
  CHECK(asks->prepared == std::vector{BatchRecord{1, 0, before.proposal.batch}});
}

TEST_CASE("A read that may have seen what is not ordered is answered when it is") {
  Ahead backup;
  backup.feed(request(1, "read", true, 0, 1));
  const std::uint64_t read = backup.actions.executions.at(0).id;
  backup.executed(read, "seen");
  CHECK(backup.sent(MessageType::reply) == 0);
  backup.commit_it();
  REQUIRE(backup.sent(MessageType::reply) == 1);
  CHECK(backup.answer_sent()->status == ReplyStatus::done);
  CHECK(as_text(backup.answer_sent()->result) == "seen");
}

TEST_CASE("A view that knows nothing of it takes the replica back to its checkpoint") {
  Ahead backup;
  backup.feed(request(1, "read", true, 0, 1));
  backup.executed(backup.actions.executions.at(0).id, "seen");
  backup.executed(backup.execution, "result");
  backup.begin_view({});
  CHECK(backup.replica.counters().batches_undone == 1);
  CHECK(backup.replica.counters().states_restored == 1);
  REQUIRE(backup.answer_sent());
  CHECK(backup.answer_sent()->status == ReplyStatus::unavailable);
  // The request is as new as it was.
  backup.feed(request(1));
  CHECK(backup.sent(MessageType::pre_prepare) == kReplicas - 1);
  // Not that it can be done with each batch.
  const auto proposal = decode_pre_prepare(*backup.actions.sends[0].frame, kReplicas);
  REQUIRE(proposal);
  const Digest batch = batch_digest(*proposal);
  for (const NodeId from : {2u, 3u})
    backup.feed(prepare(from, 1, batch, 1));
  CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
  CHECK(backup.actions.executions.empty());
}

TEST_CASE("Before the checkpoint is restored nothing is read") {
  Ahead backup;
  backup.begin_view({});
  CHECK(backup.replica.counters().states_restored == 0);  // it waits for what is under way
  backup.feed(request(1, "read", true, 0, 1));
  CHECK(backup.actions.executions.empty());
  CHECK(backup.dropped(DropReason::queue_full) == 1);
  backup.executed(backup.execution, "result");
  CHECK_FALSE(backup.answer_sent().has_value());
  CHECK(backup.replica.counters().states_restored == 1);
}

TEST_CASE("A write that has no answer yet, and is not ordered after all, is undone like others") {
  Ahead backup;
  backup.executed(backup.execution, "no answer", ExecutionStatus::uncertain);
  REQUIRE(backup.sent(MessageType::uncertain) == kReplicas - 1);
  CHECK(backup.replica.counters().states_restored == 0);
  backup.begin_view({});
  CHECK(backup.replica.counters().batches_undone == 1);
  CHECK(backup.replica.counters().states_restored == 1);
  CHECK(backup.replica.status().recovery == RecoveryState::none);
  CHECK(backup.replica.status().answers);
}

TEST_CASE("A view that begins with it goes on where it was") {
  Ahead backup;
  backup.begin_view({BatchRecord{1, 0, backup.proposal.batch}});
  CHECK(backup.replica.counters().batches_undone == 0);
  backup.executed(backup.execution, "result");
  for (const NodeId from : {2u, 3u})
    backup.feed(prepare(from, 1, backup.proposal.batch, 1));
  for (const NodeId from : {2u, 3u})
    backup.feed(commit(from, 1, backup.proposal.batch, 1));
  CHECK(backup.actions.executions.empty());
  CHECK(backup.replica.status().last_executed == 1);
}

TEST_CASE("Without the setting nothing is executed before it is committed") {
  Subject backup(1);
  const Proposal proposal = pre_prepare(1, {request(1)});
  backup.feed(proposal.frame);
  backup.feed(prepare(2, 1, proposal.batch));
  CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
  CHECK(backup.actions.executions.empty());
}

TEST_CASE("A client takes 2f+1 tentative replies of one view, or f+1 of committed requests") {
  TentativeCaller caller;
  caller.feed(tentative_reply(0, 0));
  caller.feed(tentative_reply(1, 0));
  CHECK_FALSE(caller.agreed());
  SECTION("of one view") {
    caller.feed(tentative_reply(2, 0));
    CHECK(caller.agreed());
  }
  SECTION("of two views") {
    caller.feed(tentative_reply(2, 1));
    CHECK_FALSE(caller.agreed());
    caller.feed(tentative_reply(0, 1));
    CHECK_FALSE(caller.agreed());
    caller.feed(tentative_reply(1, 1));
    CHECK(caller.agreed());
  }
  SECTION("one of them committed") {
    caller.feed(reply(2, 1, "good"));
    CHECK(caller.agreed());
  }
  SECTION("f+1 committed") {
    caller.feed(reply(0, 1, "good"));
    CHECK_FALSE(caller.agreed());
    caller.feed(reply(1, 1, "good"));
    CHECK(caller.agreed());
  }
}

TEST_CASE("With linearizable reads, a replica that may still undo a call is not behind it") {
  TentativeCaller caller(true, true);
  caller.feed(reply(0, 1, "good"));
  caller.feed(reply(1, 1, "good"));
  caller.feed(tentative_reply(2, 0, "undone", 2 << 16));
  CHECK_FALSE(caller.agreed());
  SECTION("until it is") {
    caller.feed(reply(2, 1, "undone", 2 << 16));
  }
  SECTION("where another one is") {
    caller.feed(reply(3, 1, "good"));
  }
  REQUIRE(caller.agreed());
  CHECK(as_text(caller.actions.completions[0].result) == "good");
}

TEST_CASE("A tentative reply that came to nothing does not end a call") {
  TentativeCaller caller;
  caller.feed(tentative_reply(0, 0, "undone"));
  caller.feed(tentative_reply(1, 0, "undone"));
  caller.feed(tentative_reply(2, 0, "other"));
  caller.feed(tentative_reply(3, 0, "another"));
  CHECK(caller.actions.completions.empty());
  caller.feed(reply(2, 1, "good", 2 << 16));
  caller.feed(reply(3, 1, "good", 2 << 16));
  REQUIRE(caller.agreed());
  CHECK(as_text(caller.actions.completions[0].result) == "good");
  CHECK(caller.actions.refuted.empty());
}

TEST_CASE("Where nothing is executed ahead, a tentative reply is none") {
  TentativeCaller caller(false);
  for (const NodeId replica : {0u, 1u, 2u})
    caller.feed(tentative_reply(replica, 0));
  CHECK_FALSE(caller.agreed());
  CHECK(caller.client.counters().dropped[static_cast<std::size_t>(DropReason::not_wanted)] == 3);
}

TEST_CASE("Nobody is accused of another number, or of another view") {
  TentativeCaller caller;
  caller.feed(tentative_reply(3, 0, "undone", 2 << 16));
  for (const NodeId replica : {0u, 1u, 2u})
    caller.feed(tentative_reply(replica, 0));
  REQUIRE(caller.agreed());
  CHECK(caller.actions.refuted.empty());
}

TEST_CASE("Who contradicts what a correct replica has prepared in the same view is told of") {
  TentativeCaller caller;
  caller.feed(tentative_reply(3, 0, "bad"));
  for (const NodeId replica : {0u, 1u, 2u})
    caller.feed(tentative_reply(replica, 0));
  REQUIRE(caller.agreed());
  REQUIRE(caller.actions.refuted.size() == 1);
  CHECK(caller.actions.refuted[0].replica == 3);
  CHECK(caller.actions.refuted[0].refuted_digest == sha256(as_bytes("bad")));
}

TEST_CASE("Tentative replies of one view after the other do not keep a call waiting") {
  TentativeCaller caller;
  const auto other = [&](NodeId step) { return (caller.replier + step) % kReplicas; };
  caller.feed(reply(other(1), 1, "lost", 1 << 16, false));
  caller.feed(reply(other(2), 1, "lost", 1 << 16, false));
  std::uint64_t view = 0;
  while (caller.actions.completions.empty() && view < 50) {
    caller.now += seconds(1);
    caller.feed(tentative_reply(other(3), ++view, "another"));
    caller.client.on_tick(caller.now, caller.actions);
  }
  REQUIRE(caller.actions.completions.size() == 1);
  CHECK(caller.actions.completions[0].outcome == CallOutcome::unavailable);
  CHECK(view > 20);
}

}  // namespace prophecy::pbft::test
