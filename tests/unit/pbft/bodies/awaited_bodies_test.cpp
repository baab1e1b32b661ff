// Bodies that a batch waits for when its view ends.
#include <algorithm>
#include <deque>

#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/every_batch.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft::test {
namespace {

Frame new_view_with(std::uint64_t view, const BatchRecord& record) {
  std::vector<Frame> frames;
  for (const NodeId from : {0U, 1U, 3U}) {
    ViewChangeMessage message;
    message.view = view;
    if (from != 3) message.prepared = {record};
    if (from != 3) message.pre_prepared = {record};
    frames.push_back(encode_view_change(message, ring(from)));
  }
  const std::vector<ByteView> views{*frames[0], *frames[1], *frames[2]};
  return encode_new_view(view, views, ring(primary_of(view, kReplicas)));
}

// Sixteen leaves of some bytes each: a client may divide a body so.
const BodyTree& crumbs() {
  static const BodyTree tree(bytes_of_size(450), 29);
  return tree;
}

// Hands the backup one part each 190 ms, and returns how long it takes until it asks a replica;
// five seconds when it does not.
Duration dripped_until_asks_replica(Subject& backup, std::deque<Digest> wanted) {
  Duration passed{};
  const auto asks_replica = [&] {
    bool asks = false;
    for (const Asked& asked : asked_by(backup)) {
      wanted.insert(wanted.end(), asked.parts.begin(), asked.parts.end());
      asks = asks || !is_client(asked.of);
    }
    return asks;
  };
  while (!wanted.empty()) {
    backup.tick(milliseconds(190));
    passed += milliseconds(190);
    if (asks_replica()) return passed;
    backup.feed(encode_part_message(*crumbs().part(wanted.front()), ring(kClient)));
    wanted.pop_front();
    if (asks_replica()) return passed;
  }
  return seconds(5);
}

// Of 64 KiB each, no two alike.
BodyTree tree_of_leaves(std::size_t count) {
  constexpr std::size_t kLeafBytes = 64 * 1024;
  const auto bytes = std::make_shared<Bytes>(count * kLeafBytes);
  for (std::size_t leaf = 0; leaf < count; ++leaf)
    bytes->at(leaf * kLeafBytes) = static_cast<std::uint8_t>(leaf);
  return {bytes, kLeafBytes};
}

// Hands the backup the parts that it asks for, from whomever it asks last.
class Drip {
 public:
  Drip(Subject& backup, const BodyTree& body) : backup_(backup), body_(body) { note_asked(); }

  // One part each 150 ms, until another source is asked: how long that takes, at most 10 s.
  Duration until_another_is_asked() {
    Duration passed{};
    const NodeId source = source_;
    while (source_ == source && passed < seconds(10)) {
      for (int i = 0; i < 15 && source_ == source; ++i) {
        backup_.tick(milliseconds(10));
        passed += milliseconds(10);
        note_asked();
      }
      if (source_ == source) hand_over(1);
    }
    return passed;
  }
  void hand_over(std::size_t parts) {
    for (; parts > 0; --parts) {
      REQUIRE_FALSE(wanted_.empty());
      const auto part = body_.part(wanted_.front());
      wanted_.pop_front();
      REQUIRE(part.has_value());
      const NodeId sender = is_client(source_) ? kClient : source_;
      backup_.feed(encode_part_message(*part, ring(sender)));
      note_asked();
    }
  }

 private:
  void note_asked() {
    for (const Asked& asked : asked_by(backup_)) {
      if (asked.of != source_) wanted_.clear();
      source_ = asked.of;
      wanted_.insert(wanted_.end(), asked.parts.begin(), asked.parts.end());
    }
  }

  Subject& backup_;
  const BodyTree& body_;
  NodeId source_ = 0;
  std::deque<Digest> wanted_;
};

}  // namespace

TEST_CASE("What has come of a body is not fetched again in the next view") {
  Subject backup(2);
  const Proposal proposal = pre_prepare(1, {by_digest(1)});
  backup.feed(proposal.frame);
  const Digest root = tree().name().root;
  backup.feed(encode_part_message(*tree().part(root), ring(kClient)));
  const std::vector<Asked> first = asked_by(backup);
  REQUIRE(first.size() == 1);
  REQUIRE(first[0].parts.size() == 5);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto part = tree().part(first[0].parts[i]);
    backup.feed(encode_part_message(*part, ring(kClient)));
  }
  backup.feed(new_view_with(1, {1, 0, proposal.batch}));
  REQUIRE(backup.replica.status().view == 1);
  backup.feed(proposal.frame);
  CHECK(backup.replica.status().bodies_missing == 1);
  // The last leaf is on its way.
  CHECK(asked_by(backup).empty());
  backup.feed(encode_part_message(*tree().part(first[0].parts[4]), ring(kClient)));
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
}

TEST_CASE("A body that no later view wants is given up") {
  Subject backup(2);
  backup.feed(pre_prepare(1, {by_digest(1)}).frame);
  const Proposal other = pre_prepare(1, {request(2)});
  backup.feed(new_view_with(1, {1, 0, other.batch}));
  CHECK(backup.replica.status().bodies_missing == 1);
  backup.now += seconds(1);
  backup.feed(new_view_with(3, {1, 1, other.batch}));
  REQUIRE(backup.replica.status().view == 3);
  CHECK(backup.replica.status().bodies_missing == 0);
}

TEST_CASE("What others have committed blames nobody while its body is on its way") {
  Subject backup(3);
  const Proposal proposal = pre_prepare(1, {by_digest(1)});
  backup.feed(proposal.frame);
  for (const NodeId from : {0U, 1U})
    backup.feed(encode_vote(MessageType::decision, 0, 1, proposal.batch, ring(from)));
  backup.tick(20 * kPatience);
  CHECK(backup.replica.status().last_ordered == 0);
  CHECK(backup.replica.counters().view_changes_started == 0);

  // What comes behind it, and is not agreed on, still counts.
  backup.feed(pre_prepare(2, {request(2)}).frame);
  backup.tick(kPatience);
  CHECK(backup.replica.status().state == ReplicaState::changing_view);
  CHECK(backup.replica.status().view_change_cause == ViewChangeCause::nothing_settled);
}

TEST_CASE("A backup that lacks a body blames no primary whose log is full of what is agreed on") {
  ReplicaSettings settings;
  settings.checkpoint_bytes = 1;
  settings.log_bytes_max = 400;  // the body fills it
  Subject backup(3, settings);
  backup.tick(milliseconds(0));
  const Proposal proposal = pre_prepare(1, {by_digest(1)});
  backup.feed(proposal.frame);
  for (const NodeId from : {0U, 1U})
    backup.feed(encode_vote(MessageType::decision, 0, 1, proposal.batch, ring(from)));
  backup.feed(retransmitted(request(1, "another", false, 0, 1)));
  for (int i = 0; i < 40; ++i)
    backup.tick(milliseconds(50));
  CHECK(backup.replica.status().last_ordered == 0);
  CHECK(backup.replica.counters().view_changes_started == 0);
}

TEST_CASE("No state takes the place of a batch whose body is coming, or whose service is at work") {
  ReplicaSettings settings = every_batch();
  settings.checkpoint_bytes = 1;
  settings.log_bytes_max = 200;  // the body is larger than twice that
  Subject backup(3, settings);
  backup.tick(milliseconds(0));
  const auto make_stable = [&](std::uint64_t sequence) {
    const Digest state = sha256(as_bytes("state"));
    for (const NodeId peer : {0U, 1U, 2U})
      backup.feed(encode_checkpoint(sequence, state, state, state, ring(peer)));
    REQUIRE(backup.replica.status().last_stable == sequence);
  };
  SECTION("a body") {
    const Proposal proposal = pre_prepare(1, {by_digest(1)});
    backup.feed(proposal.frame);
    const auto bring = [&](const Digest& part) {
      backup.feed(encode_part_message(*tree().part(part), ring(kClient)));
    };
    bring(tree().name().root);
    const std::vector<Asked> asked = asked_by(backup);
    REQUIRE(asked.size() == 1);
    // What has come stays when the others tell that they have committed the batch.
    for (const NodeId from : {0U, 1U})
      backup.feed(encode_vote(MessageType::decision, 0, 1, proposal.batch, ring(from)));
    make_stable(1);
    for (std::size_t part = 0; part < 4; ++part) {
      backup.tick(milliseconds(450));
      CHECK(backup.replica.recovery() == RecoveryState::none);
      bring(asked[0].parts[part]);
    }
    SECTION("that has come") {
      bring(asked[0].parts[4]);
      CHECK(backup.replica.status().last_ordered == 1);
    }
    SECTION("of which no more comes") {
      const auto is_fetching = [&] { return backup.replica.recovery() == RecoveryState::fetching; };
      for (int i = 0; i < 10 && !is_fetching(); ++i)
        backup.tick(milliseconds(300));
      CHECK(is_fetching());
    }
  }
  SECTION("a service") {
    backup.order(1, {request(1)});
    const std::uint64_t execution = backup.actions.executions.at(0).id;
    backup.order(2, {request(2)});
    make_stable(2);
    for (int i = 0; i < 10; ++i) {
      backup.tick(milliseconds(450));
      CHECK(backup.replica.recovery() == RecoveryState::none);
    }
    backup.executed(execution, "result");
    CHECK(backup.replica.status().last_ordered == 2);
  }
}

TEST_CASE("Bodies are awaited for one time in a lag, and not for each batch anew") {
  ReplicaSettings settings = every_batch();
  settings.checkpoint_bytes = 1;
  Subject backup(3, settings);
  backup.tick(milliseconds(0));
  const auto bring = [&](const BodyTree& body, std::size_t leaf) {
    const auto root = body.part(body.name().root);
    const auto leaves = decode_body_root(*root, body.name().size);
    backup.feed(encode_part_message(*body.part(leaves->at(leaf)), ring(kClient)));
  };
  const std::vector<Proposal> proposals{pre_prepare(1, {by_digest(1)}),
                                        pre_prepare(2, {by_digest(1, crumbs().name(), 1)})};
  for (std::uint64_t sequence = 1; sequence <= 2; ++sequence) {
    const Proposal& proposal = proposals[sequence - 1];
    const BodyTree& body = sequence == 1 ? tree() : crumbs();
    backup.feed(proposal.frame);
    backup.feed(encode_part_message(*body.part(body.name().root), ring(kClient)));
    for (const NodeId from : {0U, 1U})
      backup.feed(encode_vote(MessageType::decision, 0, sequence, proposal.batch, ring(from)));
  }
  const Digest state = sha256(as_bytes("state"));
  for (const NodeId peer : {0U, 1U, 2U})
    backup.feed(encode_checkpoint(2, state, state, state, ring(peer)));
  REQUIRE(backup.replica.status().last_stable == 2);
  for (std::size_t leaf = 0; leaf < 5; ++leaf) {
    backup.tick(milliseconds(380));
    CHECK(backup.replica.recovery() == RecoveryState::none);
    bring(crumbs(), leaf);
    bring(tree(), leaf);
  }
  REQUIRE(backup.actions.executions.size() == 1);
  backup.executed(backup.actions.executions[0].id, "result");
  REQUIRE(backup.replica.status().last_ordered == 1);
  // Of the two seconds, 1.9 are over.
  for (std::size_t leaf = 5; leaf < 10; ++leaf) {
    bring(crumbs(), leaf);
    backup.tick(milliseconds(300));
  }
  CHECK(backup.replica.recovery() == RecoveryState::fetching);
}

TEST_CASE("The log stays within its bounds while a body is on its way") {
  ReplicaSettings settings;
  settings.checkpoint_bytes = 100'000;
  settings.log_bytes_max = 400'000;
  Subject backup(3, settings);
  backup.tick(milliseconds(0));
  const Proposal first = pre_prepare(1, {by_digest(1)});
  backup.feed(first.frame);
  backup.feed(encode_part_message(*tree().part(tree().name().root), ring(kClient)));
  for (const NodeId from : {0U, 1U})
    backup.feed(encode_vote(MessageType::decision, 0, 1, first.batch, ring(from)));
  std::uint64_t most = 0;
  bool has_fetched = false;
  for (std::uint64_t sequence = 2; sequence <= 400; ++sequence) {
    const Proposal proposal =
        pre_prepare(sequence, {request(sequence, std::string(8000, 'x'), false, 0, 1)});
    backup.feed(proposal.frame);
    for (const NodeId from : {1U, 2U})
      backup.feed(prepare(from, sequence, proposal.batch));
    for (const NodeId from : {0U, 1U, 2U})
      backup.feed(commit(from, sequence, proposal.batch));
    backup.tick(milliseconds(2));
    if (sequence % 20 == 0) {
      const Digest state = sha256(as_bytes("state" + std::to_string(sequence)));
      for (const NodeId peer : {0U, 1U, 2U})
        backup.feed(encode_checkpoint(sequence, state, state, state, ring(peer)));
    }
    most = std::max(most, backup.replica.status().log_bytes);
    has_fetched = has_fetched || backup.replica.recovery() == RecoveryState::fetching;
    if (sequence == 80) {
      // It lags by two shares at most, and the body is waited for.
      REQUIRE(backup.replica.status().last_stable == 80);
      CHECK(backup.replica.status().log_batches == 80);
    }
  }
  CHECK(has_fetched);
  CHECK(most <= 3 * settings.log_bytes_max);
}

TEST_CASE("The last stable batch is kept for those that lag by it, however large") {
  ReplicaSettings settings = every_batch();
  settings.checkpoint_bytes = 1;
  settings.log_bytes_max = 200;
  Subject backup(1, settings);
  const auto order_and_execute = [&](std::uint64_t sequence, const Frame& request) {
    const Proposal proposal = pre_prepare(sequence, {request});
    backup.feed(proposal.frame);
    if (sequence == 1) deliver(backup);
    backup.feed(prepare(2, sequence, proposal.batch));
    backup.feed(commit(0, sequence, proposal.batch));
    backup.feed(commit(2, sequence, proposal.batch));
    backup.executed(backup.actions.executions.at(0).id, "result");
    const Frame frame = sent_by(backup, MessageType::checkpoint);
    REQUIRE(frame != nullptr);
    const CheckpointMessage own = *decode_checkpoint(*frame);  // within its frame
    for (const NodeId peer : {0U, 2U}) {
      backup.feed(encode_checkpoint(sequence, own.order, own.replies, own.service, ring(peer)));
    }
    REQUIRE(backup.replica.status().last_stable == sequence);
    backup.tick(seconds(2));
  };
  order_and_execute(1, by_digest(1));
  CHECK(backup.replica.status().log_batches == 1);
  CHECK(backup.parts.is_pinned(tree().name().root));
  order_and_execute(2, request(2));
  CHECK(backup.replica.status().log_batches == 1);
  for (int i = 0; i < 3; ++i)
    backup.tick(seconds(2));
  CHECK_FALSE(backup.parts.is_pinned(tree().name().root));
}

TEST_CASE("No more than 32 parts of a body are on their way from its client") {
  const BodyTree body = tree_of_leaves(60);
  Subject backup(1);
  backup.feed(pre_prepare(1, {by_digest(1, body.name())}).frame);
  std::deque<Digest> on_their_way;
  std::size_t most = 0;
  const auto note_asked = [&] {
    for (const Asked& asked : asked_by(backup))
      on_their_way.insert(on_their_way.end(), asked.parts.begin(), asked.parts.end());
    most = std::max(most, on_their_way.size());
  };
  note_asked();
  while (!on_their_way.empty()) {
    const auto part = body.part(on_their_way.front());
    on_their_way.pop_front();
    REQUIRE(part.has_value());
    backup.feed(encode_part_message(*part, ring(kClient)));
    note_asked();
  }
  CHECK(most == 32);
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
}

TEST_CASE("A source that drips gives way to one of the replicas that have the body") {
  Subject backup(1);
  const std::uint32_t sessions = GENERATE(1, 4);
  backup.feed(by_digest(1, crumbs().name(), 0));
  REQUIRE(asked_by(backup).size() == 1);
  const std::deque<Digest> wanted{crumbs().name().root};
  for (std::uint32_t session = 1; session < sessions; ++session)
    backup.feed(by_digest(1, crumbs().name(), session));
  backup.feed(forwarded(2, by_digest(1, crumbs().name())));
  CHECK(dripped_until_asks_replica(backup, wanted) <= milliseconds(600));
}

TEST_CASE("A client that drips gives way at once when a batch names the body") {
  Subject backup(1);
  const Frame named = by_digest(1, crumbs().name());
  const std::deque<Digest> root{crumbs().name().root};
  SECTION("that the client has announced") {
    backup.feed(named);
    REQUIRE(asked_by(backup).size() == 1);
    backup.feed(pre_prepare(1, {named}).frame);
    CHECK(dripped_until_asks_replica(backup, root) <= milliseconds(200));
  }
  SECTION("of which nobody has spoken before") {
    backup.feed(pre_prepare(1, {named}).frame);
    REQUIRE(asked_by(backup).size() == 1);
    CHECK(asked_by(backup)[0].of == kClient);
    CHECK(dripped_until_asks_replica(backup, root) <= milliseconds(200));
  }
  SECTION("and when its next turn comes") {
    backup.feed(named);
    backup.feed(pre_prepare(1, {named}).frame);
    // Neither the client nor a replica delivers; then the client drips.
    for (int i = 0; i < 4; ++i)
      backup.jump(seconds(4));
    const std::vector<Asked> asked = asked_by(backup);
    REQUIRE(asked.size() == 1);
    REQUIRE(asked[0].of == kClient);
    CHECK(dripped_until_asks_replica(backup, root) <= milliseconds(200));
  }
}

TEST_CASE("Turns get longer while all sources drip, and are short again once one delivers") {
  const BodyTree body = tree_of_leaves(60);
  Subject backup(1);
  backup.feed(by_digest(1, body.name()));
  Drip drip(backup, body);
  backup.feed(forwarded(2, by_digest(1, body.name())));
  // The client's turn, and the replica's.
  CHECK(drip.until_another_is_asked() <= milliseconds(400));
  CHECK(drip.until_another_is_asked() <= milliseconds(400));
  const Duration longer = drip.until_another_is_asked();
  CHECK(longer > milliseconds(700));
  CHECK(longer <= milliseconds(800));
  // The turn of one that delivers is followed by another of its own.
  drip.hand_over(9);
  const Duration after = drip.until_another_is_asked();
  CHECK(after > milliseconds(1000));
  CHECK(after <= milliseconds(800 + 400));
}

}  // namespace prophecy::pbft::test
