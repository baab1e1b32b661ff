#include "dht/core/ownership.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "dht/core/mutation.hpp"

namespace prophecy::dht {

using Kind = OwnershipAction::Kind;

Ownership::Ownership(Permissions permissions, Holder self, const ClockBounds& bounds)
    : permissions_(permissions),
      self_(std::move(self)),
      bounds_(bounds),
      parts_(permissions.partitions()) {
  // Where an earlier process has left words, workers may have claims of them: no number comes
  // again.
  for (std::size_t partition = 0; partition < parts_.size(); ++partition)
    last_word_ =
        std::max(last_word_, permissions_.owner(static_cast<Partition>(partition)).number());
  for (std::size_t partition = 0; partition < parts_.size(); ++partition)
    set_word(static_cast<Partition>(partition), Stage::unknown, kNoSlot);
}

void Ownership::set_word(Partition partition, Stage stage, MemberSlot slot) {
  Part& part = parts_[partition];
  part.word = OwnerWord(++last_word_, stage, slot);
  permissions_.set_owner(partition, part.word);
}

void Ownership::adopt(const View& view, BootTime known) {
  if (view.number <= adopted()) return;
  const ViewNumber before = adopted();
  fence_.emplace(view, known, self_, parts_.size(), bounds_);
  is_group_only_allowed_ = view.parameters.group_only > Span{};
  slots_.adopt(view);
  const std::vector<Holder> holders = holders_of(view);
  const Placement placement = place(holders, parts_.size());
  std::vector<Partition> gained;
  std::vector<Partition> given;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto partition = static_cast<Partition>(i);
    Part& part = parts_[i];
    const Holder& owner = holders[placement.owner(partition)];
    const MemberSlot slot = slots_.slot_of(owner.name);
    const bool is_for_us = owner.name == self_.name && owner.instance == self_.instance;
    const bool was_ours = is_ours(part);
    const bool is_retained =
        is_for_us && was_ours &&
        (fence_->was_ours_since(partition, before) || is_mutated(Mutation::retains_across));
    if (is_retained) continue;
    if (was_ours && part.word.stage() == Stage::taken) given.push_back(partition);
    if (is_for_us) {
      gained.push_back(partition);
    } else if (was_ours || part.word.slot() != slot || part.word.stage() != Stage::elsewhere) {
      set_word(partition, Stage::elsewhere, slot);
      if (was_ours) part.ticket = 0;
    }
  }
  take_in(gained);
  permissions_.set_view(view.number);
  std::erase_if(given, [&](Partition partition) { return is_ours(parts_[partition]); });
  if (!given.empty()) {
    const std::uint64_t ticket = ++last_ticket_;
    for (const Partition partition : given) {
      parts_[partition].ticket = ticket;
      parts_[partition].held = before;
    }
    tickets_[ticket] = given;
    actions_.push_back({Kind::quiesce, ticket, std::move(given)});
  }
  note_waits();
}

// Entries that an earlier ownership has left do not count, and no worker may record another one for
// it.
void Ownership::take_in(const std::vector<Partition>& gained) {
  if (gained.empty()) return;
  const std::uint64_t ticket = ++last_ticket_;
  const MemberSlot slot = slots_.slot_of(self_.name);
  for (const Partition partition : gained) {
    set_word(partition, Stage::waiting, slot);
    Part& part = parts_[partition];
    part = {.word = part.word,
            .ticket = ticket,
            .is_cleared = is_mutated(Mutation::leftovers_count),
            .gained = fence_->view()};
    const Holder* last = fence_->last_holder(partition);
    // (An earlier life of our own has left nothing, and who is no member any more cannot be asked.)
    if (last != nullptr && last->name != self_.name && fence_->is_member(*last)) part.giver = *last;
  }
  if (is_mutated(Mutation::leftovers_count)) return;
  tickets_[ticket] = gained;
  actions_.push_back({Kind::clear, ticket, gained});
}

// Few sets, and many partitions that wait for the same one.
std::size_t Ownership::wait_set_of(Partition partition) {
  Fence::FormerHolders holders = fence_->former_holders(partition);
  if (holders && is_mutated(Mutation::fence_one_view)) {
    std::erase_if(*holders,
                  [&](const FormerHolder& holder) { return holder.last + 1 < fence_->view(); });
  }
  const auto found = std::find(wait_sets_.begin(), wait_sets_.end(), holders);
  if (found != wait_sets_.end()) return static_cast<std::size_t>(found - wait_sets_.begin());
  wait_sets_.push_back(std::move(holders));
  return wait_sets_.size() - 1;
}

void Ownership::note_waits() {
  wait_sets_.clear();
  untaken_ = 0;
  deadline_ = BootTime::min();  // progress() finds out
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    if (!is_ours(part) || part.word.stage() == Stage::taken) continue;
    ++untaken_;
    part.waits_for = wait_set_of(static_cast<Partition>(i));
  }
}

void Ownership::progress(BootTime now, const Sightings& sightings) {
  if (!fence_ || untaken_ == 0) {
    deadline_ = BootTime::max();
    return;
  }
  std::vector<BootTime> histories;  // when each set has stopped
  std::vector<BootTime> entirely;
  for (const Fence::FormerHolders& holders : wait_sets_) {
    histories.push_back(fence_->stopped(holders, sightings, false));
    entirely.push_back(fence_->stopped(holders, sightings, true));
    if (is_mutated(Mutation::no_fence)) histories.back() = entirely.back() = BootTime::min();
  }
  deadline_ = BootTime::max();
  std::vector<Partition> stopped;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto partition = static_cast<Partition>(i);
    Part& part = parts_[i];
    const Stage stage = part.word.stage();
    if ((stage != Stage::waiting && stage != Stage::group_only) || part.has_barrier) continue;
    const BootTime history = histories[part.waits_for];
    const BootTime all = entirely[part.waits_for];
    if (all <= now) {
      if (part.is_cleared) stopped.push_back(partition);
      continue;
    }
    deadline_ = std::min(deadline_, all);
    if (!is_group_only_allowed_ || stage != Stage::waiting) continue;
    if (history <= now) {
      set_word(partition, Stage::group_only, part.word.slot());
      part.was_group_only = true;
    } else {
      deadline_ = std::min(deadline_, history);
    }
  }
  if (stopped.empty()) return;
  const std::uint64_t ticket = ++last_ticket_;
  for (const Partition partition : stopped) {
    parts_[partition].has_barrier = true;
    parts_[partition].ticket = ticket;
  }
  tickets_[ticket] = stopped;
  actions_.push_back({Kind::barrier, ticket, std::move(stopped)});
}

void Ownership::on_quiesced(std::uint64_t ticket) {
  const auto found = tickets_.extract(ticket);
  if (found.empty()) return;
  for (const Partition partition : found.mapped()) {
    Part& part = parts_[partition];
    if (part.ticket == ticket && !is_ours(part)) part.may_give = true;
  }
}

void Ownership::on_cleared(std::uint64_t ticket) {
  const auto found = tickets_.extract(ticket);
  if (found.empty()) return;
  for (const Partition partition : found.mapped()) {
    Part& part = parts_[partition];
    if (part.ticket == ticket && is_ours(part)) part.is_cleared = true;
  }
  deadline_ = BootTime::min();
}

void Ownership::on_barrier_failed(std::uint64_t ticket) {
  const auto found = tickets_.extract(ticket);
  if (found.empty()) return;
  for (const Partition partition : found.mapped()) {
    if (parts_[partition].ticket == ticket) parts_[partition].has_barrier = false;
  }
  deadline_ = BootTime::min();
}

void Ownership::on_barrier(std::uint64_t ticket, OrderNumber number) {
  const auto found = tickets_.extract(ticket);
  if (found.empty()) return;
  std::vector<Partition>& partitions = found.mapped();
  std::erase_if(partitions, [&](Partition partition) {
    const Part& part = parts_[partition];
    return part.ticket != ticket || !is_ours(part);
  });
  if (partitions.empty()) return;
  for (const Partition partition : partitions)
    set_word(partition, Stage::taken, parts_[partition].word.slot());
  ASSERT(untaken_ >= partitions.size());
  untaken_ -= partitions.size();
  actions_.push_back({Kind::taken, 0, std::move(partitions), number});
}

std::optional<OwnershipAction> Ownership::take_action() {
  if (actions_.empty()) return std::nullopt;
  OwnershipAction action = std::move(actions_.front());
  actions_.pop_front();
  return action;
}

template <class Condition>
std::vector<std::string> Ownership::former_holders(Condition condition) const {
  std::vector<std::string> names;
  if (untaken_ == 0) return names;
  for (const Fence::FormerHolders& holders : wait_sets_) {
    for (const FormerHolder& holder : holders.value_or(std::vector<FormerHolder>())) {
      const bool is_new = std::find(names.begin(), names.end(), holder.name) == names.end();
      if (is_new && condition(holder)) names.push_back(holder.name);
    }
  }
  return names;
}

std::vector<std::string> Ownership::unconfirmed(const Sightings& sightings) const {
  return former_holders([&](const FormerHolder& holder) {
    return fence_->stopped({{holder}}, sightings, false) != BootTime::min();
  });
}

std::vector<std::string> Ownership::awaited(const Sightings& sightings) const {
  return former_holders(
      [&](const FormerHolder& holder) { return fence_->waits_for_renewal(holder, sightings); });
}

Ownership::Waits Ownership::waits() const {
  Waits waits;
  for (const Part& part : parts_) {
    if (!is_ours(part) || part.word.stage() == Stage::taken) continue;
    ++(part.has_barrier ? waits.barrier : part.is_cleared ? waits.fence : waits.clearing);
  }
  return waits;
}

std::size_t Ownership::to_give() const {
  return static_cast<std::size_t>(std::count_if(parts_.begin(), parts_.end(), [](const Part& part) {
    return !is_ours(part) && (part.may_give || part.ticket != 0);
  }));
}

bool Ownership::may_give(Partition partition, ViewNumber gained) const {
  const Part& part = parts_[partition];
  return part.may_give && (part.held + 1 == gained || is_mutated(Mutation::gives_former_tenure));
}

std::optional<Holder> Ownership::giver(Partition partition) const {
  const Part& part = parts_[partition];
  if (part.word.stage() != Stage::taken) return std::nullopt;
  // Answers that two members gave through the group alone are recorded by neither for the other:
  // an entry from before may be older than that.
  if (part.was_group_only && !is_mutated(Mutation::group_phase_takes)) return std::nullopt;
  return part.giver;
}

}  // namespace prophecy::dht
