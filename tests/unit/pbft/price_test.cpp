// What a frame may cost the replica that receives it, whoever sends it.
#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/core/bodies/part_server.hpp"
#include "pbft/core/execution/session_tree.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/group.hpp"
#include "pbft/shell/map_part_store.hpp"
#include "simulation/hash_work.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr Duration kLater = milliseconds(25);

std::size_t bytes_sent(const ReplicaActions& actions) {
  std::size_t bytes = 0;
  for (const Outgoing& outgoing : actions.sends)
    bytes += outgoing.frame->size();
  return bytes;
}

// Backup 1, whose client was given a large result.
struct Answered : Subject {
  Answered() : Subject(1) {
    order(1, {asked});
    executed(1, std::string(100'000, 'r'));
  }
  const Frame asked = request(1);
};

TEST_CASE("A reply is repeated once in a while, however often its request comes") {
  Answered backup;
  std::size_t bytes = 0;
  for (int i = 0; i < 600; ++i) {
    backup.feed(backup.asked);
    bytes += bytes_sent(backup.actions);
  }
  CHECK(bytes > 100'000);
  CHECK(bytes < 101'000);
  CHECK(backup.dropped(DropReason::rate_limited) == 599);
  backup.now += kLater;
  backup.feed(backup.asked);
  CHECK(backup.sent(MessageType::reply) == 1);
  CHECK(backup.replica.counters().replies_sent == 3);
  CHECK(backup.replica.counters().replies_repeated == 2);
}

TEST_CASE("Repeated replies are one frame, until the view changes") {
  Answered backup;
  backup.feed(backup.asked);
  const Frame first = backup.actions.sends.at(0).frame;
  backup.now += kLater;
  backup.feed(backup.asked);
  CHECK(backup.actions.sends.at(0).frame == first);
  CHECK(decode_reply(*first)->result.size() == 100'000);
}

TEST_CASE("A batch that repeats one request repeats its reply once") {
  Answered backup;
  const std::vector<Frame> copies(1000, backup.asked);
  const Proposal proposal = pre_prepare(2, copies);
  std::size_t bytes = 0;
  for (const Frame& frame : {proposal.frame, prepare(2, 2, proposal.batch),
                             commit(0, 2, proposal.batch), commit(2, 2, proposal.batch)}) {
    backup.feed(frame);
    bytes += bytes_sent(backup.actions);
  }
  CHECK(backup.replica.status().last_executed == 2);
  CHECK(bytes < 102'000);
}

TEST_CASE("One client's repeated replies are bounded, over all of its sessions") {
  Subject backup(1);
  constexpr std::uint32_t kSessions = 8;
  std::vector<Frame> asked;
  for (std::uint32_t session = 0; session < kSessions; ++session)
    asked.push_back(request(1, "op", false, 0, session));
  backup.order(1, asked);
  for (std::uint64_t id = 1; id <= kSessions; ++id)
    backup.executed(id, std::string(16 << 20, 'r'));
  std::size_t bytes = 0;
  for (const Frame& frame : asked) {
    backup.feed(frame);
    bytes += bytes_sent(backup.actions);
  }
  CHECK(bytes > std::size_t{16} << 20);
  CHECK(bytes < std::size_t{40} << 20);
}

TEST_CASE("A part that all others fetch is read once") {
  GivenInputs inputs;
  Context context{{}, ring(0), QuorumRule::standard(1), 0, inputs};
  MapPartStore parts;
  PartServer server(context, parts);
  std::vector<Digest> body;
  for (char leaf = 'a'; leaf < 'q'; ++leaf)
    body.push_back(parts.add({}, as_bytes(std::string(100'000, leaf))));
  ReplicaActions actions;
  for (const NodeId peer : {1u, 2u, 3u})
    server.serve(peer, body, actions);
  REQUIRE(actions.sends.size() == 3 * body.size());
  CHECK(parts.reads == body.size());
  CHECK(actions.sends.at(0).frame == actions.sends.at(body.size()).frame);
  // The last ones alone are kept: 4 MiB of them.
  std::vector<Digest> others;
  for (char leaf = 'A'; leaf < 'Z'; ++leaf)
    others.push_back(parts.add({}, as_bytes(std::string(200'000, leaf))));
  server.serve(1, others, actions);
  parts.reads = 0;
  server.serve(2, body, actions);
  CHECK(parts.reads == body.size());
}

TEST_CASE("Parts are served to one peer at 4 MiB in 50 ms, and a small one counts as 16 KiB") {
  const auto [bytes, at_once] = GENERATE(std::pair(std::size_t{128 * 1024}, std::size_t{32}),
                                         std::pair(std::size_t{10}, std::size_t{256}));
  GivenInputs inputs;
  Context context{{}, ring(0), QuorumRule::standard(1), 0, inputs};
  MapPartStore parts;
  PartServer server(context, parts);
  std::vector<Digest> body;
  for (std::size_t i = 0; i < PartServer::kWaitingMax; ++i) {
    std::string leaf(bytes, 'a');
    leaf[0] = static_cast<char>(i);
    body.push_back(parts.add({}, as_bytes(leaf)));
  }
  ReplicaActions actions;
  const auto sent = [&](const auto& event) {
    actions.clear();
    event();
    return actions.sends.size();
  };
  CHECK(sent([&] { server.serve(1, body, actions); }) == at_once);
  // Another peer has a share of its own.
  CHECK(sent([&] { server.serve(2, body, actions); }) == at_once);
  context.now += milliseconds(49);
  CHECK(sent([&] { server.on_tick(actions); }) == 0);
  context.now += milliseconds(1);
  const std::size_t left = body.size() - at_once;
  CHECK(server.next_timer() == (left > 0 ? context.now : TimePoint::max()));
  CHECK(sent([&] { server.on_tick(actions); }) == 2 * std::min(left, at_once));
}

TEST_CASE("Of one batch no more signatures are checked than a correct primary puts into one") {
  constexpr std::uint32_t kMany = 2 * kBatchSignaturesMax;
  Subject backup(1);
  std::vector<Frame> asked;
  for (std::uint32_t session = 0; session < kMany; ++session) {
    const Frame frame = retransmitted(request(1, "op", false, 0, session));
    asked.push_back(with_wrong_macs(frame, {1}));
  }
  const std::vector<Frame> as_many(asked.begin(), asked.begin() + kBatchSignaturesMax);
  backup.feed(pre_prepare(1, as_many).frame);
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
  CHECK(backup.replica.counters().signatures_checked == kBatchSignaturesMax);
  backup.feed(pre_prepare(2, asked).frame);
  CHECK(backup.sent(MessageType::prepare) == 0);
  CHECK(backup.replica.counters().signatures_checked <= 2 * kBatchSignaturesMax);
}

TEST_CASE(
    "For batches that are refused only so many signatures are checked, however often they come") {
  Subject backup(1);
  const Frame wrong = with_wrong_macs(retransmitted(request(1)), {1});
  auto forged = std::make_shared<Bytes>(*wrong);
  const auto message = decode_request(*wrong, kReplicas);
  forged->at(static_cast<std::size_t>(message->signature.data() - wrong->data())) ^= 1;
  const Frame refused = pre_prepare(1, {forged}).frame;
  for (int i = 0; i < 1000; ++i)
    backup.feed(refused);
  CHECK(backup.sent(MessageType::prepare) == 0);
  const std::uint64_t checked = backup.replica.counters().signatures_checked;
  CHECK(checked > 0);
  CHECK(checked <= 2 * kBatchSignaturesMax);
  // What has right MACs is taken at once, and what needs a signature a little later.
  backup.feed(pre_prepare(1, {request(2)}).frame);
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
  const Frame with_signature =
      pre_prepare(2, {with_wrong_macs(retransmitted(request(3)), {1})}).frame;
  backup.now += milliseconds(50);
  backup.feed(with_signature);
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
}

TEST_CASE("A primary puts no more signed requests into a batch than backups check") {
  constexpr std::uint32_t kMany = 3 * kBatchSignaturesMax;
  ReplicaSettings settings;
  settings.batch_requests_max = 4 * kBatchSignaturesMax;
  settings.partial_batches_in_flight_max = 1;
  settings.batches_in_flight_max = 1;
  Subject primary(0, settings);
  const auto requests_in = [&](std::uint64_t sequence) {
    const auto message = decode_pre_prepare(*primary.actions.sends.at(0).frame, kReplicas);
    REQUIRE(message.has_value());
    REQUIRE(message->sequence == sequence);
    return message->requests.size();
  };
  primary.feed(request(1, "op", false, 0, kMany));
  REQUIRE(requests_in(1) == 1);
  for (std::uint32_t session = 0; session < kMany; ++session) {
    if (session % kBatchSignaturesMax == 0) primary.now += seconds(1);  // a client's allowance
    primary.feed(retransmitted(request(1, "op", false, 0, session)));
  }
  // Without a signature.
  primary.feed(request(1, "op", false, 0, kMany + 1));
  const Proposal first = pre_prepare(1, {request(1, "op", false, 0, kMany)}, 0, 0,
                                     {primary.inputs.time, primary.inputs.seed});
  for (const NodeId backup : {1, 2})
    primary.feed(prepare(backup, 1, first.batch));
  for (const NodeId backup : {1, 2})
    primary.feed(commit(backup, 1, first.batch));
  REQUIRE(primary.replica.status().last_ordered == 1);
  CHECK(requests_in(2) == kBatchSignaturesMax);
}

TEST_CASE("A proposal far beyond what is known is not taken") {
  // A new view that began with it would have to agree on an empty batch at each number before it.
  Subject backup(1);
  const auto is_prepared = [&](std::uint64_t sequence) {
    backup.feed(pre_prepare(sequence, {request(sequence)}).frame);
    return backup.sent(MessageType::prepare) > 0;
  };
  CHECK_FALSE(is_prepared(ReplicaSettings().window));
  CHECK_FALSE(is_prepared(257));
  CHECK(is_prepared(256));
  CHECK_FALSE(is_prepared(257));
  // What is known counts from the first number on, without a gap.
  CHECK(is_prepared(1));
  CHECK(is_prepared(257));
  CHECK_FALSE(is_prepared(258));
  for (std::uint64_t sequence = 2; sequence < 256; ++sequence)
    CHECK(is_prepared(sequence));
  CHECK(is_prepared(ReplicaSettings().window));
}

TEST_CASE("A body whose leaves are here is looked through in steps") {
  constexpr std::size_t kStep = std::size_t{4} << 20;
  constexpr std::size_t kLeaf = kBodyLeafBytesMax;
  // Different leaves, all of which another body has as well.
  auto bytes = std::make_shared<Bytes>(5 * kStep);
  for (std::size_t at = 0; at < bytes->size(); at += kLeaf)
    (*bytes)[at] = static_cast<std::uint8_t>(at / kLeaf);
  const BodyTree first(bytes, kLeaf);
  const BodyTree other(std::make_shared<Bytes>(bytes->begin(), bytes->end() - kLeaf), kLeaf);
  Subject backup(1);
  backup.feed(by_digest(1, first.name()));
  deliver(backup, first);
  REQUIRE(backup.replica.counters().bodies_fetched == 1);
  backup.feed(by_digest(1, other.name(), 1));
  const auto part = other.part(other.name().root);
  REQUIRE(part.has_value());
  std::size_t most = 0;
  std::size_t sum = 0;
  const auto note_read = [&](const auto& event) {
    backup.parts.bytes_read = 0;
    event();
    most = std::max(most, backup.parts.bytes_read);
    sum += backup.parts.bytes_read;
  };
  note_read([&] { backup.feed(encode_part_message(*part, ring(kClient))); });
  for (int steps = 0; backup.replica.next_timer() <= backup.now; ++steps) {
    REQUIRE(steps < 20);
    note_read([&] { backup.tick({}); });
  }
  CHECK(backup.replica.counters().bodies_fetched == 2);
  CHECK(sum >= other.name().size);
  // A frame is an event, and what is proposed after it another one.
  CHECK(most <= 2 * (kStep + kLeaf));
}

TEST_CASE("A checkpoint hashes the results that have changed since the last one") {
  constexpr std::size_t kResult = 1 << 20;
  MemoryPartStore parts;
  ClientTable clients(std::uint64_t{1} << 30);
  SessionTree tree;
  const auto reply_to = [&](std::uint32_t number, std::uint8_t content) {
    Session& session = clients.session(kClient, number);
    clients.begin(session, session.last_timestamp + 1);
    Bytes result(kResult, content);
    clients.set_reply(session, ReplyStatus::done, 1 << 16, sha256(result));
    clients.keep_result(session, std::move(result));
  };
  const auto build = [&] {
    const std::uint64_t before = simulation::hashed_bytes();
    const SessionTree::Roots roots = tree.build(clients, {}, parts).roots;
    REQUIRE(parts.pin(roots.replies));
    return std::pair(roots, simulation::hashed_bytes() - before);
  };
  for (std::uint32_t number = 0; number < 20; ++number)
    reply_to(number, static_cast<std::uint8_t>(number));
  const auto [first, cost_of_all] = build();
  CHECK(cost_of_all >= 20 * kResult);
  reply_to(7, 100);
  const auto [second, cost_of_one] = build();
  CHECK(cost_of_one < 2 * kResult);
  // The same as one that is made from nothing.
  const auto [again, cost] = [&] {
    tree.clear();
    return build();
  }();
  CHECK(again.replies == second.replies);
  CHECK(cost >= 20 * kResult);
  // What nothing leads to any more is kept anew.
  parts.unpin(first.replies);
  parts.unpin(second.replies);
  parts.unpin(again.replies);
  reply_to(8, 101);
  CHECK(build().second >= 20 * kResult);
}

// Of a service that cannot be asked for its state, which costs each of them an event of its own.
TEST_CASE("A replica whose service is lost makes few checkpoints in one event") {
  constexpr std::uint64_t kBatches = 9;
  ReplicaSettings settings;
  settings.checkpoint_interval = 1;
  Subject backup(1, settings);
  backup.order(1, {request(1)});
  const std::uint64_t first = backup.actions.executions.at(0).id;
  // None of them has anything to execute.
  for (std::uint64_t sequence = 2; sequence <= kBatches; ++sequence)
    backup.order(sequence, {request(1)});
  std::size_t most = 0;
  std::size_t sum = 0;
  const auto note_sent = [&] {
    const std::size_t made = backup.sent(MessageType::checkpoint) / (kReplicas - 1);
    most = std::max(most, made);
    sum += made;
  };
  backup.executed(first, "", ExecutionStatus::lost);
  note_sent();
  for (std::uint64_t ticks = 0; backup.replica.next_timer() <= backup.now; ++ticks) {
    REQUIRE(ticks < kBatches);
    backup.tick({});
    note_sent();
  }
  CHECK(backup.replica.status().last_executed == kBatches);
  CHECK(sum == kBatches);
  CHECK(most <= 2);
}

}  // namespace
}  // namespace prophecy::pbft::test
