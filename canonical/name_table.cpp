#include "canonical/name_table.hpp"

#include <algorithm>

#include <xxhash.h>

#include "base/assert.hpp"

namespace prophecy::sketch {
namespace {

std::uint64_t hash_of(std::string_view name) {
  return XXH3_64bits(name.data(), name.size());
}

}  // namespace

NameTable::NameTable() : slots_(256) {}

std::size_t NameTable::slot_of(std::string_view name, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (!slots_[slot].name.empty() && (slots_[slot].hash != hash || slots_[slot].name != name)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void NameTable::set(std::string_view name, std::uint8_t value) {
  ASSERT(!name.empty());
  const std::uint64_t hash = hash_of(name);
  Entry& entry = slots_[slot_of(name, hash)];
  if (entry.name.empty()) entry = {std::string(name), hash, 0, static_cast<std::uint16_t>(used_++)};
  entry.value = value;
  if (used_ * 2 > slots_.size()) grow();
}

const NameTable::Entry* NameTable::find(std::string_view name) const {
  const Entry& entry = slots_[slot_of(name, hash_of(name))];
  return entry.name.empty() ? nullptr : &entry;
}

std::vector<NameTable::Entry> NameTable::sorted() const {
  std::vector<Entry> entries;
  for (const Entry& entry : slots_) {
    if (!entry.name.empty()) entries.push_back(entry);
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

void NameTable::grow() {
  std::vector<Entry> old(slots_.size() * 2);
  old.swap(slots_);
  for (Entry& entry : old) {
    if (!entry.name.empty()) slots_[slot_of(entry.name, entry.hash)] = std::move(entry);
  }
}

}  // namespace prophecy::sketch
