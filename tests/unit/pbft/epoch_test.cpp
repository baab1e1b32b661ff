// Requests that name an epoch: what refuses writes of older ones, and where the newest one is kept.
#include <catch2/catch.hpp>

#include "pbft/core/execution/epoch_fence.hpp"
#include "pbft/core/execution/session_tree.hpp"
#include "pbft/every_batch.hpp"
#include "pbft/group.hpp"
#include "pbft/wire/epoch_refusal.hpp"

namespace prophecy::pbft::test {
namespace {

using Kind = EpochRefusal::Kind;

Frame request_in(std::uint64_t epoch, std::uint64_t timestamp, std::string_view operation = "op",
                 NodeId client = kClient) {
  return finish_request(begin_request(as_bytes(operation), kReplicas, epoch), 0, timestamp, false,
                        0, ring(client));
}

std::optional<EpochRefusal> refusal_of(const Execution& execution) {
  return decode_epoch_refusal(execution.refusal);
}

}  // namespace

TEST_CASE("A fence refuses epochs behind the newest, and those too far beyond it") {
  ReplicaCounters counters;
  EpochFence fence(counters);
  CHECK(fence.pass(0).empty());
  CHECK(fence.newest() == 0);
  CHECK(fence.pass(7).empty());
  CHECK(fence.pass(7).empty());
  CHECK(fence.newest() == 7);
  CHECK(decode_epoch_refusal(fence.pass(6)) == EpochRefusal{Kind::too_old, 7});
  CHECK(fence.pass(0).empty());
  CHECK(counters.epochs_too_far == 0);

  CHECK(decode_epoch_refusal(fence.pass(7 + kEpochStepMax + 1)) == EpochRefusal{Kind::too_new, 7});
  CHECK(decode_epoch_refusal(fence.pass(kEpochMax)) == EpochRefusal{Kind::too_new, 7});
  CHECK(counters.epochs_too_far == 2);
  CHECK(fence.newest() == 7);
  CHECK(fence.pass(7 + kEpochStepMax).empty());
  CHECK(fence.newest() == 7 + kEpochStepMax);
  fence.reset(3);
  CHECK(fence.pass(4).empty());
}

TEST_CASE("A request names its epoch behind its operation, or none") {
  for (const std::uint64_t epoch : {std::uint64_t{0}, std::uint64_t{9}, kEpochMax}) {
    const Frame inlined = request_in(epoch, 7, "operation");
    const auto read = decode_request(*inlined, kReplicas);
    REQUIRE(read);
    CHECK(read->epoch == epoch);
    CHECK(as_text(read->operation) == "operation");
    CHECK(ring(3).verify_authenticator(kClient, sha256(read->content), read->authenticator));
    // As long as ever without one.
    CHECK(inlined->size() == request(7, "operation")->size() + (epoch == 0 ? 0 : 8));

    const BodyName name{5'000'000, sha256(as_bytes("root"))};
    const Frame by_digest =
        finish_request(begin_request(name, kReplicas, epoch), 0, 7, false, 0, ring(kClient));
    const auto body = decode_request(*by_digest, kReplicas);
    REQUIRE(body);
    CHECK(body->epoch == epoch);
    CHECK(body->body == name);
    const auto again = decode_request(*retransmitted(inlined), kReplicas);
    REQUIRE(again);
    CHECK(again->epoch == epoch);
  }
}

TEST_CASE("An epoch of 0, beyond the bound, or of a read outside the order is malformed") {
  constexpr std::size_t kFlagsAt = kHeaderSize + 4 + 8;
  const auto with = [](std::uint64_t epoch, std::uint8_t flags) {
    Bytes bytes = *request_in(1, 7, "operation");
    const std::size_t at = bytes.size() - kReplicas * kTagSize - sizeof epoch;
    for (std::size_t i = 0; i < sizeof epoch; ++i)
      bytes[at + i] = static_cast<std::uint8_t>(epoch >> (8 * i));
    bytes[kFlagsAt] = flags;
    return decode_request(bytes, kReplicas).has_value();
  };
  CHECK(with(1, kRequestInEpoch));
  CHECK(with(kEpochMax, kRequestInEpoch));
  CHECK_FALSE(with(0, kRequestInEpoch));
  CHECK_FALSE(with(kEpochMax + 1, kRequestInEpoch));
  CHECK_FALSE(with(1, kRequestInEpoch | kRequestReadOnly));
  CHECK_FALSE(with(1, kRequestReadOnly | kRequestByDigest));
  CHECK_FALSE(with(1, kRequestInEpoch << 1));
  CHECK_FALSE(with(1, 0));  // then eight bytes are left over
}

TEST_CASE("A refusal is read as it was written, and nothing else is one") {
  for (const Kind kind : {Kind::too_old, Kind::too_new}) {
    const EpochRefusal refusal{kind, 0x0102030405060708};
    const Bytes bytes = encode(refusal);
    CHECK(decode_epoch_refusal(bytes) == refusal);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      CHECK_FALSE(decode_epoch_refusal(ByteView(bytes).first(size)));
    Bytes longer = bytes;
    longer.push_back(0);
    CHECK_FALSE(decode_epoch_refusal(longer));
    for (std::size_t at = 0; at < 5; ++at) {
      Bytes other = bytes;
      other[at] ^= 0x40;
      CHECK_FALSE(decode_epoch_refusal(other));
    }
  }
}

TEST_CASE(
    "A request of an older epoch is handed out with its refusal, once a newer one is ordered") {
  Subject backup(1);
  backup.order(1, {request_in(4, 1, "a")});
  REQUIRE(backup.actions.executions.size() == 1);
  CHECK(backup.actions.executions[0].refusal.empty());
  backup.executed(1, "done");
  CHECK(backup.replica.status().epoch == 4);

  // In one batch the order within it decides.
  backup.order(2, {request_in(3, 2, "late"), request_in(5, 1, "next", kClient + 1)});
  REQUIRE(backup.actions.executions.size() == 2);
  CHECK(refusal_of(backup.actions.executions[0]) == EpochRefusal{Kind::too_old, 4});
  CHECK(backup.actions.executions[1].refusal.empty());
  CHECK(backup.replica.status().epoch == 5);
  backup.executed(2, "refused");
  backup.executed(3, "done");

  backup.order(3, {request(3, "without one")});
  CHECK(backup.actions.executions.at(0).refusal.empty());
  backup.executed(4, "done");
  backup.order(4, {request_in(5 + kEpochStepMax + 1, 4, "far")});
  CHECK(refusal_of(backup.actions.executions.at(0)) == EpochRefusal{Kind::too_new, 5});
  CHECK(backup.replica.status().epoch == 5);
  CHECK(backup.replica.counters().epochs_too_far == 1);
}

TEST_CASE("The primary goes by the epochs of what it has proposed itself") {
  Subject primary(0);
  const auto order = [&](std::uint64_t sequence, const Frame& frame) {
    primary.feed(frame);
    const auto proposed = sent_by(primary, MessageType::pre_prepare);
    const Digest batch = batch_digest(*decode_pre_prepare(*proposed, kReplicas));
    for (const NodeId backup : {1U, 2U})
      primary.feed(prepare(backup, sequence, batch));
    for (const NodeId backup : {1U, 2U})
      primary.feed(commit(backup, sequence, batch));
  };
  order(1, request_in(4, 1));
  CHECK(primary.replica.status().epoch == 4);
  REQUIRE(primary.actions.executions.size() == 1);
  primary.executed(1, "done");
  order(2, request_in(3, 2));
  REQUIRE(primary.actions.executions.size() == 1);
  CHECK(refusal_of(primary.actions.executions[0]) == EpochRefusal{Kind::too_old, 4});
}

TEST_CASE("The newest epoch is part of a checkpoint's state, and comes back with it") {
  ReplicaSettings settings;
  settings.checkpoint_interval = 2;
  settings.window = 8;
  Subject backup(1, settings);
  backup.order(1, {request_in(9, 1)});
  backup.executed(1, "done");
  backup.order(2, {request(2)});
  backup.executed(2, "done");
  const auto claim = decode_checkpoint(*[&] {
    for (const Outgoing& outgoing : backup.actions.sends) {
      if (peek_header(*outgoing.frame)->type == MessageType::checkpoint) return outgoing.frame;
    }
    FAIL("no checkpoint");
    return Frame{};
  }());
  REQUIRE(claim);
  const auto root = read_order_root(backup.parts, claim->order);
  REQUIRE(root);
  CHECK(root->sequence == 2);
  CHECK(root->epoch == 9);

  // Without one, the root is as it would be if there were no epochs.
  Subject other(1, settings);
  other.order(1, {request(1)});
  other.executed(1, "done");
  other.order(2, {request(2)});
  other.executed(2, "done");
  CHECK(other.replica.status().epoch == 0);

  // A replica that starts again has it, too.
  for (const NodeId from : {0U, 2U, 3U}) {
    backup.feed(encode_checkpoint(claim->sequence, claim->order, claim->replies, claim->service,
                                  ring(from)));
  }
  Subject again(1, settings, backup.restarted(), backup.parts);
  CHECK(again.restores == 1);
  CHECK(again.replica.status().epoch == 9);
}

}  // namespace prophecy::pbft::test
