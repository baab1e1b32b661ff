// The start of a replica: with what it remembers, or with nothing.
#include <algorithm>
#include <utility>

#include "pbft/core/replica_machine.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"

namespace prophecy::pbft {

bool Replica::Machine::start(const ReplicaStart& start, ReplicaActions& out) {
  const auto remembered = read_journal(start.records, context.quorum.replicas);
  context.journal = Journal(start.memory != ReplicaStart::Memory::not_kept);
  const bool is_whole = remembered && start.memory == ReplicaStart::Memory::whole;
  if (is_whole) {
    context.membership = remembered->membership;
    context.journal.resume(*remembered);
    for (const auto& [peer, rebirth] : remembered->rebirths) {
      if (peer >= context.quorum.replicas) continue;
      context.rebirths[peer] = rebirth;
      checkpoints.begin_life(peer, rebirth.incarnation);
      retransmission.note_pledge(peer);
    }
  }
  Membership& membership = context.membership;
  // Peers reject an incarnation that a wrong clock has put too far ahead. While this replica still
  // asks for pledges, nothing depends on the one that it has.
  const bool is_useless = context.is_asking() && rejoin.is_too_far_ahead(membership.incarnation);
  if (membership.incarnation == 0 || is_useless) membership.incarnation = start.wall_clock;
  // 32 bits of seconds; the rest of a Status's counter counts within one start.
  membership.boot = std::max(membership.boot + 1, start.wall_clock / 1000 & 0xffffffff);
  context.journal.membership(membership, out);
  if (is_whole) {
    bodies.read_at_once(true);
    resume(*remembered, out);
    bodies.read_at_once(false);
  }
  if (!is_whole || context.is_asking()) {
    execution.on_service_lost();
    rejoin.begin(out);
  } else if (membership.state_lost) {
    execution.on_service_lost();
  } else if (!recovery.has_base()) {
    execution.begin_at_zero(out);
  }
  if (context.is_silent() && !context.is_asking()) rejoin.go_on();
  return remembered.has_value();
}

// First where it was, then what it said there, then the state.
void Replica::Machine::resume(const Remembered& remembered, ReplicaActions& out) {
  std::vector<Checkpoints::SignedClaim> certificate;
  for (const Frame& frame : remembered.certificate) {
    const auto claim = decode_checkpoint(*frame);
    if (!claim) continue;
    certificate.push_back({claim->replica, checkpoints.claimed_by(*claim), frame});
  }
  if (!certificate.empty()) checkpoints.adopt(std::move(certificate));
  review_certificate();
  // No vote is forgotten, with a base or without. Votes reach to the window behind the stable
  // checkpoint, but for a disk that refused no further than the ring does from the base. So a group
  // that was switched off as a whole has room for all batches behind its base, and need not find a
  // state that nobody has. Where the record goes further, what lies in between comes as a state.
  const std::uint64_t begin = remembered.base ? remembered.base->sequence : 0;
  std::uint64_t reach = checkpoints.stable_sequence() + context.settings.window;
  if (remembered.base || !context.membership.state_lost) {
    reach = std::min(reach, begin + log.capacity());
  }
  context.resumed_to = context.journal.last();
  const std::uint64_t votes_end = std::max(reach, context.resumed_to) + 1;
  const std::uint64_t first = votes_end - std::min(votes_end, log.capacity());
  log.release_below(std::max(begin + 1, first));
  context.progress.last_proposed = begin;
  for (const Remembered::Proposed& proposed : remembered.proposed) {
    if (!log.reaches(proposed.sequence)) continue;
    const Frame content = content_of(remembered, proposed.sequence, proposed.batch);
    log.note_proposal(log.open(proposed.sequence), proposed.batch, proposed.view, content,
                      bodies.of_batch(content));
  }
  for (const Remembered::Prepared& prepared : remembered.prepared) {
    if (log.reaches(prepared.sequence)) log.open(prepared.sequence).prepared = prepared.record;
  }
  // What is stable or prepared may have been executed, and what was decided elsewhere has been.
  context.reads_from =
      context.membership.silent_until == Context::kAsking ? 0 : context.membership.silent_until;
  context.reads_from = std::max(context.reads_from, checkpoints.stable_sequence());
  for (const Remembered::Prepared& prepared : remembered.prepared)
    context.reads_from = std::max(context.reads_from, prepared.sequence);
  if (!remembered.decided.empty()) {
    context.reads_from = std::max(context.reads_from, remembered.decided.rbegin()->first);
  }
  view_changer.resume(remembered, out);
  review_certificate();
  agreement.resume(remembered, out);
  if (!remembered.base) return;
  if (remembered.base->service == Digest{} || !snapshots.add(*remembered.base)) {
    // The service could not tell its state, or the disk has lost parts of it. The group has one, or
    // an operator has the present one adopted. For that it matters whose requests were executed.
    CheckpointClaim untold = *remembered.base;
    untold.service = {};
    if (!snapshots.add(untold)) ++context.counters.snapshots_failed;
    execution.on_service_lost();
    recovery.resume_from(*remembered.base);
    return;
  }
  recovery.resume_from(*remembered.base);
  execution.begin_restore(*remembered.base);
  const CheckpointClaim& base = *remembered.base;
  if (base.sequence == 0 || base.sequence != checkpoints.stable_sequence()) return;
  // It is compared once more with what the others claim there: it may never have been, and no other
  // checkpoint need come soon.
  checkpoints.keep_own(
      base, encode_checkpoint(base.sequence, base.order, base.replies, base.service, context.keys,
                              context.membership.incarnation));
}

// The group's file may list other keys than when it was written.
void Replica::Machine::review_certificate() {
  checkpoints.review([&](const Checkpoints::SignedClaim& claim) {
    const auto message = decode_checkpoint(*claim.frame);
    return message && context.keys.verify_signature(message->replica, sha256(message->content),
                                                    message->signature);
  });
}

}  // namespace prophecy::pbft
