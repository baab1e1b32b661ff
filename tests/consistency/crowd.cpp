#include "consistency/crowd.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "history_table/placing.hpp"

namespace prophecy::consistency {
namespace {

constexpr std::size_t kEntries = 900;       // the table has room for fewer
constexpr std::size_t kNeighboursMax = 60;  // two buckets, several times over

std::size_t region_bytes(std::size_t buckets) {
  return table::kWriterRecords * sizeof(table::WriterRecord) + buckets * sizeof(table::Bucket);
}

bool may_meet(const table::KeyPlace& one, const table::KeyPlace& other) {
  return one.first == other.first || one.first == other.second || one.second == other.first ||
         one.second == other.second;
}

}  // namespace

Crowd::Crowd(HistoryTable& table, std::uint64_t seed, std::function<Sigma()> next_sigma)
    : table_(table),
      memory_(region_bytes(table.bucket_count()) / sizeof(table::WriterRecord) + 1),
      region_(reinterpret_cast<std::byte*>(memory_.data()), region_bytes(table.bucket_count()),
              seed),
      next_sigma_(std::move(next_sigma)) {}

void Crowd::fill() {
  for (std::size_t i = 0; i < kEntries; ++i)
    insert(next_key());
}

bool Crowd::evict(const Sketch& key) {
  const table::KeyPlace place = region_.place_of(key);
  if (!holds(place)) return false;
  for (std::size_t neighbours = 0; neighbours < kNeighboursMax;) {
    const Sketch other = next_key();
    if (!may_meet(place, region_.place_of(other))) continue;
    insert(other);
    if (!holds(place)) return true;
    ++neighbours;
  }
  return false;
}

Sketch Crowd::next_key() {
  Sketch key{};
  ++requests_;
  std::memcpy(key.data(), &requests_, sizeof requests_);  // no client's begins with such bytes
  return key;
}

void Crowd::insert(const Sketch& key) {
  static_cast<void>(table_.update(key, key, next_sigma_()));
}

bool Crowd::holds(const table::KeyPlace& place) const {
  const auto has = [&](table::Word bucket) {
    const auto found = table_.bucket_entries(bucket);
    ASSERT(found);  // nobody else writes
    const auto end = found->entries.begin() + static_cast<std::ptrdiff_t>(found->count);
    return std::any_of(found->entries.begin(), end,
                       [&](const table::StoredEntry& entry) { return entry.tag == place.tag; });
  };
  return has(place.first) || has(place.second);
}

}  // namespace prophecy::consistency
