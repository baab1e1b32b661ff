#include "sketcher/core/policy/activity_table.hpp"

#include <atomic>
#include <random>
#include <thread>

#include <catch2/catch.hpp>

#include "sketcher/core/policy/activity_view.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::uint32_t kNow = 1'000'000;

struct alignas(64) Line {
  std::byte bytes[64];
};

// The memory of one worker, and what is made of it.
class World {
 public:
  explicit World(std::size_t sets = 1)
      : memory_((sizeof(ActivityHead) + sets * ActivityParts::kSetBytes) / sizeof(Line)),
        table(memory(), {VolatilityLimits{0.75F}, VolatilityLimits::never()}),
        view(memory()) {}

  // By its number: keys are as good as drawn at random.
  static Sketch key(std::uint64_t number) {
    std::mt19937_64 engine(number);
    Sketch key{};
    for (auto& byte : key)
      byte = static_cast<std::uint8_t>(engine());
    return key;
  }
  static std::string target(std::uint64_t number) { return "/" + std::to_string(number); }

  void hit(std::uint64_t number, std::uint32_t now = kNow, std::uint32_t route = 0) {
    const std::string path = target(number);
    table.on_hit({key(number), route, false, "a", path}, now);
  }
  void group_read(std::uint64_t number, std::uint32_t now = kNow, std::uint32_t route = 0) {
    const std::string path = target(number);
    table.on_group_read({key(number), route, false, "a", path}, now);
  }
  // The group is asked, and its answer compared.
  void compare(std::uint64_t number, bool transition, std::uint32_t now = kNow,
               std::uint32_t route = 0) {
    group_read(number, now, route);
    table.on_compared(key(number), transition, now);
  }
  bool avoids(std::uint64_t number, std::uint32_t now = kNow) {
    return table.avoids_fast_read(key(number), now);
  }
  [[nodiscard]] std::optional<RequestActivity> of(std::uint64_t number) const {
    return view.find(key(number));
  }
  [[nodiscard]] std::span<std::byte> memory() { return std::as_writable_bytes(std::span(memory_)); }

 private:
  std::vector<Line> memory_;

 public:
  ActivityTable table;
  ActivityView view;
};

}  // namespace

TEST_CASE("What is counted of a request is what the master reads") {
  World world;
  const Sketch key = World::key(1);
  CHECK_FALSE(world.of(1));
  world.table.on_group_read({key, 1, true, "www.example.org", "/a?b"}, kNow);
  world.table.on_compared(key, true, kNow + 1);
  for (int i = 0; i < 3; ++i)
    world.table.on_hit({key, 1, true, "www.example.org", "/a?b"}, kNow + 9);
  const auto activity = world.of(1);
  REQUIRE(activity);
  CHECK(activity->url == "www.example.org/a?b");
  CHECK_FALSE(activity->is_cut);
  CHECK(activity->is_head);
  CHECK(activity->route == 1);
  CHECK(activity->hits == 3);
  CHECK(activity->group_reads == 1);
  CHECK(activity->transitions == 1);
  CHECK(activity->first_seconds == kNow);
  CHECK(activity->last_seconds == kNow + 9);
  CHECK(activity->volatility.share() == Approx(0.25).margin(0.01));
  CHECK(world.view.head().records.get() == 1);
}

TEST_CASE("URLs are bounded") {
  World world;
  const std::string target = "/" + std::string(1000, 'x');
  world.table.on_group_read({World::key(1), 0, false, "a", target}, kNow);
  CHECK(world.of(1)->url == ("a" + target).substr(0, ActivityRecord::kUrlBytesMax));
  CHECK(world.of(1)->is_cut);
  world.table.on_group_read({World::key(2), 0, false, target, "/"}, kNow);
  CHECK(world.of(2)->url.size() == ActivityRecord::kUrlBytesMax);
}

TEST_CASE("A request is blacklisted by transitions alone, and comes back") {
  World world;
  for (int i = 0; i < 15; ++i)
    world.compare(1, true);
  CHECK_FALSE(world.avoids(1));
  world.compare(1, true);
  CHECK(world.avoids(1));
  CHECK_FALSE(world.avoids(2));
  CHECK(world.view.head().blacklisted.get() == 1);
  int reads = 0;
  for (; world.avoids(1); ++reads)
    world.compare(1, false);
  CHECK(reads < 32);
  CHECK(world.view.head().blacklisted.get() == 0);
}

TEST_CASE("Asking the group, however often, blacklists nothing") {
  World world;
  for (int i = 0; i < 1000; ++i)
    world.group_read(1);  // origins that failed or lied: nothing was compared, or all was equal
  for (int i = 0; i < 1000; ++i)
    world.compare(2, false);
  CHECK_FALSE(world.avoids(1));
  CHECK_FALSE(world.avoids(2));
}

TEST_CASE("A route may have none of it") {
  World world;
  for (int i = 0; i < 100; ++i)
    world.compare(1, true, kNow, 1);
  CHECK_FALSE(world.avoids(1));
}

TEST_CASE("What nobody reads is swept") {
  World world;
  for (int i = 0; i < 32; ++i)
    world.compare(1, true);
  constexpr std::uint32_t kLater = kNow + 3 * Volatility::kHalfLifeSeconds;
  CHECK_FALSE(world.avoids(1, kLater));
  CHECK(world.view.head().blacklisted.get() == 1);
  for (int i = 0; i < 64; ++i)
    world.table.sweep(kLater);
  CHECK(world.view.head().blacklisted.get() == 0);
}

TEST_CASE("A quarter of the records at most is blacklisted") {
  World world(4);
  for (std::uint64_t number = 0; number < 40; ++number) {
    for (int i = 0; i < 32; ++i)
      world.compare(number, true);
  }
  CHECK(world.view.head().blacklisted.get() == 16);
}

TEST_CASE("Of a worker's reads, half at most are kept from fast reads") {
  World world;
  for (int i = 0; i < 32; ++i)
    world.compare(1, true);
  int avoided = 0;
  for (int i = 0; i < 10'000; ++i)
    avoided += world.avoids(1) ? 1 : 0;
  CHECK(avoided >= 5000);
  CHECK(avoided <= 5000 + static_cast<int>(AvoidanceCredit::kBurst));
}

TEST_CASE("A full set gives up what has no transitions, and of these what was used longest ago") {
  World world;
  world.compare(0, true, kNow);
  for (std::uint64_t number = 1; number < 16; ++number)
    world.group_read(number, kNow + 10 * static_cast<std::uint32_t>(number));
  CHECK(world.view.head().evictions.get() == 0);
  // A flood of what is asked for once.
  for (std::uint64_t number = 100; number < 1100; ++number) {
    world.hit(15, kNow + 300);
    world.group_read(number, kNow + 300);
  }
  CHECK(world.of(0));
  CHECK(world.of(15));
  CHECK_FALSE(world.of(1));
  CHECK(world.view.head().evictions.get() == 1000);
  CHECK(world.view.head().records.get() == 16);
  // After an hour, transitions keep nothing.
  for (std::uint64_t number = 2000; number < 2016; ++number)
    world.group_read(number, kNow + 4000);
  CHECK_FALSE(world.of(0));
}

TEST_CASE("What was used last stays when time goes back") {
  World world;
  for (std::uint64_t number = 0; number < 15; ++number)
    world.group_read(number, kNow + 8);
  world.group_read(15, kNow + 16);
  // These came before, and took long.
  for (std::uint64_t number = 100; number < 115; ++number)
    world.group_read(number, kNow + 12);
  CHECK(world.of(15));
  world.hit(15, kNow);
  world.group_read(200, kNow + 16);
  CHECK(world.of(15));
  CHECK(world.of(15)->last_seconds == kNow + 16);
}

TEST_CASE("What the group is asked for is in use, though nothing comes to be compared") {
  World world;
  for (int i = 0; i < 32; ++i)
    world.compare(0, true);
  for (std::uint64_t number = 1; number < 16; ++number)
    world.group_read(number, kNow + 100);
  REQUIRE(world.view.head().blacklisted.get() == 1);
  constexpr std::uint32_t kLater = kNow + 3 * Volatility::kHalfLifeSeconds;
  world.group_read(1, kLater);
  CHECK(world.of(1)->last_seconds == kLater);
  world.group_read(100, kLater);
  CHECK(world.of(1));
  // What is known of it has aged, once.
  world.group_read(0, kLater);
  CHECK(world.of(0)->last_seconds == kLater);
  CHECK(world.of(0)->volatility.weight_after(0) == Approx(4).epsilon(0.01));
  CHECK_FALSE(world.avoids(0, kLater));
  CHECK(world.view.head().blacklisted.get() == 0);
}

TEST_CASE("A hit of an unknown request takes another's place one time in eight") {
  World world;
  for (std::uint64_t number = 0; number < 16; ++number)
    world.group_read(number);
  for (std::uint64_t number = 100; number < 180; ++number)
    world.hit(number, kNow + 100);
  CHECK(world.view.head().evictions.get() == 10);
}

TEST_CASE("A record that is blacklisted and evicted counts no more") {
  World world;
  for (std::uint64_t number = 0; number < 4; ++number) {
    for (int i = 0; i < 16; ++i)
      world.compare(number, true);
  }
  REQUIRE(world.view.head().blacklisted.get() == 4);
  for (std::uint64_t number = 100; number < 116; ++number)
    world.group_read(number, kNow + 5000);
  CHECK(world.view.head().blacklisted.get() == 0);
}

TEST_CASE("A worker's replacement goes on with what it left") {
  World world;
  for (int i = 0; i < 16; ++i)
    world.compare(1, true);
  world.group_read(2);
  // Killed while it wrote the second.
  ActivityParts parts(world.memory().data(), world.memory().size());
  for (std::size_t i = 0; i < parts.record_count(); ++i) {
    ActivityRecord& record = parts.records[i];
    if (record.version != 0 && record.transitions == 0) record.version.fetch_add(1);
  }
  REQUIRE_FALSE(world.of(2));
  parts.head->records.set(77);
  world.table = ActivityTable(world.memory(), {VolatilityLimits{0.75F}});
  CHECK(world.view.head().records.get() == 1);
  CHECK(world.view.head().blacklisted.get() == 1);
  CHECK(world.avoids(1));
  world.group_read(2);
  CHECK(world.of(2)->group_reads == 1);
  for (std::uint64_t number = 100; number < 113; ++number)
    world.group_read(number);
  CHECK(world.view.head().evictions.get() == 0);
}

TEST_CASE("The master sees no record that is half another one") {
  World world(2);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint64_t number = 0; number < 100'000; ++number)
      world.compare(number % 1000, true, kNow + static_cast<std::uint32_t>(number / 100));
    done = true;
  });
  std::uint64_t seen = 0;
  bool is_whole = true;
  do {
    world.view.for_each_with_transitions([&](const RequestActivity& activity) {
      ++seen;
      const std::uint64_t number = std::stoull("0" + activity.url.substr(2));
      is_whole = is_whole && activity.url == "a" + World::target(number) &&
                 activity.key == World::key(number);
    });
  } while (!done);
  writer.join();
  CHECK(is_whole);
  CHECK(seen > 0);
}

}  // namespace prophecy::sketcher
