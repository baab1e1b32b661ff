#include "transport/ticket_keys.hpp"

#include <cstring>

namespace prophecy::transport {
namespace {

// A rotation takes well under a microsecond; whose process is stopped in the midst of one costs
// others a session that is not resumed.
constexpr int kTriesMax = 1000;

}  // namespace

void TicketKeys::rotate(const TicketKey& fresh) {
  const std::uint64_t sequence = sequence_.load(std::memory_order_relaxed);
  sequence_.store(sequence + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  Slot& slot = slots_[sequence / 2 % slots_.size()];
  for (std::size_t i = 0; i < kWords; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, fresh.bytes.data() + i * sizeof word, sizeof word);
    slot[i].store(word, std::memory_order_relaxed);
  }
  sequence_.store(sequence + 2, std::memory_order_release);
}

std::optional<TicketKey> TicketKeys::read(std::uint64_t age) const {
  for (int tries = 0; tries < kTriesMax; ++tries) {
    const std::uint64_t sequence = sequence_.load(std::memory_order_acquire);
    if (sequence % 2 != 0) continue;  // some words are being stored
    const std::uint64_t rotations = sequence / 2;
    if (rotations <= age) return std::nullopt;
    const Slot& slot = slots_[(rotations - 1 - age) % slots_.size()];
    TicketKey key;
    for (std::size_t i = 0; i < kWords; ++i) {
      const std::uint64_t word = slot[i].load(std::memory_order_relaxed);
      std::memcpy(key.bytes.data() + i * sizeof word, &word, sizeof word);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (sequence_.load(std::memory_order_relaxed) == sequence) return key;
  }
  return std::nullopt;
}

}  // namespace prophecy::transport
