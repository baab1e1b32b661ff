// Threads in place of processes, so that ThreadSanitizer sees every access.
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "support.hpp"

namespace prophecy::table {
namespace {

constexpr std::uint64_t kSharedKeys = 28;  // more than fit: entries are moved, and evicted
constexpr std::uint64_t kMarkedKey = 100;

struct Shared {
  SmallRegion region = small_region(3);
  std::atomic<Sigma> newest{0};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> torn{0};
  std::atomic<std::uint64_t> went_back{0};
};

void write_until_stopped(Shared& shared, WriterSlot writer) {
  auto hand = steady_hand(shared.region, writer);
  std::uint64_t random = writer;
  while (!shared.stop.load(std::memory_order_relaxed)) {
    const std::uint64_t key = next_random(random) % kSharedKeys;
    switch (next_random(random) % 32) {
      case 0:
        (void)hand.erase(key);
        break;
      case 1:
        (void)hand.set_mark(kMarkedKey, Mark::blacklisted);
        break;
      case 2:
        (void)hand.set_mark(kMarkedKey, Mark::none);
        break;
      default:
        hand.update(key, shared.newest.fetch_add(1) + 1);
    }
  }
}

void read_until_stopped(Shared& shared, std::uint64_t random) {
  std::array<Sigma, kSharedKeys> seen{};
  std::uint64_t hits = 0;
  while (!shared.stop.load(std::memory_order_relaxed)) {
    const std::uint64_t key = next_random(random) % kSharedKeys;
    const auto entry = find(shared.region, key);
    if (!entry) continue;
    ++hits;
    if (!is_genuine(key, *entry)) ++shared.torn;
    if (entry->sigma < seen[key]) ++shared.went_back;
    seen[key] = entry->sigma;
  }
  shared.hits += hits;
}

}  // namespace

TEST_CASE("concurrent readers see no pair that was not written, and never go back") {
  Shared shared;
  std::vector<std::thread> threads;
  for (WriterSlot writer = 1; writer <= 3; ++writer) {
    threads.emplace_back([&, writer] { write_until_stopped(shared, writer); });
  }
  for (std::uint64_t reader = 1; reader <= 3; ++reader) {
    threads.emplace_back([&, reader] { read_until_stopped(shared, reader * 1000); });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  shared.stop = true;
  for (auto& thread : threads)
    thread.join();

  CHECK(shared.torn == 0);
  CHECK(shared.went_back == 0);
  CHECK(shared.hits > 1000);
  CHECK(shared.newest > 1000);
  std::uint64_t present = find(shared.region, kMarkedKey).has_value();
  for (std::uint64_t key = 0; key < kSharedKeys; ++key)
    present += find(shared.region, key).has_value();
  CHECK(stats_of(shared.region).entries == present);
}

}  // namespace prophecy::table
