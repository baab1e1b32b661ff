#include "history_table/partition.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "history_table/bucket_entries.hpp"
#include "history_table/history_table.hpp"

namespace prophecy {
namespace {

Sketch filled(std::uint8_t byte) {
  Sketch sketch;
  sketch.fill(byte);
  return sketch;
}

std::string uri(int number) {
  return "/page/" + std::to_string(number);
}

HistoryTable table_of(std::size_t bytes, std::uint64_t bucket_seed, std::uint64_t floor_seed) {
  auto table = HistoryTable::create(bytes, bucket_seed);
  REQUIRE(table.has_value());
  table->set_floor_seed(floor_seed);
  table->attach(1);
  return std::move(*table);
}

}  // namespace

TEST_CASE("a key holds its partition, and of the sketch all but twelve bits") {
  for (const Partition partition : std::array<Partition, 6>{0, 1, 255, 256, 0xabc, 4095}) {
    const Sketch key = key_in(partition, filled(0x5a));
    CHECK(partition_of(table::tag_of(key)) == partition);
    CHECK((key[1] & 0xf0) == 0x50);
    CHECK(std::all_of(key.begin() + 2, key.end(), [](std::uint8_t byte) { return byte == 0x5a; }));
  }
}

TEST_CASE("a tag whose fingerprint would be 0 stays in its partition") {
  const table::Tag tag = table::tag_of(key_in(0, filled(0)));
  CHECK(tag.fingerprint != 0);
  CHECK(partition_of(tag) == 0);
}

TEST_CASE("a URI has one partition in tables of any size, and its floor lies there") {
  const HistoryTable small = table_of(HistoryTable::kBytesMin, 1, 7);
  const HistoryTable large = table_of(std::size_t{1} << 23, 2, 7);
  REQUIRE(small.floor_slots() < kPartitions);
  REQUIRE(large.floor_slots() > kPartitions);
  for (int i = 0; i < 1000; ++i) {
    const auto in_small = small.floors(0).place_of("host", uri(i));
    const auto in_large = large.floors(0).place_of("host", uri(i));
    CHECK(in_small.partition == in_large.partition);
    CHECK(in_large.slot % kPartitions == in_large.partition);
    CHECK(in_small.slot == in_small.partition % small.floor_slots());
  }
}

TEST_CASE("URIs are spread evenly over partitions, by host and target, under the seed") {
  const HistoryTable table = table_of(HistoryTable::kBytesMin, 1, 7);
  const HistoryTable other = table_of(HistoryTable::kBytesMin, 1, 8);
  constexpr int kUris = 64 * kPartitions;
  std::vector<int> counts(kPartitions);
  int same_by_host = 0;
  int same_by_seed = 0;
  for (int i = 0; i < kUris; ++i) {
    const Partition partition = table.floors(0).place_of("host", uri(i)).partition;
    ++counts[partition];
    same_by_host += partition == table.floors(0).place_of("host.", uri(i)).partition ? 1 : 0;
    same_by_seed += partition == other.floors(0).place_of("host", uri(i)).partition ? 1 : 0;
  }
  // 64 each, with a standard deviation of 8; by chance, 64 of all are equal.
  CHECK(*std::min_element(counts.begin(), counts.end()) > 20);
  CHECK(*std::max_element(counts.begin(), counts.end()) < 110);
  CHECK(same_by_host < 128);
  CHECK(same_by_seed < 128);
}

TEST_CASE("the entries of a partition can be told from all others in the table") {
  HistoryTable table = table_of(std::size_t{1} << 20, 3, 7);
  constexpr int kUris = 5000;
  const Partition chosen = table.floors(0).place_of("host", uri(0)).partition;
  std::size_t expected = 0;
  for (int i = 0; i < kUris; ++i) {
    const Partition partition = table.floors(0).place_of("host", uri(i)).partition;
    Sketch sketch = filled(static_cast<std::uint8_t>(i));
    sketch[9] = static_cast<std::uint8_t>(i >> 8);
    REQUIRE(table.update(key_in(partition, sketch), filled(1), 5) == UpdateOutcome::inserted);
    expected += partition == chosen ? 1 : 0;
  }
  std::size_t found = 0;
  for (std::uint64_t index = 0; index < table.bucket_count(); ++index) {
    const auto entries = table.bucket_entries(index);
    REQUIRE(entries.has_value());
    found += static_cast<std::size_t>(std::count_if(
        entries->entries.begin(), entries->entries.begin() + static_cast<long>(entries->count),
        [&](const table::StoredEntry& entry) { return partition_of(entry.tag) == chosen; }));
  }
  CHECK(found == expected);
}

}  // namespace prophecy
