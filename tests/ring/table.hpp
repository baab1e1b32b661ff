// A model of one member's history table, with what the ring needs of it: entries by register, what
// was evicted of each partition, write floors, and the newest number that this member has seen.
// Where members count for themselves, an answer's number is its place in the group's order and a
// base, which moves beyond all before at each barrier.
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
    OrderNumber order = 0;  // its place in the group's order, for the oracles
    bool was_handed = false;
    bool is_none = false;  // which answer is the newest is not known
  };
  // Between the newest number and a barrier.
  static constexpr OrderNumber kRoom = 1000;

  Table(const Layout& layout, bool counts_itself)
      : layout_(layout),
        counts_itself_(counts_itself),
        forgotten_(layout.partitions),
        floors_(layout.slots) {}

  // ---- Numbers.
  [[nodiscard]] OrderNumber base() const { return base_; }
  // Of an answer that has that place in the group's order.
  [[nodiscard]] OrderNumber number_of(OrderNumber order) const { return base_ + order; }
  // The number of a barrier, which has that place.
  OrderNumber begin_anew(OrderNumber order, bool goes_on) {
    note(order);
    if (!counts_itself_) return order;
    newest_ += kRoom;
    if (!goes_on) base_ = newest_;
    return newest_;
  }

  // As far as it counts.
  [[nodiscard]] std::optional<Entry> look_up(Register at) const {
    const auto found = entries_.find(at);
    if (found == entries_.end() || found->second.number <= floor(at)) return std::nullopt;
    if (found->second.is_none) return std::nullopt;
    return found->second;
  }
  // Algorithm 1's update, of an answer with that place in the order; whether it is what the table
  // holds now. `base` is that of when it was asked for: if it has moved, nobody knows.
  bool update(Register at, Content content, OrderNumber order, OrderNumber base) {
    const OrderNumber number = number_of(order);
    const auto found = entries_.find(at);
    const bool is_newer = found != entries_.end() ? number > found->second.number
                                                  : number > forgotten_[layout_.partition_of(at)];
    const bool is_none = base != base_;
    if (is_newer)
      entries_[at] = {.content = content, .number = number, .order = order, .is_none = is_none};
    return is_newer && !is_none;
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
  void note(OrderNumber order) { newest_ = std::max(newest_, number_of(order)); }

  // ---- dht::HistoryStore, in pages of one.
  [[nodiscard]] std::optional<OrderNumber> own_newest() const override {
    return counts_itself_ ? std::optional(newest_) : std::nullopt;
  }
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
      if (layout_.partition_of(found->first) != partition || found->second.is_none) continue;
      dht::HandedEntry entry{.number = found->second.number};
      entry.tag[0] = static_cast<std::uint8_t>(found->first);
      for (std::size_t i = 1; i <= sizeof(OrderNumber); ++i)
        entry.tag[i] = static_cast<std::uint8_t>(found->second.order >> (8 * (i - 1)));
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
    OrderNumber order = 0;
    for (std::size_t i = 1; i <= sizeof(OrderNumber); ++i)
      order |= OrderNumber{entry.tag[i]} << (8 * (i - 1));
    const Register at = entry.tag[0];
    const bool ignores = is_mutated(dht::Mutation::no_barrier);
    if (entry.number > barrier && !ignores) return Inserted::beyond;
    const bool is_gap = !entries_.contains(at) && forgotten_[partition] <= barrier;
    if (!is_gap && !ignores) return Inserted::known_newer;
    entries_[at] = {.content = content, .number = entry.number, .order = order, .was_handed = true};
    return Inserted::taken;
  }
  void erase(Partition partition) override {
    std::erase_if(entries_, [&](const auto& entry) {
      return layout_.partition_of(entry.first) == partition;
    });
  }

 private:
  Layout layout_;
  bool counts_itself_;
  std::map<Register, Entry> entries_;
  std::vector<OrderNumber> forgotten_;  // by partition: the newest that was evicted
  std::vector<OrderNumber> floors_;     // by slot
  OrderNumber newest_ = 0;
  OrderNumber base_ = 0;
};

}  // namespace prophecy::ring
