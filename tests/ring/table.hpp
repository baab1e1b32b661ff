// A model of one member's history table, with what the ring needs of it: entries by register, what
// was evicted of each partition, write floors, and the newest number that this member has seen.
// Shared by the member's workers and its ring process; each call is one step in shared memory.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "dht/core/hand_over.hpp"
#include "dht/core/mutation.hpp"
#include "ring/group.hpp"

namespace prophecy::ring {

using dht::OrderNumber;

// Each register is a URI of its own; a floor's slot may be that of several.
struct Layout {
  std::size_t registers = 4;
  std::size_t slots = 4;
  std::size_t partitions = 4;

  [[nodiscard]] std::size_t slot_of(Register at) const { return at % slots; }
  [[nodiscard]] Partition partition_of_slot(std::size_t slot) const {
    return static_cast<Partition>(slot % partitions);
  }
  [[nodiscard]] Partition partition_of(Register at) const { return partition_of_slot(slot_of(at)); }
};

class Table final : public dht::HistoryStore {
 public:
  struct Entry {
    Content content = 0;
    OrderNumber number = 0;
    bool was_handed = false;
  };

  explicit Table(const Layout& layout)
      : layout_(layout), forgotten_(layout.partitions), floors_(layout.slots) {}

  // As far as it counts.
  [[nodiscard]] std::optional<Entry> look_up(Register at) const {
    const auto found = entries_.find(at);
    if (found == entries_.end() || found->second.number <= floor(at)) return std::nullopt;
    return found->second;
  }
  // Algorithm 1's update; whether it is what the table holds now.
  bool update(Register at, Content content, OrderNumber number) {
    const auto found = entries_.find(at);
    const bool is_newer = found != entries_.end() ? number > found->second.number
                                                  : number > forgotten_[layout_.partition_of(at)];
    if (is_newer) entries_[at] = {content, number, false};
    return is_newer;
  }
  void evict(Register at) {
    const auto found = entries_.find(at);
    if (found == entries_.end()) return;
    OrderNumber& forgotten = forgotten_[layout_.partition_of(at)];
    forgotten = std::max(forgotten, found->second.number);
    entries_.erase(found);
  }
  [[nodiscard]] OrderNumber floor(Register at) const { return floors_[layout_.slot_of(at)]; }
  void raise_floor(std::size_t slot, OrderNumber floor) {
    floors_[slot] = std::max(floors_[slot], floor);
  }
  [[nodiscard]] OrderNumber newest() const { return newest_; }
  void note(OrderNumber number) { newest_ = std::max(newest_, number); }

  // ---- dht::HistoryStore, in pages of one.
  std::uint64_t read_floors(Partition partition, std::uint64_t cursor,
                            std::vector<dht::HandedFloor>& page) override {
    for (std::size_t slot = cursor; slot < layout_.slots; ++slot) {
      if (layout_.partition_of_slot(slot) != partition) continue;
      page.push_back({.slot = static_cast<std::uint32_t>(slot), .floor = floors_[slot]});
      return slot + 1 < layout_.slots ? slot + 1 : 0;
    }
    return 0;
  }
  std::uint64_t read_entries(Partition partition, std::uint64_t cursor,
                             std::vector<dht::HandedEntry>& page) override {
    for (auto found = entries_.lower_bound(cursor); found != entries_.end(); ++found) {
      if (layout_.partition_of(found->first) != partition) continue;
      dht::HandedEntry entry{.number = found->second.number};
      entry.tag[0] = static_cast<std::uint8_t>(found->first);
      for (std::size_t i = 0; i < sizeof(Content); ++i)
        entry.answer[i] = static_cast<std::uint8_t>(found->second.content >> (8 * i));
      page.push_back(entry);
      return std::next(found) != entries_.end() ? found->first + 1 : 0;
    }
    return 0;
  }
  void raise_floor(Partition /*partition*/, const dht::HandedFloor& floor) override {
    raise_floor(floor.slot, floor.floor);
  }
  Inserted insert(Partition partition, const dht::HandedEntry& entry,
                  OrderNumber barrier) override {
    Content content = 0;
    for (std::size_t i = 0; i < sizeof(Content); ++i)
      content |= static_cast<Content>(entry.answer[i]) << (8 * i);
    const Register at = entry.tag[0];
    const bool ignores = is_mutated(dht::Mutation::no_barrier);
    if (entry.number > barrier && !ignores) return Inserted::beyond;
    const bool is_gap = !entries_.contains(at) && forgotten_[partition] <= barrier;
    if (!is_gap && !ignores) return Inserted::known_newer;
    entries_[at] = {content, entry.number, true};
    return Inserted::taken;
  }
  void erase(Partition partition) override {
    std::erase_if(entries_, [&](const auto& entry) {
      return layout_.partition_of(entry.first) == partition;
    });
  }

 private:
  Layout layout_;
  std::map<Register, Entry> entries_;
  std::vector<OrderNumber> forgotten_;  // by partition: the newest that was evicted
  std::vector<OrderNumber> floors_;     // by slot
  OrderNumber newest_ = 0;
};

}  // namespace prophecy::ring
