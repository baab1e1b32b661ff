// Answers of limited room: a flood of them leaves the others, and there may still be new ones.
#include <catch2/catch.hpp>

#include "support.hpp"

namespace prophecy::table {
namespace {

constexpr std::size_t kBuckets = 400;
constexpr double kShare = 0.05;
constexpr std::uint64_t kContents = 800;  // keys, of 3200 places
constexpr std::uint64_t kFirstMissing = 1'000'000;

std::uint64_t present(const Region& region, std::uint64_t first, std::uint64_t count) {
  std::uint64_t found = 0;
  for (std::uint64_t key = first; key < first + count; ++key)
    found += find(region, key).has_value();
  return found;
}

struct World {
  World() {
    for (std::uint64_t key = 0; key < kContents; ++key)
      writer.update(key, ++sigma);
  }
  UpdateOutcome miss(std::uint64_t key) {
    return writer.update(kFirstMissing + key, ++sigma, Room::limited);
  }

  SmallRegion region = small_region(kBuckets, kShare);
  Hand<const Uninterrupted> writer = steady_hand(region, 1);
  Sigma sigma = 0;
};

}  // namespace

TEST_CASE("a flood of limited entries takes no more than its share, and leaves the others") {
  World world;
  const std::uint64_t before = present(world.region, 0, kContents);
  REQUIRE(before > kContents * 9 / 10);
  constexpr std::uint64_t kFlood = 20'000;
  for (std::uint64_t key = 0; key < kFlood; ++key)
    world.miss(key);
  const HistoryTableStats stats = stats_of(world.region);
  CHECK(stats.limited_max == static_cast<std::uint64_t>(kShare * kBuckets * kSlotsPerBucket));
  CHECK(stats.limited <= stats.limited_max);
  CHECK(stats.limited > stats.limited_max / 2);
  CHECK(stats.limited == limited_slots(world.region));
  CHECK(present(world.region, 0, kContents) >= before - stats.limited_max);
  // Without a limit it leaves little.
  for (std::uint64_t key = 0; key < kFlood; ++key)
    world.writer.update(2 * kFirstMissing + key, ++world.sigma);
  CHECK(present(world.region, 0, kContents) < before / 2);
}

TEST_CASE("a full table loses its share to a flood, however long, and no more") {
  constexpr std::size_t kSlots = 250 * kSlotsPerBucket;
  const SmallRegion region = small_region(250, kShare);
  auto writer = steady_hand(region, 1);
  Sigma sigma = 0;
  constexpr std::uint64_t kOffered = 3000;
  for (std::uint64_t key = 0; key < kOffered; ++key)
    writer.update(key, ++sigma);
  REQUIRE(occupied_slots(region) > kSlots * 99 / 100);
  const std::uint64_t before = present(region, 0, kOffered);
  std::uint64_t inserted = 0;
  for (std::uint64_t key = 0; key < 50'000; ++key)
    inserted +=
        writer.update(kFirstMissing + key, ++sigma, Room::limited) == UpdateOutcome::inserted;
  const HistoryTableStats stats = stats_of(region);
  CHECK(stats.limited == stats.limited_max);
  CHECK(present(region, 0, kOffered) >= before - stats.limited_max);
  CHECK(inserted > 10'000);  // in the place of one another
}

TEST_CASE("a limited entry may come after a flood, and stays while it is read") {
  World world;
  for (std::uint64_t key = 0; key < 2000; ++key)
    world.miss(key);
  std::uint64_t taken = 0;
  for (std::uint64_t key = 5000; key < 5100; ++key) {
    if (world.miss(key) != UpdateOutcome::inserted) continue;
    ++taken;
    CHECK(find(world.region, kFirstMissing + key).has_value());
  }
  CHECK(taken > 80);

  const std::uint64_t read = 5099;
  REQUIRE(
      (find(world.region, kFirstMissing + read) || world.miss(read) == UpdateOutcome::inserted));
  for (std::uint64_t key = 10'000; key < 12'000; ++key) {
    CHECK(find(world.region, kFirstMissing + read).has_value());
    world.miss(key);
  }
}

TEST_CASE("an answer that came and went keeps its place, and its order") {
  World world;
  const Sigma before = world.sigma;
  CHECK(world.writer.update(3, ++world.sigma, Room::limited) == UpdateOutcome::replaced);
  CHECK(stats_of(world.region).limited == 1);
  CHECK(world.writer.update(3, before) == UpdateOutcome::older);
  CHECK(world.writer.update(3, ++world.sigma) == UpdateOutcome::replaced);
  CHECK(stats_of(world.region).limited == 0);
  CHECK(find(world.region, 3) == entry_for(3, world.sigma));
}

TEST_CASE("without a share nothing limited is remembered, and nothing older taken") {
  const SmallRegion region = small_region(8, 0);
  auto writer = steady_hand(region, 1);
  CHECK(writer.update(1, 20, Room::limited) == UpdateOutcome::full);
  CHECK_FALSE(find(region, 1));
  CHECK(writer.update(1, 10) == UpdateOutcome::older);
  CHECK(writer.update(1, 21) == UpdateOutcome::inserted);
}

}  // namespace prophecy::table
