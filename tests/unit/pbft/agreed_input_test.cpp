// "Practical Byzantine Fault Tolerance" (OSDI 1999), section 4.6: what is not deterministic is
// proposed by the primary, checked by the others, and then the same for all.
#include <catch2/catch.hpp>

#include "pbft/core/state/new_view_choice.hpp"
#include "pbft/group.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
const std::uint64_t kNow = GivenInputs().time;

AgreedInput input_at(std::uint64_t time) {
  return {time, Seed{9}};
}

void order_at(Subject& backup, std::uint64_t sequence, const AgreedInput& input) {
  const Proposal proposal = pre_prepare(sequence, {request(sequence)}, 0, 0, input);
  backup.feed(proposal.frame);
  backup.feed(prepare(2, sequence, proposal.batch));
  backup.feed(commit(0, sequence, proposal.batch));
  backup.feed(commit(2, sequence, proposal.batch));
}

}  // namespace

TEST_CASE("4.6: the primary proposes a time and a seed, which the service gets everywhere") {
  Subject primary(0);
  primary.inputs.time = kNow + 5;
  primary.inputs.seed = Seed{7, 7};
  primary.feed(request(1));
  REQUIRE(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  const Frame frame = primary.actions.sends[0].frame;
  const auto message = decode_pre_prepare(*frame, kReplicas);
  REQUIRE(message);
  CHECK(message->input == AgreedInput{kNow + 5, Seed{7, 7}});

  Subject backup(1);
  backup.feed(frame);
  const auto vote = decode_vote(*backup.actions.sends.at(0).frame, MessageType::prepare, kReplicas);
  for (Subject* replica : {&primary, &backup}) {
    replica->feed(prepare(2, 1, vote->batch));
    replica->feed(prepare(3, 1, vote->batch));
    replica->feed(commit(2, 1, vote->batch));
    replica->feed(commit(3, 1, vote->batch));
    REQUIRE(replica->actions.executions.size() == 1);
    CHECK(replica->actions.executions[0].input ==
          AgreedInput{kNow + 5, seed_of_request(Seed{7, 7}, 0)});
  }
}

TEST_CASE("4.6: time and seed are what is voted on") {
  const std::vector<Frame> requests{request(1)};
  const Proposal proposal = pre_prepare(1, requests, 0, 0, {kNow, Seed{1}});
  CHECK(proposal.batch != pre_prepare(1, requests, 0, 0, {kNow + 1, Seed{1}}).batch);
  CHECK(proposal.batch != pre_prepare(1, requests, 0, 0, {kNow, Seed{2}}).batch);
  CHECK(proposal.batch == pre_prepare(1, requests, 4, 0, {kNow, Seed{1}}).batch);
  CHECK(empty_batch() == sha256({}));
  // Neither can be exchanged behind the primary's back.
  for (const std::size_t byte : {std::size_t{22}, std::size_t{40}}) {
    Bytes forged = *proposal.frame;
    forged[byte] ^= 1;
    Subject backup(1);
    CHECK_FALSE(backup.feed(std::make_shared<const Bytes>(forged)));
    CHECK(backup.dropped(DropReason::bad_mac) == 1);
  }
}

TEST_CASE("4.6: a backup refuses a time that is far from its own, and says whose") {
  const std::uint64_t time =
      GENERATE(kNow - 5 * kSecond - 1, kNow + 5 * kSecond + 1, std::uint64_t{0}, UINT64_MAX);
  Subject backup(1);
  CHECK(backup.feed(pre_prepare(1, {request(1)}, 0, 0, input_at(time)).frame));
  CHECK(backup.actions.sends.empty());
  CHECK(backup.dropped(DropReason::time_refused) == 1);
  CHECK(backup.replica.counters().last_time_refused.primary == 0);
  CHECK(backup.replica.counters().last_time_refused.proposed == time);
  CHECK(backup.replica.counters().last_time_refused.own == kNow);
  // If the others refuse it as well, the primary cannot go on; and nobody else may notice.
  backup.tick(ReplicaSettings{}.view_change_timeout - milliseconds(1));
  CHECK(backup.replica.status().state == ReplicaState::normal);
  Subject patient(1);
  patient.feed(pre_prepare(1, {request(1)}, 0, 0, input_at(time)).frame);
  patient.tick(ReplicaSettings{}.view_change_timeout);
  CHECK(patient.sent(MessageType::view_change) == kReplicas - 1);
  // The number is not lost for a better one.
  backup.feed(pre_prepare(1, {request(1)}, 0, 0, input_at(kNow)).frame);
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
}

TEST_CASE("4.6: clocks may differ by the tolerance") {
  const std::uint64_t time = GENERATE(kNow - 5 * kSecond, kNow, kNow + 5 * kSecond);
  Subject backup(1);
  backup.feed(pre_prepare(1, {request(1)}, 0, 0, input_at(time)).frame);
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
}

TEST_CASE("4.6: time never goes back for the service; two requests never share a seed") {
  Subject backup(1);
  order_at(backup, 1, input_at(kNow + kSecond));
  REQUIRE(backup.actions.executions.size() == 1);
  CHECK(backup.actions.executions[0].input.time == kNow + kSecond);
  order_at(backup, 2, input_at(kNow));  // a primary whose clock is behind is not refused for it
  REQUIRE(backup.actions.executions.size() == 1);
  CHECK(backup.actions.executions[0].input.time == kNow + kSecond);
  order_at(backup, 3, input_at(kNow + 2 * kSecond));
  CHECK(backup.actions.executions.at(0).input.time == kNow + 2 * kSecond);

  const std::vector<Frame> both{request(8, "a", false, 0, 1), request(8, "b", false, 0, 2)};
  backup.order(4, both);
  REQUIRE(backup.actions.executions.size() == 2);
  CHECK(backup.actions.executions[0].input.time == backup.actions.executions[1].input.time);
  CHECK(backup.actions.executions[0].input.seed != backup.actions.executions[1].input.seed);
}

TEST_CASE("The seed of a request is HKDF-Expand with SHA-256") {
  Seed seed;
  for (std::size_t i = 0; i < seed.size(); ++i)
    seed[i] = static_cast<std::uint8_t>(i);
  CHECK(to_hex(seed_of_request(seed, 0)) ==
        "48f3a016fef6c85e4c7e2f1aa95e8c38eb6a65a694081cc5a43cef2b1158620c");
  CHECK(to_hex(seed_of_request(seed, 258)) ==
        "d36bab1ec9da5dff6b493edf10e1c877c0b4d0301324433157b5b895b820a985");
}

TEST_CASE("What others have agreed on is not held against the clock, however late it comes") {
  Subject backup(2);
  const Proposal proposal = pre_prepare(1, {request(1)}, 0, 0, input_at(kNow - 3600 * kSecond));
  SECTION("carried over into a new view") {
    std::vector<Frame> view_changes;
    std::vector<ByteView> frames;
    ViewChangeMessage message;
    message.view = 1;
    for (const NodeId from : {0u, 1u, 3u}) {
      message.prepared.clear();
      if (from != 3) message.prepared.push_back({1, 0, proposal.batch});
      message.pre_prepared = message.prepared;
      view_changes.push_back(encode_view_change(message, ring(from)));
      frames.emplace_back(*view_changes.back());
    }
    backup.feed(encode_new_view(1, frames, ring(1)));
    backup.feed(proposal.frame);
    CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
    backup.feed(prepare(0, 1, proposal.batch, 1));
    backup.feed(commit(0, 1, proposal.batch, 1));
    backup.feed(commit(1, 1, proposal.batch, 1));
  }
  SECTION("committed by the others") {
    backup.feed(proposal.frame);
    CHECK(backup.dropped(DropReason::time_refused) == 1);
    for (const NodeId from : {0u, 1u})
      backup.feed(encode_vote(MessageType::decision, 0, 1, proposal.batch, ring(from)));
    backup.feed(proposal.frame);
  }
  REQUIRE(backup.actions.executions.size() == 1);
  CHECK(backup.actions.executions[0].input ==
        AgreedInput{kNow - 3600 * kSecond, seed_of_request(Seed{9}, 0)});
  CHECK(backup.dropped(DropReason::time_refused) <= 1);
}

}  // namespace prophecy::pbft::test
