// What a replica says after a crash, after a loss of its memory, and when its state is not the
// group's.
#include "pbft/wire/recovery.hpp"

#include <catch2/catch.hpp>

#include "pbft/core/context.hpp"
#include "pbft/group.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft::test {
namespace {

ReplicaSettings every_batch() {
  ReplicaSettings settings;
  settings.checkpoint_interval = 1;
  settings.window = 4;
  return settings;
}

Frame sent_by(const Subject& subject, MessageType type) {
  for (const Outgoing& outgoing : subject.actions.sends) {
    if (peek_header(*outgoing.frame)->type == type) return outgoing.frame;
  }
  return nullptr;
}

CheckpointMessage claim_of(const Subject& subject) {
  const Frame frame = sent_by(subject, MessageType::checkpoint);
  REQUIRE(frame != nullptr);
  return *decode_checkpoint(*frame);
}

// Backup 1 has executed one batch, and said so.
CheckpointMessage execute_one(Subject& backup) {
  backup.order(1, {request(1)});
  REQUIRE(backup.actions.executions.size() == 1);
  backup.executed(backup.actions.executions[0].id, "result");
  return claim_of(backup);
}

// As the others say when they have the same, but for the service's state.
Frame checkpoint(NodeId from, const CheckpointMessage& claim, const Digest& service) {
  return encode_checkpoint(claim.sequence, claim.order, claim.replies, service, ring(from));
}

// Likewise; its checkpoint is stable, and what a restart begins from.
CheckpointMessage execute_one_and_keep(Subject& backup) {
  const auto claim = execute_one(backup);
  backup.now += seconds(2);
  for (const NodeId peer : {0u, 2u})
    backup.feed(checkpoint(peer, claim, claim.service));
  REQUIRE(backup.replica.status().base == 1);
  return claim;
}

Frame pledge(NodeId from, std::uint64_t incarnation, std::uint64_t checkpoint, bool fresh = false,
             std::uint64_t view = 0) {
  PledgeMessage message;
  message.to = 1;
  message.incarnation = incarnation;
  message.fresh = fresh;
  message.view = view;
  message.checkpoint = checkpoint;
  return encode_pledge(message, ring(from));
}

Frame view_change(NodeId from, std::uint64_t incarnation, std::uint64_t view) {
  ViewChangeMessage message;
  message.incarnation = incarnation;
  message.view = view;
  return encode_view_change(message, ring(from));
}

ReplicaStart without_memory() {
  ReplicaStart start;
  start.memory = ReplicaStart::Memory::lost;
  start.wall_clock = 7000;
  return start;
}

}  // namespace

TEST_CASE("A vote is written before it is sent") {
  Subject backup(1);
  const Proposal proposal = pre_prepare(1, {request(1)});
  backup.actions.clear();
  backup.replica.on_frame(*proposal.frame, backup.now, backup.actions);
  REQUIRE(backup.sent(MessageType::prepare) == kReplicas - 1);
  CHECK(backup.actions.writes.size() == 2);  // the batch, and that it is pre-prepared
  backup.answer();
  backup.actions.clear();
  backup.replica.on_frame(*prepare(2, 1, proposal.batch), backup.now, backup.actions);
  REQUIRE(backup.sent(MessageType::commit) == kReplicas - 1);
  CHECK(backup.actions.writes.size() == 1);  // that it is prepared
}

TEST_CASE("A restarted replica votes as before, and for nothing else") {
  Subject before(1);
  const Proposal proposal = pre_prepare(1, {request(1)});
  before.feed(proposal.frame);
  Subject backup(1, {}, before.restarted());
  // It says again what it has said,
  REQUIRE(backup.sent(MessageType::prepare) == kReplicas - 1);
  CHECK(
      decode_vote(*sent_by(backup, MessageType::prepare), MessageType::prepare, kReplicas)->batch ==
      proposal.batch);
  // and takes no other batch at that number.
  backup.feed(pre_prepare(1, {request(2)}).frame);
  CHECK(backup.sent(MessageType::prepare) == 0);
  CHECK(backup.dropped(DropReason::conflicting) == 1);
}

TEST_CASE("A restarted replica knows what it has prepared, and that it has left a view") {
  Subject before(2);
  const Proposal proposal = pre_prepare(1, {request(1)});
  before.feed(proposal.frame);
  before.feed(prepare(1, 1, proposal.batch));
  before.tick(seconds(5));
  REQUIRE(before.replica.status().state == ReplicaState::changing_view);
  Subject backup(2, {}, before.restarted());
  CHECK(backup.replica.status().view == 1);
  CHECK(backup.replica.status().state == ReplicaState::changing_view);
  const auto asks = decode_view_change(*sent_by(backup, MessageType::view_change), kReplicas);
  REQUIRE(asks);
  CHECK(asks->prepared == std::vector{BatchRecord{1, 0, proposal.batch}});
  backup.feed(pre_prepare(2, {request(2)}).frame);
  CHECK(backup.dropped(DropReason::wrong_view) == 1);
}

TEST_CASE("A restarted primary proposes no number a second time") {
  Subject before(0);
  before.feed(request(1));
  REQUIRE(before.sent(MessageType::pre_prepare) == kReplicas - 1);
  Subject primary(0, {}, before.restarted());
  primary.feed(request(2));
  const Frame proposal = sent_by(primary, MessageType::pre_prepare);
  REQUIRE(proposal != nullptr);
  CHECK(decode_pre_prepare(*proposal, kReplicas)->sequence == 2);
}

TEST_CASE("What was executed before a crash is executed again, behind the last state on the disk") {
  Subject before(1, every_batch());
  execute_one(before);
  // The checkpoint was not stable yet, so the disk still has the state before it.
  Subject backup(1, every_batch(), before.restarted());
  CHECK(backup.replica.status().base == 0);
  REQUIRE(backup.actions.executions.size() == 1);
  CHECK(as_text(backup.actions.executions[0].operation) == "op");
}

TEST_CASE("A replica begins from the state of its last stable checkpoint") {
  Subject before(1, every_batch());
  const auto claim = execute_one_and_keep(before);
  ReplicaStart start = before.restarted();
  // The parts are on its disk as well.
  MemoryPartStore parts;
  for (const auto& [digest, part] : before.parts.all())
    REQUIRE(parts.keep(digest, part));
  GivenInputs inputs;
  Replica replica(every_batch(), ring(1), parts, inputs);
  ReplicaActions actions;
  REQUIRE(replica.start(start, TimePoint{}, actions));
  REQUIRE(actions.restore);
  CHECK(actions.restore->sequence == 1);
  CHECK(actions.restore->service == claim.service);
  replica.on_restored(true, TimePoint{}, actions);
  CHECK(replica.status().last_executed == 1);
  CHECK(replica.status().last_stable == 1);
  // It answers the client's retransmission from the checkpoint: the reply is there, too.
  actions.clear();
  replica.on_frame(*request(1), TimePoint{}, actions);
  REQUIRE(count_sent(actions.sends, MessageType::reply) == 1);
  const auto reply = decode_reply(*actions.sends[0].frame);
  CHECK(reply->full);
  CHECK(as_text(reply->result) == "result");
}

TEST_CASE("A journal that is none is not believed") {
  ReplicaStart start;
  start.records = {{to_bytes("zzz"), to_bytes("what?")}};
  MemoryPartStore parts;
  GivenInputs inputs;
  Replica replica({}, ring(1), parts, inputs);
  ReplicaActions actions;
  CHECK_FALSE(replica.start(start, TimePoint{}, actions));
  CHECK(count_sent(actions.sends, MessageType::rejoin) == kReplicas - 1);
}

// What a replica's disk holds after it has ordered a batch and has a stable checkpoint in view 0.
std::map<Bytes, Bytes> a_whole_journal() {
  Subject before(1, every_batch());
  (void)execute_one_and_keep(before);
  before.feed(pre_prepare(2, {request(2)}).frame);
  return before.disk;
}

bool is_believed(const std::map<Bytes, Bytes>& disk) {
  return read_journal({disk.begin(), disk.end()}, kReplicas).has_value();
}

Bytes& record_of(std::map<Bytes, Bytes>& disk, char kind) {
  const auto found = std::find_if(disk.begin(), disk.end(), [&](const auto& record) {
    return record.first.front() == static_cast<std::uint8_t>(kind);
  });
  REQUIRE(found != disk.end());
  return found->second;
}

TEST_CASE("Records that no replica can have written are not believed") {
  auto disk = a_whole_journal();
  REQUIRE(is_believed(disk));
  SECTION("a record that is torn") {
    const char kind = GENERATE('q', 'k', 's', 'm');
    record_of(disk, kind).pop_back();
  }
  SECTION("a batch that is another than its key says") {
    record_of(disk, 'c') = *pre_prepare(2, {request(3)}).frame;
  }
  SECTION("a batch that is none") {
    record_of(disk, 'c') = to_bytes("what?");
  }
  SECTION("a vote in a view that has not begun") {
    record_of(disk, 'q')[0] = 1;
  }
  SECTION("a base that nothing proves") {
    record_of(disk, 's') = {0, 0};
  }
  SECTION("a certificate in which one replica stands twice") {
    Bytes& certificate = record_of(disk, 's');
    const std::size_t frame = (certificate.size() - 2) / 3;
    std::copy_n(certificate.begin() + 2, frame, certificate.begin() + 2 + std::ptrdiff_t(frame));
  }
  SECTION("a view that is asked for, and is the first") {
    disk[{'v'}] = Bytes(9);
    CHECK(is_believed(disk));
    disk[{'v'}].back() = 1;
  }
  CHECK_FALSE(is_believed(disk));
}

TEST_CASE("A state that f+1 others contradict is fetched and restored, part by part") {
  Subject backup(1, every_batch());
  const auto claim = execute_one(backup);
  MemoryPartStore theirs;
  const Digest right = service_state(theirs, "the group's state");
  backup.actions.clear();
  for (const NodeId peer : {0u, 2u})
    backup.replica.on_frame(*checkpoint(peer, claim, right), backup.now, backup.actions);
  CHECK(backup.replica.counters().state_divergences == 1);
  CHECK(backup.replica.status().recovery == RecoveryState::fetching);
  const Frame asks = sent_by(backup, MessageType::fetch_parts);
  REQUIRE(asks != nullptr);
  CHECK(decode_fetch_parts(*asks, kReplicas)->parts == std::vector{right});
  // What was not asked for, or is not what its digest says, is dropped.
  const auto part = [](ByteView bytes) { return encode_part_message(bytes, ring(0)); };
  backup.replica.on_frame(*part(encode_part({}, as_bytes("another"))), backup.now, backup.actions);
  CHECK(backup.dropped(DropReason::not_wanted) == 1);
  backup.actions.clear();
  backup.replica.on_frame(*part(*theirs.read(right)), backup.now, backup.actions);
  backup.replica.on_tick(backup.now, backup.actions);
  REQUIRE(backup.actions.restore);
  CHECK(backup.actions.restore->service == right);
  backup.replica.on_restored(true, backup.now, backup.actions);
  CHECK(backup.replica.status().recovery == RecoveryState::none);
  CHECK(backup.replica.counters().states_restored == 1);
}

TEST_CASE("One replica's word changes nobody's state") {
  Subject backup(1, every_batch());
  const auto claim = execute_one(backup);
  backup.feed(checkpoint(0, claim, sha256(as_bytes("a lie"))));
  backup.feed(checkpoint(2, claim, claim.service));
  CHECK(backup.replica.status().last_stable == 1);
  CHECK(backup.replica.counters().state_divergences == 0);
  CHECK(backup.replica.status().recovery == RecoveryState::none);
}

TEST_CASE("A replica whose service lost a write is silent, goes back, and executes it again") {
  Subject backup(1, every_batch());
  backup.order(1, {request(1)});
  backup.executed(backup.actions.executions.at(0).id, "", ExecutionStatus::lost);
  CHECK(backup.sent(MessageType::reply) == 0);
  CHECK(backup.replica.status().recovery == RecoveryState::service_lost);
  backup.actions.clear();
  backup.replica.on_service_state(false, backup.now, backup.actions);
  backup.replica.on_tick(backup.now, backup.actions);
  REQUIRE(backup.actions.restore);
  CHECK(backup.actions.restore->sequence == 0);
  backup.answer();
  REQUIRE(backup.actions.executions.size() == 1);
  backup.executed(backup.actions.executions[0].id, "result");
  CHECK(backup.sent(MessageType::reply) == 1);
}

TEST_CASE("Who has lost its memory votes only behind all that it can have said") {
  Subject backup(1, every_batch(), without_memory());
  const Frame asks = sent_by(backup, MessageType::rejoin);
  REQUIRE(asks != nullptr);
  CHECK(decode_rejoin(*asks)->incarnation == 7000);
  backup.feed(pre_prepare(1, {request(1)}).frame);
  CHECK(backup.sent(MessageType::prepare) == 0);
  backup.feed(pledge(0, 7000, 10));
  backup.feed(pledge(2, 6000, 10));  // of a request before this one
  CHECK(backup.replica.status().silent_until == Context::kAsking);
  backup.feed(pledge(2, 7000, 4));
  // Of a checkpoint that nobody proves, and too far from what is proven, nothing is believed.
  backup.tick(seconds(10));
  CHECK(backup.replica.status().silent_until == Context::kAsking);
  backup.feed(pledge(0, 7000, 3));
  // Not all have answered: others of a new group may be about to.
  for (int round = 0; round < 20; ++round)
    backup.tick(milliseconds(100));
  CHECK(backup.replica.status().silent_until == 4 + 4);
  // Nor does it ask for views, however long a request waits.
  backup.feed(retransmitted(request(1)));
  backup.tick(seconds(60));
  CHECK(backup.sent(MessageType::view_change) == 0);
}

TEST_CASE("If 2f others have never said anything, the group is new") {
  Subject backup(1, {}, without_memory());
  backup.feed(pledge(0, 7000, 0, true));
  backup.feed(pledge(2, 7000, 0, true));
  SECTION("and begins when all have heard of each other") {
    backup.feed(pledge(3, 7000, 0, true));
    for (const NodeId peer : {0u, 2u, 3u}) {
      CHECK(backup.replica.status().silent_until == Context::kAsking);
      backup.feed(encode_rejoin(6, ring(peer)));
    }
    backup.tick(milliseconds(100));
  }
  SECTION("and does not wait for one that is down") {
    for (const NodeId peer : {0u, 2u})
      backup.feed(encode_rejoin(6, ring(peer)));
    for (int i = 0; i < 19; ++i)
      backup.tick(milliseconds(100));
    CHECK(backup.replica.status().silent_until == Context::kAsking);
    backup.tick(milliseconds(100));
  }
  CHECK(backup.replica.status().silent_until == 0);
  backup.feed(pre_prepare(1, {request(1)}).frame);
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
}

TEST_CASE("What was proposed before it is known that the group is new, is voted on then") {
  Subject backup(1, {}, without_memory());
  const Proposal proposal = pre_prepare(1, {request(1)});
  backup.feed(proposal.frame);
  for (const NodeId peer : {2u, 3u})
    backup.feed(prepare(peer, 1, proposal.batch));
  CHECK(backup.sent(MessageType::prepare) == 0);
  CHECK(backup.sent(MessageType::commit) == 0);
  for (const NodeId peer : {0u, 2u})
    backup.feed(pledge(peer, 7000, 0, true));
  for (int i = 0; i < 20; ++i)
    backup.tick(milliseconds(100));
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
  CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
}

TEST_CASE(
    "A pledge to a replica that began before this one had promised anything says so for ever") {
  const auto pledged = [](Subject& subject, NodeId peer, std::uint64_t incarnation) {
    subject.actions.clear();
    subject.now += seconds(1);
    subject.feed(encode_rejoin(incarnation, ring(peer)));
    const Frame frame = sent_by(subject, MessageType::pledge);
    REQUIRE(frame != nullptr);
    return decode_pledge(*frame, kReplicas)->fresh;
  };
  Subject backup(1);
  CHECK(pledged(backup, 2, 6));
  backup.feed(pre_prepare(1, {request(1)}).frame);
  CHECK(pledged(backup, 2, 6));
  CHECK_FALSE(pledged(backup, 2, 7));  // it has begun once more
  CHECK_FALSE(pledged(backup, 2, 6));  // with its clock set back
  CHECK_FALSE(pledged(backup, 3, 6));
}

TEST_CASE("The others of a group that may be new are waited for, for a while") {
  const auto silent = [](const Subject& subject) { return subject.replica.status().silent_until; };
  Subject new_group(1, {}, without_memory());
  new_group.feed(pledge(0, 7000, 0));
  new_group.feed(pledge(2, 7000, 0, true));
  CHECK(silent(new_group) == Context::kAsking);
  new_group.feed(pledge(3, 7000, 0, true));
  for (const NodeId peer : {0u, 2u, 3u})
    new_group.feed(encode_rejoin(6, ring(peer)));
  new_group.tick(milliseconds(100));
  CHECK(silent(new_group) == 0);

  Subject old_group(1, {}, without_memory());
  old_group.feed(pledge(0, 7000, 0));
  old_group.feed(pledge(2, 7000, 0, true));
  for (int i = 0; i < 30; ++i)
    old_group.tick(milliseconds(100));
  CHECK(silent(old_group) == ReplicaSettings{}.window);
}

TEST_CASE("Whose clock was set back does not take an old group for new") {
  Subject backup(1, {}, without_memory());
  // They were fresh when it was born first, long ago.
  for (const NodeId peer : {0u, 2u, 3u})
    backup.feed(pledge(peer, 9000, 0, true));
  backup.tick(milliseconds(100));
  for (const NodeId peer : {0u, 2u, 3u})
    backup.feed(pledge(peer, 9001, 0, false));
  for (int i = 0; i < 21; ++i)
    backup.tick(milliseconds(100));
  CHECK(backup.replica.status().silent_until == ReplicaSettings{}.window);
}

TEST_CASE("A request that came before the group began does not cost its primary the view") {
  Subject backup(1, {}, without_memory());
  backup.feed(retransmitted(request(1)));
  for (const NodeId peer : {0u, 2u})
    backup.feed(pledge(peer, 7000, 0, true));
  for (int i = 0; i < 20; ++i)
    backup.tick(milliseconds(100));
  REQUIRE(backup.replica.status().silent_until == 0);
  backup.tick(milliseconds(100));
  CHECK(backup.sent(MessageType::view_change) == 0);
  backup.tick(milliseconds(500));
  CHECK(backup.sent(MessageType::view_change) == kReplicas - 1);
}

TEST_CASE("An incarnation is above all that peers have heard of") {
  Subject backup(1, {}, without_memory());
  backup.feed(pledge(0, 9000, 3));
  backup.tick(milliseconds(100));
  CHECK(decode_rejoin(*sent_by(backup, MessageType::rejoin))->incarnation == 9001);
}

TEST_CASE("One replica talks nobody of a new group into another incarnation") {
  Subject backup(1, {}, without_memory());
  for (const NodeId peer : {2u, 3u})
    backup.feed(pledge(peer, 7000, 0, true));
  for (int i = 0; i < 20; ++i) {
    backup.feed(pledge(0, 9000 + static_cast<std::uint64_t>(i), 3));
    backup.tick(milliseconds(100));
  }
  CHECK(decode_rejoin(*sent_by(backup, MessageType::rejoin))->incarnation == 7000);
  CHECK(backup.replica.status().silent_until == 0);
}

TEST_CASE("A pledge: what a peer asked for before it lost its memory counts no more") {
  Subject primary(1);
  primary.feed(view_change(2, 5, 1));
  primary.feed(encode_rejoin(6, ring(2)));
  CHECK(primary.sent(MessageType::pledge) == 1);
  primary.feed(view_change(3, 0, 1));
  CHECK(primary.replica.status().view == 0);  // f+1 would have taken it along
  primary.now += seconds(1);
  CHECK_FALSE(primary.feed(view_change(2, 5, 2)));
  primary.now += seconds(1);
  primary.feed(view_change(2, 6, 1));
  CHECK(primary.replica.status().view == 1);
}

TEST_CASE("A primary that has not heard of a peer's new life breaks no rule by that") {
  Subject backup(1);
  backup.feed(encode_rejoin(6, ring(3)));
  const std::vector<Frame> asked{view_change(0, 0, 2), view_change(2, 0, 2), view_change(3, 5, 2)};
  std::vector<ByteView> frames;
  for (const Frame& frame : asked)
    frames.emplace_back(*frame);
  CHECK(backup.feed(encode_new_view(2, frames, ring(2))));
  CHECK(backup.replica.status().view == 0);
  CHECK(backup.dropped(DropReason::malformed) == 0);
  // It does, when the messages cannot make a view.
  backup.now += seconds(1);
  frames[2] = frames[1];
  CHECK(backup.feed(encode_new_view(2, frames, ring(2))));
  CHECK(backup.dropped(DropReason::malformed) == 1);
}

TEST_CASE("A replica believes no view-change message of its own earlier life") {
  Subject backup(1, every_batch(), without_memory());
  for (const NodeId peer : {0u, 2u, 3u})
    backup.feed(pledge(peer, 7000, 1));
  REQUIRE(backup.replica.status().silent_until == 1 + 4);
  const std::vector<Frame> old_ones{view_change(1, 3, 2), view_change(2, 0, 2),
                                    view_change(3, 0, 2)};
  std::vector<ByteView> frames(old_ones.size());
  std::transform(old_ones.begin(), old_ones.end(), frames.begin(),
                 [](const Frame& frame) { return ByteView(*frame); });
  backup.feed(encode_new_view(2, frames, ring(2)));
  CHECK(backup.replica.status().view == 0);
}

TEST_CASE("A replica forgets nothing of its votes when its base lags behind them") {
  ReplicaSettings settings = every_batch();
  settings.retained_batches = 0;
  Subject before(1, settings);
  before.answers_flushes = false;
  for (std::uint64_t sequence = 1; sequence <= 6; ++sequence) {
    before.order(sequence, {request(sequence)});
    if (before.actions.executions.empty()) continue;
    before.executed(before.actions.executions[0].id, "result");
    const auto claim = claim_of(before);
    for (const NodeId peer : {0u, 2u})
      before.feed(checkpoint(peer, claim, claim.service));
  }
  const std::uint64_t stable = before.replica.status().last_stable;
  const Proposal proposal = pre_prepare(stable + 1, {request(100)});
  before.feed(proposal.frame);
  before.feed(prepare(2, stable + 1, proposal.batch));
  Subject backup(1, settings, before.restarted());
  backup.feed(retransmitted(request(101)));
  backup.tick(seconds(5));
  const auto asks = decode_view_change(*sent_by(backup, MessageType::view_change), kReplicas);
  REQUIRE(asks);
  CHECK(asks->stable == stable);
  CHECK(asks->prepared == std::vector{BatchRecord{stable + 1, 0, proposal.batch}});
}

TEST_CASE("What a transfer has passed over is no decision of this replica's") {
  // It has pre-prepared a batch that the group did not agree on, or even executed it ahead.
  const bool is_ahead = GENERATE(false, true);
  ReplicaSettings settings = every_batch();
  settings.tentative_execution = is_ahead;
  Subject backup(1, settings);
  const Proposal passed_over = pre_prepare(1, {request(1)});
  backup.feed(passed_over.frame);
  if (is_ahead) {
    backup.feed(prepare(2, 1, passed_over.batch));
    REQUIRE(backup.actions.executions.size() == 1);
    backup.executed(backup.actions.executions[0].id, "in vain");
  }
  MemoryPartStore theirs;
  Subject other(1, every_batch());
  other.order(1, {request(7)});
  other.executed(other.actions.executions.at(0).id, "result");
  const auto claim = claim_of(other);
  for (const NodeId peer : {0u, 2u, 3u})
    backup.feed(checkpoint(peer, claim, claim.service));
  backup.now += seconds(1);
  for (int round = 0; round < 20 && backup.replica.status().last_executed == 0; ++round) {
    backup.tick(milliseconds(100));
    for (const auto& [digest, part] : other.parts.all())
      backup.feed(encode_part_message(part, ring(2)));
  }
  REQUIRE(backup.replica.status().last_executed == 1);
  StatusMessage status;
  status.counter = 9;
  status.first_retained = 1;
  backup.now += seconds(1);
  backup.feed(encode_status(status, ring(3)));
  CHECK(backup.sent(MessageType::decision) == 0);
}

TEST_CASE("A primary that has lost its memory is replaced at once") {
  Subject backup(2);
  backup.order(1, {request(1)});
  backup.feed(encode_rejoin(6, ring(0)));
  CHECK(backup.replica.status().view == 1);
  CHECK(backup.replica.status().view_change_cause == ViewChangeCause::primary_rejoins);
}

TEST_CASE("A peer that waits for a checkpoint is carried there by batches without requests") {
  Subject primary(0, every_batch());
  StatusMessage status;
  status.counter = 1;
  status.first_retained = 1;
  status.silent_until = 4;
  primary.feed(encode_status(status, ring(3)));
  CHECK(primary.sent(MessageType::pre_prepare) > 0);
  const auto proposal = decode_pre_prepare(*sent_by(primary, MessageType::pre_prepare), kReplicas);
  REQUIRE(proposal);
  CHECK(proposal->requests.empty());
}

TEST_CASE("A peer that says in between that it waits for nothing is helped again, after a while") {
  ReplicaSettings settings = every_batch();
  settings.batches_in_flight_max = settings.partial_batches_in_flight_max = 1;
  Subject primary(0, settings);
  std::uint64_t counter = 0;
  const auto proposals = [&](std::uint64_t silent_until) {
    StatusMessage status;
    status.counter = ++counter;
    status.first_retained = 1;
    status.silent_until = silent_until;
    primary.actions.clear();
    primary.feed(encode_status(status, ring(3)));
    return primary.sent(MessageType::pre_prepare) / (kReplicas - 1);
  };
  REQUIRE(proposals(4) == 1);
  const auto first = decode_pre_prepare(*sent_by(primary, MessageType::pre_prepare), kReplicas);
  Sha256 chain;  // of no requests
  append_to_batch(chain, first->input);
  const Digest batch = chain.finish();
  CHECK(proposals(0) == 0);
  for (const NodeId peer : {1u, 2u})
    primary.feed(prepare(peer, 1, batch));
  for (const NodeId peer : {1u, 2u})
    primary.feed(commit(peer, 1, batch));
  REQUIRE(primary.replica.status().last_executed == 1);
  CHECK(proposals(4) == 0);
  primary.now += seconds(2);
  CHECK(proposals(4) == 1);
}

TEST_CASE("Outside the order a replica answers nothing older than what it has executed before") {
  Subject before(1, every_batch());
  execute_one(before);
  Subject backup(1, every_batch(), before.restarted());
  backup.feed(request(1, "read", true, 0, 1));
  REQUIRE(backup.sent(MessageType::reply) == 1);
  CHECK(decode_reply(*sent_by(backup, MessageType::reply))->status == ReplyStatus::unavailable);
}

}  // namespace prophecy::pbft::test
