#include "sketcher/core/policy/activity_table.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/assert.hpp"

namespace prophecy::sketcher {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kRelease = std::memory_order_release;

// What was last used in one epoch is as good as equal.
constexpr std::uint32_t kEpochSeconds = 4;
// After so long without use, transitions keep nothing any more.
constexpr std::uint32_t kKeptEpochs = 3600 / kEpochSeconds;
constexpr std::uint32_t kAdmittedOneIn = 8;
constexpr std::size_t kSweptPart = 64;

using Identity = std::array<std::uint64_t, 3>;

Identity identity_of(const Sketch& key) {
  Identity words{};
  static_assert(sizeof words >= sizeof key);
  std::memcpy(words.data(), key.data(), key.size());
  return words;
}

bool is_about(const ActivityRecord& record, const Identity& key) {
  return record.identity[0].load(kRelaxed) == key[0] &&
         record.identity[1].load(kRelaxed) == key[1] &&
         static_cast<std::uint32_t>(record.identity[2].load(kRelaxed)) ==
             static_cast<std::uint32_t>(key[2]);
}

// Never 0: an empty way has none.
std::uint32_t fingerprint_of(const Sketch& key) {
  std::uint16_t fingerprint;
  std::memcpy(&fingerprint, key.data() + 8, sizeof fingerprint);
  return fingerprint == 0 ? 1 : fingerprint;
}

std::uint32_t epoch_of(std::uint32_t now) {
  return now / kEpochSeconds & ActivitySet::kEpochMask;
}

// Reads end in another order than they began in, and tell the time of either. So what seems to be
// used half the epochs ago, or more, was used just after `now`.
std::uint32_t age_of(std::uint32_t way, std::uint32_t now) {
  const std::uint32_t age = (epoch_of(now) - way) & ActivitySet::kEpochMask;
  return age > ActivitySet::kEpochMask / 2 ? 0 : age;
}

std::uint32_t used(std::uint32_t way, std::uint32_t now) {
  return (way & ~ActivitySet::kEpochMask) | epoch_of(now);
}

void count(std::atomic<std::uint32_t>& counter) {
  const std::uint32_t value = counter.load(kRelaxed);
  if (value != std::numeric_limits<std::uint32_t>::max()) counter.store(value + 1, kRelaxed);
}

std::size_t route_of(const ActivityRecord& record) {
  return record.identity[2].load(kRelaxed) >> 32 & 0xFFFF;
}

std::uint32_t elapsed(const ActivityRecord& record, std::uint32_t now) {
  return now - std::min(now, record.last_seconds.load(kRelaxed));
}

}  // namespace

ActivityTable::ActivityTable(std::span<std::byte> memory, std::vector<VolatilityLimits> limits)
    : parts_(memory.data(), memory.size()), limits_(std::move(limits)) {
  ASSERT(memory.size() >= ActivityParts::kBytesMin);
  std::uint64_t records = 0;
  std::uint64_t blacklisted = 0;
  for (std::size_t i = 0; i < parts_.record_count(); ++i) {
    ActivityRecord& record = parts_.records[i];
    std::uint32_t& way = parts_.sets[i / ActivitySet::kWays].ways[i % ActivitySet::kWays];
    // Its writer was killed before the whole of it was there, or before the way was.
    if (record.version.load(kRelaxed) % 2 != 0) way = 0;
    if (way == 0) {
      record.volatility.store(0, kRelaxed);
      continue;
    }
    ++records;
    if (Volatility::unpack(record.volatility.load(kRelaxed)).blacklisted()) ++blacklisted;
  }
  parts_.head->records.set(records);
  parts_.head->blacklisted.set(blacklisted);
}

bool ActivityTable::avoids_fast_read(const Sketch& key, std::uint32_t now) {
  credit_.on_read();
  if (parts_.head->blacklisted.get() == 0) return false;
  const Place place = find(key);
  return place &&
         Volatility::unpack(place.record->volatility.load(kRelaxed))
             .blacklists(elapsed(*place.record, now)) &&
         credit_.take();
}

void ActivityTable::on_hit(const Request& request, std::uint32_t now) {
  const Place place = find_or_take(request, now, false);
  if (!place) return;
  place.record->hits.store(place.record->hits.load(kRelaxed) + 1, kRelaxed);
  on_read(place, false, now);
}

void ActivityTable::on_group_read(const Request& request, std::uint32_t now) {
  const Place place = find_or_take(request, now, true);
  count(place.record->group_reads);
  touch(place, aged(*place.record, now), now);
}

void ActivityTable::on_compared(const Sketch& key, bool transition, std::uint32_t now) {
  const Place place = find(key);
  if (!place) return;
  if (transition) {
    count(place.record->transitions);
    *place.way |= ActivitySet::kHasTransitions;
  }
  on_read(place, transition, now);
}

void ActivityTable::on_read(const Place& place, bool transition, std::uint32_t now) {
  ActivityRecord& record = *place.record;
  Counter& blacklisted = parts_.head->blacklisted;
  Volatility volatility = aged(record, now);
  const bool has_room = blacklisted.get() < parts_.record_count() / kBlacklistedPart;
  const Volatility::Change change =
      volatility.on_read(transition, limits_[route_of(record)], has_room);
  if (change == Volatility::Change::blacklisted) blacklisted.add();
  if (change == Volatility::Change::released) blacklisted.subtract();
  touch(place, volatility, now);
}

Volatility ActivityTable::aged(const ActivityRecord& record, std::uint32_t now) {
  Volatility volatility = Volatility::unpack(record.volatility.load(kRelaxed));
  const std::uint32_t seconds = elapsed(record, now);
  if (volatility.blacklisted() && !volatility.blacklists(seconds)) {
    volatility.release();
    parts_.head->blacklisted.subtract();
  }
  volatility.age(seconds);
  return volatility;
}

void ActivityTable::touch(const Place& place, const Volatility& volatility, std::uint32_t now) {
  ActivityRecord& record = *place.record;
  const std::uint32_t last = std::max(now, record.last_seconds.load(kRelaxed));
  record.volatility.store(volatility.packed(), kRelaxed);
  record.last_seconds.store(last, kRelaxed);
  *place.way = used(*place.way, last);
}

void ActivityTable::sweep(std::uint32_t now) {
  for (std::size_t left = parts_.record_count() / kSweptPart + 1; left > 0; --left) {
    ActivityRecord& record = parts_.records[swept_];
    swept_ = (swept_ + 1) % parts_.record_count();
    Volatility volatility = Volatility::unpack(record.volatility.load(kRelaxed));
    if (!volatility.blacklisted() || volatility.blacklists(elapsed(record, now))) continue;
    volatility.release();
    record.volatility.store(volatility.packed(), kRelaxed);
    parts_.head->blacklisted.subtract();
  }
}

ActivityTable::Place ActivityTable::find(const Sketch& key) const {
  const std::size_t set = parts_.set_of(key);
  const std::uint32_t fingerprint = fingerprint_of(key);
  const Identity identity = identity_of(key);
  for (std::size_t i = 0; i < ActivitySet::kWays; ++i) {
    std::uint32_t& way = parts_.sets[set].ways[i];
    if (way >> 16 != fingerprint) continue;
    ActivityRecord& record = parts_.records[set * ActivitySet::kWays + i];
    if (is_about(record, identity)) return {&way, &record};
  }
  return {};
}

ActivityTable::Place ActivityTable::find_or_take(const Request& request, std::uint32_t now,
                                                 bool must) {
  if (const Place found = find(request.key)) return found;
  const Place place = place_to_take(parts_.set_of(request.key), now, must);
  if (place) replace(place, request, now);
  return place;
}

ActivityTable::Place ActivityTable::place_to_take(std::size_t set, std::uint32_t now, bool must) {
  std::size_t worst = 0;
  std::uint32_t worst_age = 0;
  for (std::size_t i = 0; i < ActivitySet::kWays; ++i) {
    const std::uint32_t way = parts_.sets[set].ways[i];
    if (way == 0) {
      worst = i;
      break;
    }
    std::uint32_t age = age_of(way, now);
    const bool is_kept = (way & ActivitySet::kHasTransitions) != 0 && age < kKeptEpochs;
    if (!is_kept) age += ActivitySet::kEpochMask + 1;
    if (i > 0 && age <= worst_age) continue;
    worst = i;
    worst_age = age;
  }
  const Place place{&parts_.sets[set].ways[worst],
                    &parts_.records[set * ActivitySet::kWays + worst]};
  if (*place.way == 0) {
    parts_.head->records.add();
    return place;
  }
  if (!must && ++refusals_ % kAdmittedOneIn != 0) return {};
  parts_.head->evictions.add();
  return place;
}

void ActivityTable::replace(const Place& place, const Request& request, std::uint32_t now) {
  ActivityRecord& record = *place.record;
  if (Volatility::unpack(record.volatility.load(kRelaxed)).blacklisted())
    parts_.head->blacklisted.subtract();
  // A predecessor may have left it odd.
  const std::uint64_t version = record.version.load(kRelaxed) | 1;
  record.version.store(version, kRelaxed);
  *place.way = fingerprint_of(request.key) << 16 | epoch_of(now);

  std::array<char, ActivityRecord::kUrlBytesMax> url{};
  const std::size_t authority_bytes = std::min(request.authority.size(), url.size());
  const std::size_t target_bytes = std::min(request.target.size(), url.size() - authority_bytes);
  std::copy_n(request.authority.data(), authority_bytes, url.data());
  std::copy_n(request.target.data(), target_bytes, url.data() + authority_bytes);
  const std::size_t url_bytes = authority_bytes + target_bytes;
  const bool is_cut = url_bytes < request.authority.size() + request.target.size();
  for (std::size_t i = 0; i < record.url.size(); ++i) {
    std::uint64_t word;
    std::memcpy(&word, url.data() + i * sizeof word, sizeof word);
    record.url[i].store(word, kRelease);
  }
  Identity identity = identity_of(request.key);
  const std::uint64_t flags =
      (request.is_head ? ActivityRecord::kIsHead : 0) | (is_cut ? ActivityRecord::kIsCut : 0);
  identity[2] |= ((request.route & 0xFFFF) | std::uint64_t{url_bytes} << 16 | flags << 24) << 32;
  for (std::size_t i = 0; i < identity.size(); ++i)
    record.identity[i].store(identity[i], kRelease);
  record.hits.store(0, kRelease);
  record.group_reads.store(0, kRelease);
  record.transitions.store(0, kRelease);
  record.first_seconds.store(now, kRelease);
  record.last_seconds.store(now, kRelease);
  record.volatility.store(0, kRelease);
  record.version.store(version + 1, kRelease);
}

}  // namespace prophecy::sketcher
