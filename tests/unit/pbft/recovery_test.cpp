// What a replica says after a crash, and when its state is not the group's.
#include "pbft/wire/recovery.hpp"

#include <set>

#include <catch2/catch.hpp>

#include "base/codec.hpp"
#include "pbft/core/recovery/state_verdict.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/every_batch.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft::test {
namespace {

// As the others say when they have the same, but for the service's state.
// Likewise; its checkpoint is stable, and what a restart begins from.
CheckpointMessage execute_one_and_keep(Subject& backup) {
  const auto claim = execute_one(backup);
  backup.now += seconds(2);
  for (const NodeId peer : {0u, 2u})
    backup.feed(checkpoint(peer, claim, claim.service));
  REQUIRE(backup.replica.status().base == 1);
  return claim;
}

// A disk that loses pinned parts without a word.
class LosingStore final : public PartStore {
 public:
  explicit LosingStore(const MemoryPartStore& begun) {
    for (const auto& [digest, part] : begun.all())
      REQUIRE(parts_.keep(digest, part));
  }
  void lose(const Digest& digest) { lost_.insert(digest); }

  [[nodiscard]] bool holds(const Digest& digest) const override {
    return !lost_.contains(digest) && parts_.holds(digest);
  }
  [[nodiscard]] bool is_pinned(const Digest& digest) const override {
    return parts_.is_pinned(digest);
  }
  [[nodiscard]] std::optional<Bytes> read(const Digest& digest) const override {
    return holds(digest) ? parts_.read(digest) : std::nullopt;
  }
  [[nodiscard]] bool keep(const Digest& digest, ByteView part) override {
    lost_.erase(digest);
    return parts_.keep(digest, part);
  }
  void discard(const Digest& digest) override { parts_.discard(digest); }
  [[nodiscard]] bool pin(const Digest& root) override { return parts_.pin(root); }
  void unpin(const Digest& root) override { parts_.unpin(root); }
  void let_go(const Digest& root) override { parts_.let_go(root); }

 private:
  MemoryPartStore parts_;
  std::set<Digest> lost_;
};

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
  SECTION("a silence that ends behind the greatest number") {
    const auto be_silent_until = [&](std::uint64_t sequence) {
      Bytes bytes;
      Writer(bytes).integer(sequence);
      std::copy(bytes.begin(), bytes.end(), record_of(disk, 'm').begin() + 16);
    };
    be_silent_until(kSequenceMax);
    CHECK(is_believed(disk));
    be_silent_until(Context::kAsking);
    CHECK(is_believed(disk));
    be_silent_until(kSequenceMax + 1);
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
    backup.replica.on_frame(*sealed_for(1, checkpoint(peer, claim, right)), backup.now,
                            backup.actions);
  // The claim of the last one may still come, and decide. Its own, which comes back to it, does
  // not.
  backup.replica.on_frame(*sealed_for(1, checkpoint(1, claim, claim.service)), backup.now,
                          backup.actions);
  CHECK(backup.replica.counters().state_divergences == 0);
  if (GENERATE(false, true)) {
    backup.replica.on_frame(*sealed_for(1, checkpoint(3, claim, sha256(as_bytes("a lie")))),
                            backup.now, backup.actions);
  } else {
    backup.now += milliseconds(300);
    backup.replica.on_tick(backup.now, backup.actions);
  }
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

TEST_CASE("A state that f+1 claim is not given up for another that f+1 claim") {
  Subject backup(1, every_batch());
  const auto claim = execute_one(backup);
  // One has another state, as honest origins may; a faulty one says that it has the same.
  const Digest another = sha256(as_bytes("another state"));
  backup.feed(checkpoint(2, claim, another));
  backup.feed(checkpoint(3, claim, another));
  REQUIRE(backup.replica.status().last_stable == 1);
  // A batch later, the claim comes that decides.
  backup.order(2, {request(2)});
  backup.executed(backup.actions.executions.at(0).id, "result");
  CHECK(backup.sent(MessageType::reply) == 1);
  const auto next = own_claim(backup);
  for (const NodeId peer : {0u, 2u})
    backup.feed(checkpoint(peer, next, next.service));
  REQUIRE(backup.replica.status().last_stable == 2);
  backup.feed(checkpoint(0, claim, claim.service));
  backup.tick(seconds(1));
  CHECK(backup.replica.counters().state_divergences == 0);
  CHECK(backup.replica.status().recovery == RecoveryState::none);
}

TEST_CASE("Claims that come while those of an earlier checkpoint are awaited are not lost") {
  Checkpoints checkpoints(QuorumRule::standard(2), 16);
  const auto claim_at = [](std::uint64_t sequence, std::uint8_t service) {
    return CheckpointClaim{sequence, Digest{9}, Digest{9}, Digest{service}};
  };
  const auto frame = std::make_shared<const Bytes>();
  // Certified, and proven: no repair, for which it takes four others.
  const auto make_stable = [&](std::uint64_t sequence) {
    for (const NodeId peer : {2u, 3u, 4u, 5u})
      static_cast<void>(checkpoints.record(peer, claim_at(sequence, peer == 5 ? 3 : 2), frame));
    CHECK(checkpoints.record(1, claim_at(sequence, 1), frame) == Checkpoints::Outcome::stable);
  };
  checkpoints.keep_own(claim_at(1, 1), frame);
  make_stable(1);
  CHECK_FALSE(checkpoints.concerns(1));
  checkpoints.watch(1);
  checkpoints.keep_own(claim_at(2, 1), frame);
  make_stable(2);
  CHECK(checkpoints.concerns(2));
  checkpoints.end_watch();
  CHECK_FALSE(checkpoints.concerns(2));
  // Nor those that come before its own.
  make_stable(3);
  CHECK(checkpoints.concerns(3));
}

TEST_CASE("A checkpoint becomes stable however far ahead others are within the window") {
  ReplicaSettings settings;
  settings.window = 8192;
  Checkpoints checkpoints(QuorumRule::standard(1), settings.claims_kept());
  const std::uint64_t first = settings.checkpoint_interval;
  const auto claim_at = [](std::uint64_t sequence) {
    return CheckpointClaim{sequence, Digest{9}, Digest{9}, Digest{9}};
  };
  const auto frame = std::make_shared<const Bytes>();
  const auto first_own = std::make_shared<const Bytes>();
  for (std::uint64_t sequence = first; sequence <= settings.window; sequence += first) {
    checkpoints.keep_own(claim_at(sequence), sequence == first ? first_own : frame);
    for (const NodeId replica : {0u, 2u})
      CHECK(checkpoints.record(replica, claim_at(sequence), frame) == Checkpoints::Outcome::added);
  }
  // A replica that lags may lack this replica's claim.
  std::vector<Frame> told;
  checkpoints.frames_above(0, told);
  CHECK(std::count(told.begin(), told.end(), first_own) == 1);
  for (std::uint64_t sequence = first; sequence <= settings.window; sequence += first)
    CHECK(checkpoints.record(1, claim_at(sequence), frame) == Checkpoints::Outcome::stable);
}

TEST_CASE("A replica whose state is found wrong answers until it has another one") {
  Subject backup(1, every_batch());
  const auto claim = execute_one(backup);
  MemoryPartStore theirs;
  const Digest right = service_state(theirs, "the group's state");
  for (const NodeId peer : {0u, 2u})
    backup.feed(checkpoint(peer, claim, right));
  backup.tick(milliseconds(300));
  REQUIRE(backup.replica.status().recovery == RecoveryState::fetching);
  backup.order(2, {request(2)});
  backup.executed(backup.actions.executions.at(0).id, "result");
  const Frame answer = sent_by(backup, MessageType::reply);
  REQUIRE(answer != nullptr);
  CHECK(decode_reply(*answer)->status == ReplyStatus::done);
  CHECK(own_claim(backup).service != Digest{});
  backup.feed(encode_part_message(*theirs.read(right), ring(0)));
  CHECK(backup.replica.counters().states_restored == 1);
}

TEST_CASE(
    "A replica that is restarted with a wrong state finds that out without a new checkpoint") {
  Subject before(1, every_batch());
  const auto claim = execute_one(before);
  MemoryPartStore theirs;
  const Digest right = service_state(theirs, "the group's state");
  before.now += seconds(2);
  for (const NodeId peer : {0u, 2u})
    before.feed(checkpoint(peer, claim, right));
  REQUIRE(before.replica.status().base == 1);
  MemoryPartStore parts;
  for (const auto& [digest, part] : before.parts.all())
    REQUIRE(parts.keep(digest, part));
  GivenInputs inputs;
  Replica replica(every_batch(), ring(1), parts, inputs);
  ReplicaActions actions;
  REQUIRE(replica.start(before.restarted(), TimePoint{}, actions));
  REQUIRE(actions.restore);
  replica.on_restored(true, TimePoint{}, actions);
  CHECK(replica.status().recovery == RecoveryState::none);
  actions.clear();
  replica.on_tick(TimePoint{} + milliseconds(300), actions);
  CHECK(replica.counters().state_divergences == 1);
  CHECK(replica.status().recovery == RecoveryState::fetching);
}

TEST_CASE("Sessions that the disk has lost are fetched, though the service has its state") {
  Subject before(1, every_batch());
  const auto claim = execute_one_and_keep(before);
  LosingStore parts(before.parts);
  GivenInputs inputs;
  Replica replica(every_batch(), ring(1), parts, inputs);
  ReplicaActions actions;
  REQUIRE(replica.start(before.restarted(), TimePoint{}, actions));
  REQUIRE(actions.restore);
  const Digest lost = GENERATE_COPY(claim.order, claim.replies);
  parts.lose(lost);
  actions.clear();
  replica.on_restored(true, TimePoint{}, actions);
  // The same parts are not tried again at once.
  CHECK_FALSE(actions.restore);
  CHECK(replica.counters().restores_failed == 1);
  TimePoint now{};
  while (count_sent(actions.sends, MessageType::fetch_parts) == 0 &&
         now < TimePoint{} + seconds(2)) {
    now += milliseconds(100);
    replica.on_tick(now, actions);
  }
  const auto asks = std::find_if(actions.sends.begin(), actions.sends.end(), [](const auto& sent) {
    return peek_header(*sent.frame)->type == MessageType::fetch_parts;
  });
  REQUIRE(asks != actions.sends.end());
  CHECK(decode_fetch_parts(*asks->frame, kReplicas)->parts == std::vector{lost});
  actions.clear();
  replica.on_frame(*encode_part_message(*before.parts.read(lost), ring(0)), now, actions);
  REQUIRE(actions.restore);
  replica.on_restored(true, now, actions);
  CHECK(replica.status().recovery == RecoveryState::none);
  CHECK(replica.status().last_executed == 1);
}

TEST_CASE("A checkpoint of which no f+1 have one state is counted") {
  Subject backup(1, every_batch());
  const auto claim = execute_one(backup);
  backup.feed(checkpoint(0, claim, sha256(as_bytes("one"))));
  backup.feed(checkpoint(2, claim, sha256(as_bytes("two"))));
  CHECK(backup.replica.counters().states_uncertified == 0);
  backup.feed(checkpoint(3, claim, sha256(as_bytes("three"))));
  CHECK(backup.replica.counters().states_uncertified == 1);
  CHECK(backup.replica.status().recovery == RecoveryState::none);
}

TEST_CASE("With f of 2, four others replace the state of a running replica, and three do not") {
  const QuorumRule quorum = QuorumRule::standard(2);
  const auto digest = [](std::uint8_t value) { return Digest{value}; };
  Checkpoints::Watched claims{{1, digest(9), digest(9), digest(1)}, {}, 0};
  claims.others.resize(7);
  const auto claim = [&](NodeId peer, std::uint8_t service) {
    claims.others[peer] = CheckpointClaim{1, digest(9), digest(9), digest(service)};
  };
  for (const NodeId peer : {1u, 2u, 3u})
    claim(peer, 2);
  claim(4, 3);
  CHECK(state_verdict(claims, false, quorum) == StateVerdict::open);
  CHECK(state_verdict(claims, true, quorum) == StateVerdict::outvoted);
  claim(5, 2);
  CHECK(state_verdict(claims, false, quorum) == StateVerdict::open);
  CHECK(state_verdict(claims, true, quorum) == StateVerdict::wrong);
  claim(6, 1);
  CHECK(state_verdict(claims, false, quorum) == StateVerdict::wrong);
  claim(4, 1);
  CHECK(state_verdict(claims, false, quorum) == StateVerdict::right);
  claims.own.service = {};
  CHECK(state_verdict(claims, false, quorum) == StateVerdict::unstated);
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

TEST_CASE("Checkpoints without a state of the service leave no parts behind") {
  Subject backup(1, every_batch());
  execute_one_and_keep(backup);
  backup.actions.clear();
  backup.replica.on_service_state(true, backup.now, backup.actions);
  const std::size_t before = backup.parts.parts();
  for (std::uint64_t sequence = 2; sequence < 50; ++sequence) {
    backup.order(sequence, {request(sequence)});
    backup.executed(backup.actions.executions.at(0).id, "result");
    const auto claim = own_claim(backup);
    for (const NodeId peer : {0u, 2u})
      backup.feed(checkpoint(peer, claim, sha256(as_bytes("theirs"))));
    REQUIRE(backup.replica.status().last_stable == sequence);
    CHECK(backup.parts.parts() <= before + 12);
  }
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
    const auto claim = own_claim(before);
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

TEST_CASE("A restarted replica has room for every batch behind its base") {
  // The ring is no longer than that, and nobody has a later state when all were switched off.
  ReplicaSettings settings = every_batch();
  settings.retained_batches = 0;
  Subject before(1, settings);
  before.answers_flushes = false;
  std::uint64_t executed = 0;
  for (std::uint64_t sequence = 1; sequence <= 6; ++sequence) {
    before.order(sequence, {request(sequence)});
    if (before.actions.executions.empty()) continue;
    before.executed(before.actions.executions[0].id, "result");
    executed = sequence;
    const auto claim = own_claim(before);
    for (const NodeId peer : {0u, 2u})
      before.feed(checkpoint(peer, claim, claim.service));
  }
  REQUIRE(executed > settings.window);
  REQUIRE(before.replica.status().base == 0);
  Subject backup(1, settings, before.restarted());
  for (std::uint64_t sequence = 1; sequence <= executed; ++sequence) {
    REQUIRE(backup.actions.executions.size() == 1);
    CHECK(backup.actions.executions[0].sigma >> 16 == sequence);
    backup.executed(backup.actions.executions[0].id, "result");
  }
  CHECK(backup.replica.status().last_executed == executed);
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
  const auto claim = own_claim(other);
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

TEST_CASE("Outside the order a replica answers nothing older than what it has executed before") {
  Subject before(1, every_batch());
  execute_one(before);
  Subject backup(1, every_batch(), before.restarted());
  backup.feed(request(1, "read", true, 0, 1));
  REQUIRE(backup.sent(MessageType::reply) == 1);
  CHECK(decode_reply(*sent_by(backup, MessageType::reply))->status == ReplyStatus::unavailable);
}

}  // namespace prophecy::pbft::test
