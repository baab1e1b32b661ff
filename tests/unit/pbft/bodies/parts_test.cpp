// The parts of the core that stand for themselves.
#include <set>

#include <catch2/catch.hpp>

#include "pbft/client/replier_choice.hpp"
#include "pbft/client/reply_tally.hpp"
#include "pbft/core/execution/snapshots.hpp"
#include "pbft/core/ordering/request_queue.hpp"
#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/client_table.hpp"
#include "pbft/core/state/log.hpp"
#include "pbft/core/state/vote_set.hpp"
#include "pbft/group.hpp"

namespace prophecy::pbft::test {
namespace {

const Digest kA = sha256(as_bytes("a"));
const Digest kB = sha256(as_bytes("b"));

TEST_CASE("A vote set counts each replica once, with its first word") {
  VoteSet votes(4);
  CHECK(votes.record(1, kA) == VoteSet::Outcome::added);
  CHECK(votes.record(1, kA) == VoteSet::Outcome::duplicate);
  CHECK(votes.record(1, kB) == VoteSet::Outcome::conflicting);
  CHECK(votes.record(3, kB) == VoteSet::Outcome::added);
  CHECK(votes.count(kA) == 1);
  CHECK(votes.count(kB) == 1);
  votes.clear();
  CHECK(votes.count(kA) == 0);
  CHECK(votes.record(1, kB) == VoteSet::Outcome::added);
}

TEST_CASE("The log accounts for what it holds and reuses its places") {
  MemoryPartStore parts;
  Log log(6, 4, 0, parts);
  CHECK(log.capacity() == 8);
  for (std::uint64_t sequence = 1; sequence <= 8; ++sequence) {
    log.open(sequence).proposer = 0;
    log.note_proposal(log.open(sequence), kA, 0, std::make_shared<const Bytes>(100), {});
  }
  CHECK(log.bytes() == 800);
  CHECK(log.highest_proposed() == 8);
  CHECK(log.find(9) == nullptr);
  log.release_below(4);
  CHECK(log.batches() == 5);
  CHECK(log.find(3) == nullptr);
  CHECK(log.find(4) != nullptr);
  // What the view agrees on counts until it is stable, and no longer than the view.
  log.set_pre_prepare(log.open(4), std::make_shared<const Bytes>(100), {});
  log.set_pre_prepare(log.open(5), std::make_shared<const Bytes>(50), {});
  CHECK(log.view_bytes() == 150);
  log.note_stable(4);
  CHECK(log.view_bytes() == 50);
  log.enter_view(4, 8);
  CHECK(log.view_bytes() == 0);
  // What older views have left goes to the disk, and comes back; not what this one agrees on.
  CHECK(log.unstable_bytes(0) == 400);
  log.open(5).phase = SlotPhase::awaited;
  log.open(5).batch = kA;
  log.shelve(1, 250);
  CHECK(log.bytes() == 200);  // numbers 4, which is stable, and 5
  CHECK(log.unstable_bytes(0) == 400);
  CHECK_FALSE(parts.all().empty());
  for (std::uint64_t sequence = 5; sequence <= 8; ++sequence) {
    const Frame content = log.content_of(*log.find(sequence), kA);
    REQUIRE(content != nullptr);
    CHECK(*content == Bytes(100));
  }
  log.note_proposal(log.open(6), kA, 1, log.content_of(*log.find(6), kA), {});
  CHECK(log.bytes() == 300);
  CHECK(log.unstable_bytes(0) == 400);
  log.note_stable(6);
  CHECK(log.unstable_bytes(0) == 200);
  log.release_below(9);
  CHECK(log.bytes() == 0);
  CHECK(log.unstable_bytes(0) == 0);
  CHECK(parts.all().empty());
  Slot& again = log.open(11);
  CHECK(again.phase == SlotPhase::empty);
  CHECK(log.find(3) == nullptr);
  CHECK(log.find(0) == nullptr);
}

TEST_CASE("A view begins without what an earlier one was to execute") {
  MemoryPartStore parts;
  Log log(6, 4, 0, parts);
  for (const std::uint64_t sequence : {1, 2}) {
    Slot& slot = log.open(sequence);
    slot.phase = SlotPhase::committed;
    slot.requests.resize(1);
  }
  log.enter_view(1, 2);
  // What is committed up to the stable checkpoint is still to be executed.
  CHECK(log.find(1)->requests.size() == 1);
  CHECK(log.find(2)->requests.empty());
  CHECK(log.find(2)->phase == SlotPhase::empty);
}

TEST_CASE("Kept results are bounded; the oldest are forgotten first") {
  ClientTable table(100);
  const auto keep = [&](std::uint32_t session, std::size_t size) {
    Session& entry = table.session(kClient, session);
    table.begin(entry, entry.last_timestamp + 1);
    return table.keep_result(entry, Bytes(size));
  };
  CHECK(keep(0, 40) == 0);
  CHECK(keep(1, 40) == 0);
  CHECK(keep(0, 40) == 0);  // replaces its own, and is the newest now
  CHECK(table.result_bytes() == 80);
  CHECK(keep(2, 50) == 1);
  CHECK_FALSE(table.session(kClient, 1).has_result);
  CHECK(table.session(kClient, 0).has_result);
  CHECK(table.result_bytes() == 90);
  CHECK(keep(3, 200) == 3);  // larger than all room: kept by nobody
  CHECK(table.result_bytes() == 0);
  CHECK(keep(1, 100) == 0);
}

TEST_CASE("The queue lays requests out in batches, within its bounds") {
  ReplicaSettings settings;
  settings.batch_requests_max = 2;
  settings.queue_requests_max = 6;
  RequestQueue queue(settings, QuorumRule::standard(1));
  std::vector<RequestQueue::Displaced> displaced;
  const auto add = [&](std::uint64_t timestamp, NodeId client = kClient) {
    const Frame frame = request(timestamp, "op", false, 0, 0, client);
    const auto message = decode_request(*frame, kReplicas);
    return queue.add(*message, *frame, sha256(message->content), {}, RequestQueue::Place::last,
                     displaced);
  };
  CHECK(add(1));
  CHECK(add(2));
  CHECK(add(3));
  CHECK_FALSE(add(4));  // half of the room is another client's
  CHECK(add(1, kClient + 1));
  CHECK(queue.requests() == 4);
  auto first = queue.take();
  REQUIRE(first.requests.size() == 2);
  CHECK(first.requests[1].timestamp == 2);
  const auto finished = first.builder.finish(0, 1, {}, ring(0));
  const auto decoded = decode_pre_prepare(*finished.frame, kReplicas);
  REQUIRE(decoded);
  const ByteView frame = *finished.frame;
  CHECK(as_text(frame.subspan(first.requests[1].operation_at, 2)) == "op");
  CHECK(add(4));
  while (!queue.empty())
    (void)queue.take();
  CHECK(queue.requests() == 0);
  CHECK(queue.bytes() == 0);
}

Checkpoints::Outcome record(Checkpoints& checkpoints, NodeId replica,
                            const CheckpointClaim& claim) {
  return checkpoints.record(
      replica, claim,
      encode_checkpoint(claim.sequence, claim.order, claim.replies, claim.service, ring(replica)));
}

TEST_CASE("Checkpoints remember a bounded number of claims and the newest stable one") {
  Checkpoints checkpoints(QuorumRule::standard(1), 16);
  // A replica that claims at random pushes out its own claims only.
  for (std::uint64_t sequence = 1; sequence <= 100; ++sequence) {
    record(checkpoints, 3, {sequence * 7, kB, kB, kB});
  }
  CHECK(record(checkpoints, 0, {8, kA, kA, kA}) == Checkpoints::Outcome::added);
  CHECK(record(checkpoints, 0, {8, kB, kA, kA}) == Checkpoints::Outcome::conflicting);
  CHECK(record(checkpoints, 1, {8, kA, kB, kB}) == Checkpoints::Outcome::added);
  CHECK(record(checkpoints, 2, {8, kA, kA, kA}) == Checkpoints::Outcome::stable);
  CHECK(checkpoints.stable().sequence == 8);
  CHECK(record(checkpoints, 1, {4, kA, kA, kA}) == Checkpoints::Outcome::old);
}

// Who signed the certificate, in its order; all must state this.
std::vector<NodeId> signers(const Checkpoints& checkpoints, std::uint64_t sequence,
                            const Digest& order) {
  std::vector<NodeId> result;
  for (const Checkpoints::SignedClaim& claim : checkpoints.certificate()) {
    const auto message = decode_checkpoint(*claim.frame);
    REQUIRE(message);
    CHECK(message->sequence == sequence);
    CHECK(message->order == order);
    CHECK(ring(kClient).verify_signature(message->replica, sha256(message->content),
                                         message->signature));
    result.push_back(message->replica);
  }
  return result;
}

TEST_CASE(
    "Who claims two things at a checkpoint still completes the certificate that others have") {
  using Outcome = Checkpoints::Outcome;
  Checkpoints checkpoints(QuorumRule::standard(1), 16);
  CHECK(record(checkpoints, 1, {8, kB, kA, kA}) == Outcome::added);
  CHECK(record(checkpoints, 2, {8, kA, kA, kA}) == Outcome::added);
  CHECK(record(checkpoints, 1, {8, kA, kA, kA}) == Outcome::conflicting);
  CHECK(record(checkpoints, 3, {8, kA, kA, kA}) == Outcome::added);
  CHECK(checkpoints.wants(1, {8, kA, kA, kA}));
  CHECK(record(checkpoints, 1, {8, kA, kA, kA}) == Outcome::stable);
}

TEST_CASE("Claims far ahead do not keep a replica from completing a certificate") {
  using Outcome = Checkpoints::Outcome;
  Checkpoints checkpoints(QuorumRule::standard(1), 16);
  for (std::uint64_t sequence = 100; sequence < 200; ++sequence)
    (void)record(checkpoints, 1, {sequence, kB, kA, kA});
  CHECK(record(checkpoints, 1, {8, kA, kA, kA}) == Outcome::old);
  CHECK(record(checkpoints, 2, {8, kA, kA, kA}) == Outcome::added);
  CHECK(record(checkpoints, 3, {8, kA, kA, kA}) == Outcome::added);
  CHECK(record(checkpoints, 1, {8, kA, kA, kA}) == Outcome::stable);
}

TEST_CASE("The certificate of a stable checkpoint is the equal signed claims, by replica") {
  Checkpoints checkpoints(QuorumRule::standard(1), 16);
  CHECK(checkpoints.certificate().empty());
  record(checkpoints, 1, {8, kB, kA, kA});  // a faulty one: another order
  record(checkpoints, 3, {8, kA, kA, kA});
  record(checkpoints, 1, {8, kA, kA, kA});  // too late to take it back
  record(checkpoints, 0, {8, kA, kB, kB});  // other results decide nothing
  CHECK(checkpoints.certificate().empty());
  CHECK(record(checkpoints, 2, {8, kA, kA, kA}) == Checkpoints::Outcome::stable);
  CHECK(signers(checkpoints, 8, kA) == std::vector<NodeId>{0, 2, 3});

  // It stands until the next one is stable.
  record(checkpoints, 1, {8, kA, kA, kA});
  for (std::uint64_t sequence = 9; sequence < 40; ++sequence)
    record(checkpoints, 3, {sequence, kB, kB, kB});
  record(checkpoints, 0, {40, kB, kA, kA});
  record(checkpoints, 1, {40, kB, kA, kA});
  CHECK(signers(checkpoints, 8, kA) == std::vector<NodeId>{0, 2, 3});
  CHECK(record(checkpoints, 2, {40, kB, kA, kA}) == Checkpoints::Outcome::stable);
  CHECK(signers(checkpoints, 40, kB) == std::vector<NodeId>{0, 1, 2});
}

TEST_CASE("f+1 equal claims certify a state; honest differences stop nothing") {
  Checkpoints checkpoints(QuorumRule::standard(1), 16);
  record(checkpoints, 0, {8, kA, kA, kA});
  record(checkpoints, 1, {8, kA, kA, kB});
  CHECK(record(checkpoints, 2, {8, kA, kB, Digest{}}) == Checkpoints::Outcome::stable);
  CHECK(checkpoints.stable().replies == kA);
  CHECK(checkpoints.stable().service == Digest{});
  CHECK(checkpoints.wants_evidence());
  // One who executed another history proves nothing about this one.
  CHECK(record(checkpoints, 0, {8, kB, kB, kB}) == Checkpoints::Outcome::conflicting);
  CHECK(record(checkpoints, 3, {8, kA, kB, kB}) == Checkpoints::Outcome::added);
  CHECK(checkpoints.stable().service == kB);
  CHECK_FALSE(checkpoints.wants_evidence());
  CHECK(checkpoints.holders() == 0b1011);  // 0 has the replies alone
}

TEST_CASE("A statement may follow where there was none; one that was made stays") {
  Checkpoints checkpoints(QuorumRule::standard(1), 16);
  record(checkpoints, 0, {8, kA, Digest{}, Digest{}});
  record(checkpoints, 1, {8, kA, kB, kB});
  CHECK(record(checkpoints, 2, {8, kA, Digest{}, Digest{}}) == Checkpoints::Outcome::stable);
  CHECK(checkpoints.stable().service == Digest{});
  CHECK(record(checkpoints, 1, {8, kA, kA, kA}) == Checkpoints::Outcome::duplicate);
  CHECK(checkpoints.stable().service == Digest{});
  CHECK(record(checkpoints, 0, {8, kA, kB, kB}) == Checkpoints::Outcome::added);
  CHECK(checkpoints.stable().service == kB);
  CHECK(checkpoints.stable().replies == kB);
  CHECK(checkpoints.holders() == 0b011);
  CHECK(record(checkpoints, 0, {8, kA, Digest{}, Digest{}}) == Checkpoints::Outcome::duplicate);
  CHECK(checkpoints.stable().service == kB);
  // What made it stable is what was signed then.
  CHECK(signers(checkpoints, 8, kA) == std::vector<NodeId>{0, 1, 2});
}

TEST_CASE("A state that is disowned is named no more; earlier ones are, and another in its place") {
  MemoryPartStore parts;
  Snapshots snapshots(parts);
  const auto add = [&](std::uint64_t sequence, std::string_view state) {
    const Digest root = service_state(parts, state);
    REQUIRE(snapshots.add({sequence, root, root, root}));
  };
  add(4, "four");
  add(8, "another eight");
  add(12, "another twelve");
  snapshots.disown_from(8);
  CHECK(snapshots.find(8) == nullptr);
  CHECK(snapshots.newest_up_to(12)->sequence == 4);
  CHECK(snapshots.newest_whole_up_to(12)->sequence == 4);
  add(8, "eight");
  CHECK(snapshots.newest_whole_up_to(12)->sequence == 8);
}

TEST_CASE("A state that is fetched stays for two seconds after the last question") {
  MemoryPartStore parts;
  Snapshots snapshots(parts);
  for (const std::uint64_t sequence : {4U, 8U, 12U}) {
    const Digest root = service_state(parts, "state " + std::to_string(sequence));
    REQUIRE(snapshots.add({sequence, root, root, root}));
  }
  const TimePoint asked = TimePoint{} + seconds(100);
  snapshots.touch(4, asked);
  snapshots.trim(12, {}, asked + seconds(2) - Duration{1});
  CHECK(snapshots.find(4) != nullptr);
  CHECK(snapshots.find(8) == nullptr);
  snapshots.trim(12, {}, asked + seconds(2));
  CHECK(snapshots.find(4) == nullptr);
  CHECK(snapshots.find(12) != nullptr);
}

TEST_CASE("A replier that let a call down is passed over, but never all of them") {
  ReplierChoice choice(4);
  choice.let_down(2);
  for (int i = 0; i < 100; ++i)
    CHECK(choice.next() != 2);
  choice.delivered(2);
  bool seen = false;
  for (int i = 0; i < 4; ++i)
    seen = choice.next() == 2 || seen;
  CHECK(seen);
  for (NodeId replica = 0; replica < 4; ++replica)
    choice.let_down(replica);
  CHECK(choice.next() < 4);
}

TEST_CASE("A result counts when its digest is agreed, whoever sent it and wherever it was put") {
  ReplyTally tally(QuorumRule::standard(1));
  const auto add = [&](NodeId replica, std::string_view result, Sigma sigma, bool full) {
    const Frame frame = reply(replica, 1, result, sigma, full);
    return tally.add(replica, *decode_reply(*frame), true);
  };
  CHECK(add(3, "x", 9 << 16, true));
  CHECK(add(0, "x", 1 << 16, false));
  CHECK(tally.agreed({2, 2}) == nullptr);
  CHECK(add(1, "x", 1 << 16, true));
  const auto* agreed = tally.agreed({2, 2});
  REQUIRE(agreed != nullptr);
  CHECK(agreed->sigma == 1 << 16);
  CHECK(tally.take_result(*agreed) == to_bytes("x"));
}

TEST_CASE("A result that does not match its digest is not kept") {
  ReplyTally tally(QuorumRule::standard(1));
  Bytes frame = *reply(0, 1, "good");
  frame.back() = 'D';
  CHECK(tally.add(0, *decode_reply(frame), true));
  const Frame digest_only = reply(1, 1, "good", 1 << 16, false);
  CHECK(tally.add(1, *decode_reply(*digest_only), true));
  REQUIRE(tally.agreed({2, 2}) != nullptr);
  CHECK_FALSE(tally.take_result(*tally.agreed({2, 2})).has_value());
}

}  // namespace
}  // namespace prophecy::pbft::test
