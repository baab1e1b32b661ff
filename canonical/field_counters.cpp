#include "canonical/field_counters.hpp"

#include <algorithm>

#include <xxhash.h>

#include "http/text.hpp"

namespace prophecy::sketch {

void UnknownFieldCounters::add(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax) return others_.add();
  const std::size_t first = XXH3_64bits(name.data(), name.size()) % kNamesMax;
  for (std::size_t probe = 0; probe < kProbesMax; ++probe) {
    Slot& slot = slots_[(first + probe) % kNamesMax];
    const std::size_t size = slot.size.load(std::memory_order_relaxed);
    if (size == 0) {
      // Operators see it on their terminals.
      if (!http::is_token(name)) break;
      std::copy(name.begin(), name.end(), slot.name.begin());
      slot.size.store(static_cast<std::uint8_t>(name.size()), std::memory_order_release);
      return slot.count.add();
    }
    if (name == std::string_view(slot.name.data(), size)) return slot.count.add();
  }
  others_.add();
}

void UnknownFieldCounters::for_each(
    const std::function<void(std::string_view, std::uint64_t)>& take) const {
  for (const Slot& slot : slots_) {
    // Another process may have written anything there.
    const std::size_t size =
        std::min<std::size_t>(slot.size.load(std::memory_order_acquire), kNameBytesMax);
    if (size > 0) take({slot.name.data(), size}, slot.count.get());
  }
}

}  // namespace prophecy::sketch
