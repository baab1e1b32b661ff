// What is on a replica's disk stays bounded, also when no newer state to begin from can be put
// there.
#include "pbft/core/recovery/restart_base.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "pbft/group.hpp"
#include "pbft/wire/recovery.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr std::uint64_t kWindow = 4;
constexpr std::uint64_t kCapacity = 8;  // of a log for it, without batches that are retained

ReplicaSettings retaining_nothing() {
  ReplicaSettings settings;
  settings.checkpoint_interval = 1;
  settings.window = kWindow;
  settings.retained_batches = 0;
  return settings;
}

Frame first_sent(const Subject& subject, MessageType type) {
  const auto& sends = subject.actions.sends;
  const auto found = std::find_if(sends.begin(), sends.end(), [&](const Outgoing& outgoing) {
    return peek_header(*outgoing.frame)->type == type;
  });
  REQUIRE(found != sends.end());
  return found->frame;
}

// Backup 1, whose disk does not answer, or refuses.
struct WithoutDisk : Subject {
  WithoutDisk() : Subject(1, retaining_nothing()) { answers_flushes = false; }

  // A whole batch, up to its stable checkpoint; false when it is not taken up.
  bool execute(std::uint64_t sequence) {
    now += milliseconds(10);
    order(sequence, {request(sequence)});
    if (actions.executions.empty()) return false;
    executed(actions.executions[0].id, "result");
    const Frame frame = first_sent(*this, MessageType::checkpoint);
    CheckpointMessage said = *decode_checkpoint(*frame);
    if (theirs) said.service = *theirs;
    for (const NodeId other : {0u, 2u}) {
      feed(encode_checkpoint(said.sequence, said.order, said.replies, said.service, ring(other)));
      if (actions.flush_parts) asked = true;
    }
    REQUIRE(replica.status().last_stable == sequence);
    return true;
  }
  void refuse() {
    REQUIRE(asked);
    asked = false;
    actions.clear();
    replica.on_parts_flushed(false, now, actions);
    answer();
  }
  [[nodiscard]] std::uint64_t numbers_on_disk() const {
    std::set<Bytes> numbers;
    for (const auto& [key, value] : disk) {
      if (key.size() >= 9) numbers.emplace(key.begin() + 1, key.begin() + 9);
    }
    return numbers.size();
  }

  bool asked = false;
  std::optional<Digest> theirs;  // the state that the others claim, if it is not this replica's
};

}  // namespace

TEST_CASE("A group goes no further than its disks can follow") {
  WithoutDisk backup;
  std::uint64_t sequence = 1;
  while (sequence < 100 && backup.execute(sequence))
    ++sequence;
  CHECK(sequence == kCapacity + 1);
  CHECK(backup.dropped(DropReason::outside_water_marks) > 0);

  backup.actions.clear();
  backup.replica.on_parts_flushed(true, backup.now, backup.actions);
  backup.answer();
  CHECK(backup.execute(sequence));
}

TEST_CASE("A disk that takes no state holds nobody up, and its record stays bounded") {
  WithoutDisk backup;
  REQUIRE(backup.execute(1));
  backup.refuse();
  std::size_t records_max = 0;
  for (std::uint64_t sequence = 2; sequence <= 500; ++sequence) {
    REQUIRE(backup.execute(sequence));
    CHECK(backup.numbers_on_disk() <= kCapacity);
    records_max = std::max(records_max, backup.disk.size());
    if (backup.asked) backup.refuse();
  }
  CHECK(records_max < 60);

  // Behind the stable checkpoint it has forgotten nothing of what it said.
  backup.feed(pre_prepare(501, {request(501)}).frame);
  REQUIRE(backup.sent(MessageType::prepare) == kReplicas - 1);
  Subject again(1, retaining_nothing(), backup.restarted());
  CHECK(again.replica.status().last_stable == 500);
  again.feed(pre_prepare(501, {request(501, "another")}).frame);
  CHECK(again.sent(MessageType::prepare) == 0);
}

TEST_CASE(
    "A service that is away costs no vote, as long as others prove that they have the state") {
  WithoutDisk backup;
  const bool have_it = GENERATE(true, false);
  backup.theirs = have_it ? sha256(as_bytes("the group's state")) : Digest{};
  REQUIRE(backup.execute(1));
  REQUIRE(backup.asked);
  backup.actions.clear();
  backup.replica.on_parts_flushed(true, backup.now, backup.actions);
  REQUIRE(backup.replica.status().base == 1);
  backup.replica.on_service_state(true, backup.now, backup.actions);
  backup.answer();
  std::uint64_t sequence = 2;
  while (sequence < 100 && backup.execute(sequence)) {
    CHECK(backup.numbers_on_disk() <= kCapacity + 1);
    ++sequence;
  }
  // Where nobody has it, nothing may be ordered that nobody could execute any more.
  CHECK(sequence == (have_it ? 100 : kCapacity + 2));
}

TEST_CASE("A base that was wrong keeps its parts for as long as the disk may name it") {
  Subject backup(1, retaining_nothing());
  backup.state = "a wrong state";
  backup.tick(seconds(2));
  backup.order(1, {request(1)});
  backup.executed(backup.actions.executions.at(0).id, "result");
  const Frame own = first_sent(backup, MessageType::checkpoint);
  const CheckpointMessage claim = *decode_checkpoint(*own);
  MemoryPartStore theirs;
  const Digest right = service_state(theirs, "the group's state");
  for (const NodeId peer : {0u, 2u})
    backup.feed(encode_checkpoint(1, claim.order, claim.replies, right, ring(peer)));
  REQUIRE(read_journal({backup.disk.begin(), backup.disk.end()}, kReplicas)->base->sequence == 1);
  // From here on the disk takes its time: whether it has a record shows when a flush has ended.
  backup.answers_flushes = false;
  backup.tick(milliseconds(300));
  REQUIRE(backup.sent(MessageType::fetch_parts) == 1);
  backup.feed(encode_part_message(*theirs.read(right), ring(0)));
  REQUIRE(backup.restores == 1);
  backup.tick(seconds(2));
  CHECK(backup.parts.holds(claim.service));
  CHECK(backup.parts.holds(right));
  backup.actions.clear();
  backup.replica.on_parts_flushed(true, backup.now, backup.actions);
  backup.answer();
  CHECK_FALSE(backup.parts.holds(claim.service));
  CHECK(backup.parts.holds(right));
}

// It has found its own state wrong at 13, and the one that is to take its place is not on the disk.
TEST_CASE("A replica that is restarted without a base has forgotten none of its votes") {
  Subject before(1, retaining_nothing());
  Frame own;
  for (std::uint64_t sequence = 1; sequence <= 13; ++sequence) {
    if (sequence == 13) before.state = "a wrong state";
    before.tick(seconds(2));
    before.order(sequence, {request(sequence)});
    before.executed(before.actions.executions.at(0).id, "result");
    own = first_sent(before, MessageType::checkpoint);
    const CheckpointMessage claim = *decode_checkpoint(*own);
    if (sequence == 13) break;
    for (const NodeId peer : {0u, 2u})
      before.feed(
          encode_checkpoint(sequence, claim.order, claim.replies, claim.service, ring(peer)));
  }
  const CheckpointMessage claim = *decode_checkpoint(*own);
  MemoryPartStore theirs;
  const Digest right = service_state(theirs, "the group's state");
  for (const NodeId peer : {0u, 2u})
    before.feed(encode_checkpoint(13, claim.order, claim.replies, right, ring(peer)));
  before.answers_flushes = false;
  before.tick(milliseconds(300));
  REQUIRE(before.sent(MessageType::fetch_parts) == 1);
  before.feed(encode_part_message(*theirs.read(right), ring(0)));
  REQUIRE(before.restores == 1);
  const auto batch = pre_prepare(14, {request(14)});
  before.feed(batch.frame);
  REQUIRE(before.sent(MessageType::prepare) == kReplicas - 1);
  before.feed(prepare(2, 14, batch.batch));
  REQUIRE(before.sent(MessageType::commit) == kReplicas - 1);
  REQUIRE_FALSE(read_journal({before.disk.begin(), before.disk.end()}, kReplicas)->base);

  Subject again(1, retaining_nothing(), before.restarted(), before.parts);
  REQUIRE(again.replica.status().last_stable == 13);
  SECTION("for those that another primary asks for") {
    again.feed(request(15));
    for (int i = 0; i < 1000 && again.sent(MessageType::view_change) == 0; ++i)
      again.tick(milliseconds(10));
    const Frame frame = first_sent(again, MessageType::view_change);
    const auto message = decode_view_change(*frame, kReplicas);
    REQUIRE(message);
    REQUIRE(message->prepared.size() == 1);
    CHECK(message->prepared[0].sequence == 14);
    CHECK(message->pre_prepared.size() == 1);
  }
  SECTION("nor votes for another batch") {
    again.tick(seconds(1));
    REQUIRE(again.restores == 1);
    again.feed(pre_prepare(14, {request(14, "another")}).frame);
    CHECK(again.sent(MessageType::prepare) == 0);
  }
}

TEST_CASE("A state that is replaced while it is flushed does not become the base") {
  Subject backup(1, retaining_nothing());
  backup.state = "a wrong state";
  backup.tick(seconds(2));
  backup.answers_flushes = false;
  backup.order(1, {request(1)});
  backup.executed(backup.actions.executions.at(0).id, "result");
  const CheckpointMessage claim = *decode_checkpoint(*first_sent(backup, MessageType::checkpoint));
  MemoryPartStore theirs;
  const Digest right = service_state(theirs, "the group's state");
  for (const NodeId peer : {0u, 2u})
    backup.feed(encode_checkpoint(1, claim.order, claim.replies, right, ring(peer)));
  REQUIRE(backup.actions.flush_parts);
  backup.tick(milliseconds(300));
  REQUIRE(backup.sent(MessageType::fetch_parts) == 1);
  backup.feed(encode_part_message(*theirs.read(right), ring(0)));
  REQUIRE(backup.restores == 1);

  // That which has taken its place is flushed next.
  backup.answers_flushes = true;
  backup.actions.clear();
  backup.replica.on_parts_flushed(true, backup.now, backup.actions);
  backup.answer();
  CHECK_FALSE(backup.parts.holds(claim.service));
  const auto base = read_journal({backup.disk.begin(), backup.disk.end()}, kReplicas)->base;
  REQUIRE(base);
  CHECK(base->sequence == 1);
  CHECK(base->service == right);
}

// Its service was lost, and the others gave other replies, but have the same state.
TEST_CASE("The base's parts stay when another state takes its place at its number") {
  Subject backup(1, retaining_nothing());
  backup.tick(seconds(2));
  backup.order(1, {request(1)});
  backup.executed(backup.actions.executions.at(0).id, "result");
  const CheckpointMessage claim = *decode_checkpoint(*first_sent(backup, MessageType::checkpoint));
  Subject other(1, retaining_nothing());
  other.order(1, {request(1)});
  other.executed(other.actions.executions.at(0).id, "another result");
  const CheckpointMessage theirs = *decode_checkpoint(*first_sent(other, MessageType::checkpoint));
  REQUIRE(theirs.replies != claim.replies);
  for (const NodeId peer : {0u, 2u})
    backup.feed(encode_checkpoint(1, claim.order, theirs.replies, claim.service, ring(peer)));
  const auto on_disk = [&] {
    return *read_journal({backup.disk.begin(), backup.disk.end()}, kReplicas)->base;
  };
  REQUIRE(on_disk().replies == claim.replies);
  // The disk has lost parts of its own state for a while, so that the group's is fetched.
  backup.answers_flushes = false;
  backup.restoring = Subject::Restores::fail;
  backup.replica.on_service_state(true, backup.now, backup.actions);
  backup.replica.on_service_state(false, backup.now, backup.actions);
  backup.tick(milliseconds(1));
  backup.restoring = Subject::Restores::succeed;
  for (int round = 0; round < 50; ++round) {
    backup.tick(milliseconds(100));
    for (const auto& [digest, part] : other.parts.all())
      backup.feed(encode_part_message(part, ring(2)));
  }
  REQUIRE(backup.parts.holds(theirs.replies));
  // The parts that the disk names are there until it names those of the restored state.
  CHECK(on_disk().replies == claim.replies);
  CHECK(backup.parts.holds(claim.replies));
  backup.answers_flushes = true;
  for (int round = 0; round < 5; ++round) {
    backup.actions.clear();
    if (round == 0) backup.replica.on_parts_flushed(true, backup.now, backup.actions);
    backup.answer();
    backup.tick(seconds(2));
  }
  CHECK(on_disk().replies == theirs.replies);
  CHECK(on_disk().service == claim.service);
}

TEST_CASE("A restarted replica votes at once on what is not stable, and else when it is asked") {
  ReplicaSettings settings;
  settings.checkpoint_interval = 4;
  settings.window = 8;
  Subject before(1, settings);
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence)
    before.order(sequence, {request(sequence)});
  // Its service executes none of them.
  for (const NodeId peer : {0u, 2u, 3u})
    before.feed(encode_checkpoint(4, sha256(as_bytes("order")), {}, {}, ring(peer)));
  REQUIRE(before.replica.status().last_stable == 4);
  before.feed(pre_prepare(5, {request(5)}).frame);
  REQUIRE(before.sent(MessageType::prepare) == kReplicas - 1);

  Subject after(1, settings, before.restarted());
  CHECK(after.sent(MessageType::prepare) == kReplicas - 1);
  const Frame vote = first_sent(after, MessageType::prepare);
  CHECK(decode_vote(*vote, MessageType::prepare, kReplicas)->sequence == 5);
  StatusMessage lacking;
  lacking.counter = 1;
  lacking.first_retained = 1;
  after.tick(milliseconds(100));
  after.feed(encode_status(lacking, ring(3)));
  CHECK(after.sent(MessageType::prepare) == 5);
}

TEST_CASE("Of the batches at one number that views have brought the newest are on the disk") {
  constexpr std::uint64_t kViews = 1000;
  Journal journal(true);
  std::map<Bytes, Bytes> disk;
  ReplicaActions out;
  std::vector<Proposal> proposals;
  std::size_t most = 0;
  const auto write = [&] {
    for (const DurableWrite& one : out.writes) {
      if (one.value == nullptr) {
        disk.erase(one.key);
      } else {
        disk[one.key] = *one.value;
      }
    }
    out.clear();
  };
  for (std::uint64_t view = 0; view < kViews; ++view) {
    const Proposal& proposal =
        proposals.emplace_back(pre_prepare(1, {request(view + 1)}, view, primary_of(view, 4)));
    journal.view(view, false, out);
    journal.proposed(1, proposal.batch, view, proposal.frame, out);
    if (view == 3) journal.prepared(1, {view, proposal.batch}, out);
    write();
    most = std::max(most, disk.size());
  }
  CHECK(most == 2 * kProposalsMax + 2);
  CHECK(journal.bytes() == kProposalsMax * proposals[0].frame->size());

  // Votes in a view that it has not entered are none of a replica's.
  CHECK_FALSE(read_journal({disk.begin(), disk.end()}, kReplicas));
  journal.view(kViews, true, out);
  write();
  const auto remembered = read_journal({disk.begin(), disk.end()}, kReplicas);
  REQUIRE(remembered);
  CHECK(remembered->proposed.size() == kProposalsMax);
  CHECK(content_of(*remembered, 1, proposals[3].batch) != nullptr);  // prepared: others may need it
  for (std::uint64_t view = kViews - kProposalsMax + 1; view < kViews; ++view)
    CHECK(content_of(*remembered, 1, proposals[view].batch) != nullptr);
  Journal again(true);
  again.resume(*remembered);
  CHECK(again.bytes() == journal.bytes());
}

}  // namespace prophecy::pbft::test
