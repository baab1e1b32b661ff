// `MemberDirectory` says where the members of the ring are, by their slots: in memory that all
// processes of a sketcher share. One process writes, which the master or the ring's own is; workers
// read an entry when they connect to its member, and look at its version when they use that
// connection.
//
// A view, copied freely; lock-free. A reader that meets the writer reads again; one that meets a
// writer which was killed in the middle finds nothing, until another writes the entry anew.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ip_address.hpp"
#include "dht/core/member_slots.hpp"

namespace prophecy::sketcher {

struct MemberAddress {
  IpAddress address;
  std::uint16_t port = 0;

  bool operator==(const MemberAddress&) const = default;
};

struct MemberEntry {
  std::string name;                      // at most dht::kNameBytesMax
  std::vector<MemberAddress> addresses;  // at most dht::kWorkerAddressesMax

  bool operator==(const MemberEntry&) const = default;
};

class MemberDirectory {
 public:
  static constexpr std::size_t kSlots = dht::MemberSlots::kSlots;
  // All zero at first.
  class Slot {
    friend class MemberDirectory;
    static constexpr std::size_t kNameWords = dht::kNameBytesMax / sizeof(std::uint64_t);
    static constexpr std::size_t kAddressWords = 3;
    static constexpr std::size_t kWords =
        1 + kNameWords + dht::kWorkerAddressesMax * kAddressWords;  // the first: both sizes

    // Twice the number of changes; odd while one is under way.
    std::atomic<std::uint64_t> version_;
    std::array<std::atomic<std::uint64_t>, kWords> words_;
  };

  explicit MemberDirectory(std::span<Slot, kSlots> slots) : slots_(slots) {}

  // By one process at a time. An entry without a name is nobody's.
  void set(dht::MemberSlot slot, const MemberEntry& entry) const;

  // Nothing: the slot is nobody's.
  [[nodiscard]] std::optional<MemberEntry> find(dht::MemberSlot slot) const;
  // Another one after each change.
  [[nodiscard]] std::uint64_t version(dht::MemberSlot slot) const {
    return slots_[slot].version_.load(std::memory_order_acquire);
  }

 private:
  std::span<Slot, kSlots> slots_;
};

}  // namespace prophecy::sketcher
