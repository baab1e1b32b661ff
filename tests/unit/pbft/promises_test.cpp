// What a replica says of a batch in the set Q, and the batch's content, are one record in the log,
// and one in the journal: at no time is one there without the other. Drawn by a seed, against any
// order of what views, faulty primaries and checkpoints do.
#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "pbft/core/state/journal.hpp"
#include "pbft/core/state/log.hpp"
#include "pbft/group.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr std::uint64_t kSpan = 8;

struct Record {
  explicit Record(std::uint32_t seed) : random(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random() % bound; }

  void propose() {
    const std::uint64_t sequence = stable + 1 + below(kSpan / 2);
    // Some come again in a later view, as a new view carries them.
    const std::uint64_t which = below(2) == 0 ? below(4) : view;
    const Proposal proposal = pre_prepare(sequence, {request(1 + which)}, view, primary());
    Slot& slot = log.open(sequence);
    log.note_proposal(slot, proposal.batch, view, proposal.frame, {});
    journal.proposed(sequence, proposal.batch, view, proposal.frame, out);
    if (below(4) == 0) {
      slot.prepared = PreparedRecord{view, proposal.batch};
      journal.prepared(sequence, *slot.prepared, out);
    }
    if (below(3) != 0) return;
    slot.phase = SlotPhase::pre_prepared;
    slot.batch = proposal.batch;
    log.set_pre_prepare(slot, proposal.frame, {});
  }
  void enter_view() {
    view += 1 + below(3);
    journal.view(view, false, out);
    log.enter_view(stable, stable);
    log.shelve(view, below(2000));
  }
  // A base on the disk, which both begin from then.
  void take_base() {
    if (below(4) != 0) return;
    stable += 1 + below(2);
    log.note_stable(stable);
    log.release_below(stable + 1);
    std::vector<Checkpoints::SignedClaim> certificate;
    for (const NodeId from : {0U, 1U, 2U}) {
      certificate.push_back(
          {from, {stable, {}, {}, {}}, encode_checkpoint(stable, {}, {}, {}, ring(from))});
    }
    checkpoints.adopt(std::move(certificate));
    journal.stable(checkpoints, out);
    journal.base({stable, {}, {}, {}}, out);
  }
  void step() {
    switch (below(8)) {
      case 0:
        enter_view();
        break;
      case 1:
        take_base();
        break;
      default:
        propose();
        break;
    }
    for (const DurableWrite& write : std::exchange(out.writes, {})) {
      if (write.value == nullptr) {
        disk.erase(write.key);
      } else {
        disk[write.key] = *write.value;
      }
    }
  }
  [[nodiscard]] NodeId primary() const { return primary_of(view, kReplicas); }
  // In the log as in the record on the disk.
  // Empty when all is there.
  [[nodiscard]] std::string missing() const {
    for (std::uint64_t sequence = stable + 1; sequence <= stable + kSpan; ++sequence) {
      const Slot* slot = log.find(sequence);
      if (slot == nullptr) continue;
      for (const auto& proposal : slot->proposals) {
        if (log.content_of(*slot, proposal.batch) == nullptr) return "content in the log";
      }
      const bool is_reported =
          !slot->prepared ||
          std::any_of(slot->proposals.begin(), slot->proposals.end(),
                      [&](const auto& one) { return one.batch == slot->prepared->batch; });
      if (!is_reported) return "prepared batch in the log";
    }
    // As if it had been restarted on its way to the next view.
    Journal next(true);
    ReplicaActions leaving;
    next.view(view + 1, true, leaving);
    std::map<Bytes, Bytes> stored = disk;
    stored[leaving.writes[0].key] = *leaving.writes[0].value;
    const auto remembered = read_journal({stored.begin(), stored.end()}, kReplicas);
    if (!remembered) return "journal";
    for (const Remembered::Proposed& proposed : remembered->proposed) {
      if (content_of(*remembered, proposed.sequence, proposed.batch) == nullptr) {
        return "content in the journal";
      }
    }
    for (const Remembered::Prepared& prepared : remembered->prepared) {
      if (content_of(*remembered, prepared.sequence, prepared.record.batch) == nullptr) {
        return "content of a prepared batch in the journal";
      }
    }
    return "";
  }

  std::minstd_rand random;
  MemoryPartStore parts;
  Log log{kSpan, kReplicas, 0, parts};
  Journal journal{true};
  Checkpoints checkpoints{QuorumRule::standard(1), 16};
  ReplicaActions out;
  std::map<Bytes, Bytes> disk;
  std::uint64_t view = 0;
  std::uint64_t stable = 0;
};

}  // namespace

TEST_CASE("What a replica reports as pre-prepared it can hand out, whatever came after it") {
  const auto seed = GENERATE(range(1U, 9U));
  CAPTURE(seed);
  Record record(seed);
  record.journal.view(0, false, record.out);
  for (int step = 0; step < 700; ++step) {
    record.step();
    if (step % 7 == 0) REQUIRE(record.missing() == "");
  }
  REQUIRE(record.view > kProposalsMax);
  record.log.release_below(record.stable + kSpan + 1);
  CHECK(record.log.bytes() == 0);
  CHECK(record.parts.parts() == 0);
}

TEST_CASE("A store that has a base behind a batch has promised something; a new one has not") {
  const auto has_promised = [](std::uint64_t sequence) {
    Remembered remembered;
    remembered.base.emplace();
    remembered.base->sequence = sequence;
    Journal journal(true);
    journal.resume(remembered);
    return journal.has_promised();
  };
  CHECK_FALSE(has_promised(0));
  CHECK(has_promised(1));
}

}  // namespace prophecy::pbft::test
