#include "consistency/ring.hpp"

#include "base/assert.hpp"
#include "dht/core/handed_numbers.hpp"

namespace prophecy::consistency {
namespace {

using dht::Stage;

constexpr dht::BootTime kLeaseEnd{std::chrono::seconds(4)};

}  // namespace

dht::BootTime SimulatedRing::Member::now() {
  return has_lease ? kLeaseEnd - dht::Span(1) : kLeaseEnd;
}

SimulatedRing::SimulatedRing(const MakeTable& make_table, Numbers numbers,
                             simulation::Random& random, Tally& tally)
    : numbers_(std::move(numbers)), random_(random), tally_(tally) {
  for (auto& member : members_) {
    member = std::make_unique<Member>(make_table());
    member->permissions.extend(kLeaseEnd, kLeaseEnd);
  }
  // Pages that are no registers stay with the first one.
  for (Partition partition = 0; partition < kPartitions; ++partition) {
    members_[0]->permissions.set_owner(partition, {++last_word_, Stage::taken, 0});
    members_[1]->permissions.set_owner(partition, {++last_word_, Stage::elsewhere, 0});
  }
}

void SimulatedRing::add(Register of) {
  parts_.push_back({.of = std::move(of)});
}

void SimulatedRing::set_word(std::size_t member, const Part& part, Stage stage) {
  const auto slot =
      static_cast<dht::MemberSlot>(stage == Stage::elsewhere ? kMembers - 1 - member : member);
  members_[member]->permissions.set_owner(part.of.place.partition, {++last_word_, stage, slot});
}

void SimulatedRing::step() {
  Part& part = parts_[random_.below(parts_.size())];
  if (!part.is_held) {
    // It may come back to a member that has changed its word.
    const bool comes_back = !part.is_unaware[part.owner] && random_.chance(25);
    return take(part, comes_back ? part.owner : kMembers - 1 - part.owner);
  }
  const std::size_t other = kMembers - 1 - part.owner;
  if (part.is_unaware[other] && random_.chance(50)) return adopt(part, other);
  Member& owner = *members_[part.owner];
  if (!owner.has_lease) {
    return random_.chance(60) ? depose(part) : renew(part.owner);
  }
  if (random_.chance(60)) return give(part);
  owner.has_lease = false;
  tally_.add(Met::leases_lost);
}

void SimulatedRing::give(Part& part) {
  set_word(part.owner, part, Stage::elsewhere);
  part.is_held = false;
  part.was_given = true;
}

void SimulatedRing::depose(Part& part) {
  part.is_held = false;
  part.was_given = false;
  part.is_unaware[part.owner] = true;
}

// Then it may renew its lease.
void SimulatedRing::adopt(Part& part, std::size_t member) {
  set_word(member, part, Stage::elsewhere);
  part.is_unaware[member] = false;
}

void SimulatedRing::renew(std::size_t member) {
  for (Part& part : parts_) {
    if (part.is_unaware[member]) adopt(part, member);
  }
  members_[member]->has_lease = true;
}

void SimulatedRing::take(Part& part, std::size_t taker) {
  const std::size_t giver = part.owner;
  Member& member = *members_[taker];
  const bool is_other = taker != part.owner;
  // Who is to take it has adopted the view, which names it, and has a lease by that.
  renew(taker);
  for (const Sketch& key : part.of.keys) {
    const bool is_retained = !is_other || member.table.erase(key) == ChangeOutcome::done;
    ASSERT(is_retained);
  }
  set_word(taker, part, Stage::waiting);
  const Sigma barrier = numbers_.barrier(taker);
  set_word(taker, part, Stage::taken);
  part.owner = taker;
  part.is_held = true;
  tally_.add(Met::partitions_taken);
  if (!is_other || !part.was_given) return;
  if (hand_over_floor(part, giver, member, barrier))
    hand_over_entries(part, giver, member, barrier);
}

Sigma SimulatedRing::number_over(Sigma number, std::size_t giver, Sigma barrier) const {
  if (!numbers_.newest) return number;
  return dht::taken_number(dht::handed_number(number, numbers_.newest(giver)), barrier);
}

bool SimulatedRing::hand_over_floor(const Part& part, std::size_t giver, Member& taker,
                                    Sigma barrier) {
  const Sigma floor = number_over(members_[giver]->floors.at(part.of.place.slot), giver, barrier);
  if (floor > barrier) return false;
  if (floor != 0) taker.floors.raise(part.of.place.slot, floor);
  return true;
}

void SimulatedRing::hand_over_entries(const Part& part, std::size_t giver, Member& taker,
                                      Sigma barrier) {
  for (const Sketch& key : part.of.keys) {
    const auto entry = members_[giver]->table.lookup(key);
    const bool is_of_use = entry && entry->mark == Mark::none && entry->answer != Sketch{};
    if (!is_of_use) continue;
    const Sigma number = number_over(entry->sigma, giver, barrier);
    if (number == 0) continue;
    const HandedOutcome outcome = taker.table.take_handed(
        {table::tag_of(key), entry->answer, table::make_state(number, Room::any)}, barrier);
    if (outcome == HandedOutcome::beyond) return;
    const bool is_taken = outcome == HandedOutcome::taken;
    tally_.add(numbers_.newest ? Met::entries_handed_by_age : Met::entries_handed,
               is_taken ? 1 : 0);
  }
}

void SimulatedRing::settle() {
  for (Part& part : parts_) {
    if (!part.is_held) take(part, kMembers - 1 - part.owner);
  }
  for (std::size_t member = 0; member < kMembers; ++member)
    renew(member);
}

}  // namespace prophecy::consistency
