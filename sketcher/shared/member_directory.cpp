#include "sketcher/shared/member_directory.hpp"

#include <cstring>

#include "base/assert.hpp"

namespace prophecy::sketcher {
namespace {

// A change is some two hundred stores: whoever meets one does not have to wait for long.
constexpr int kSlotReadsMax = 1000;

}  // namespace

void MemberDirectory::set(dht::MemberSlot slot, const MemberEntry& entry) const {
  ASSERT(slot < kSlots && entry.name.size() <= dht::kNameBytesMax &&
         entry.addresses.size() <= dht::kWorkerAddressesMax);
  std::array<std::uint64_t, Slot::kWords> words{};
  words[0] = std::uint64_t{entry.addresses.size()} << 32 | entry.name.size();
  std::memcpy(&words[1], entry.name.data(), entry.name.size());
  std::size_t next = 1 + Slot::kNameWords;
  for (const MemberAddress& address : entry.addresses) {
    std::memcpy(&words[next], address.address.bytes().data(), address.address.bytes().size());
    words[next + 2] = address.port;
    next += Slot::kAddressWords;
  }
  Slot& into = slots_[slot];
  // Odd already where a writer was killed.
  const std::uint64_t changing = into.version_.load(std::memory_order_relaxed) | 1;
  into.version_.store(changing, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < words.size(); ++i)
    into.words_[i].store(words[i], std::memory_order_relaxed);
  into.version_.store(changing + 1, std::memory_order_release);
}

std::optional<MemberEntry> MemberDirectory::find(dht::MemberSlot slot) const {
  if (slot >= kSlots) return std::nullopt;
  const Slot& from = slots_[slot];
  std::array<std::uint64_t, Slot::kWords> words;
  for (int reads = 0;; ++reads) {
    if (reads == kSlotReadsMax) return std::nullopt;
    const std::uint64_t before = from.version_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = from.words_[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && from.version_.load(std::memory_order_relaxed) == before) break;
  }
  const auto name_bytes = static_cast<std::uint32_t>(words[0]);
  const std::size_t addresses = words[0] >> 32;
  if (name_bytes == 0) return std::nullopt;
  MemberEntry entry;
  entry.name.assign(reinterpret_cast<const char*>(&words[1]), name_bytes);
  std::size_t next = 1 + Slot::kNameWords;
  for (std::size_t i = 0; i < addresses; ++i, next += Slot::kAddressWords) {
    std::array<std::uint8_t, 16> bytes;
    std::memcpy(bytes.data(), &words[next], bytes.size());
    entry.addresses.push_back(
        {.address = IpAddress(bytes), .port = static_cast<std::uint16_t>(words[next + 2])});
  }
  return entry;
}

}  // namespace prophecy::sketcher
