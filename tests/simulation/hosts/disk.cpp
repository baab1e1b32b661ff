#include "simulation/hosts/disk.hpp"

#include <set>

#include "base/assert.hpp"

namespace prophecy::simulation {

void Disk::commit(const std::vector<pbft::DurableWrite>& writes) {
  for (const pbft::DurableWrite& write : writes) {
    if (write.value == nullptr) {
      records_.erase(write.key);
    } else {
      records_[write.key] = *write.value;
    }
  }
}

void Disk::pending_lasts() {
  ASSERT(!pending_.empty());
  commit(pending_.front());
  pending_.erase(pending_.begin());
}

void Disk::crash(Random& random, bool power_loss) {
  std::uint64_t kept = random.below(pending_.size() + 1);
  for (; kept > 0; --kept)
    pending_lasts();
  pending_.clear();
  Parts parts = power_loss ? flushed_ : parts_->all();
  // What is pinned was on the disk when pin() returned.
  for (const auto& [digest, part] : parts_->all()) {
    if (parts_->is_pinned(digest)) parts.emplace(digest, part);
  }
  parts_ = std::make_unique<pbft::MemoryPartStore>();
  for (const auto& [digest, part] : parts)
    ASSERT(parts_->keep(digest, part));
}

void Disk::lose_everything() {
  lost_ = true;
  records_.clear();
  pending_.clear();
  flushed_.clear();
  parts_ = std::make_unique<pbft::MemoryPartStore>();
}

std::uint64_t Disk::recorded_numbers() const {
  constexpr std::size_t kKindAndNumber = 9;  // pbft/core/state/journal.hpp
  std::set<Bytes> numbers;
  for (const auto& [key, value] : records_) {
    const bool is_of_peer = key.front() == 'i';
    if (key.size() < kKindAndNumber || is_of_peer) continue;
    numbers.emplace(key.begin() + 1, key.begin() + kKindAndNumber);
  }
  return numbers.size();
}

pbft::StoredRecords Disk::records() const {
  return {records_.begin(), records_.end()};
}

}  // namespace prophecy::simulation
