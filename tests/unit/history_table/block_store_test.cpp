// The store of lists: what was put last is found, what is found is what was put, and a writer that
// is killed costs at most its own list.
#include "history_table/block_store.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include <catch2/catch.hpp>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/digest.hpp"

namespace prophecy {
namespace {

using sketch::Sketch;

constexpr std::size_t kStoreBytes = 256 << 10;

struct List {
  Bytes bytes;
  Sketch key{};
};

Sketch digest_key(ByteView bytes) {
  const auto digest = sha256(bytes);
  Sketch key;
  std::copy_n(digest.begin(), key.size(), key.begin());
  return key;
}

List make_list(std::uint64_t number, std::size_t size) {
  std::mt19937_64 random(number);
  List list;
  for (std::size_t i = 0; i < size; ++i)
    list.bytes.push_back(static_cast<std::uint8_t>(random()));
  list.key = digest_key(list.bytes);
  return list;
}

std::size_t size_for(std::uint64_t number) {
  return 1 + number * 7919 % 5000;
}

BlockStore make_store(std::size_t bytes = kStoreBytes) {
  auto store = BlockStore::create(bytes);
  REQUIRE(store.has_value());
  return std::move(*store);
}

}  // namespace

TEST_CASE("an empty store has nothing") {
  const BlockStore store = make_store();
  CHECK_FALSE(store.find(make_list(1, 10).key).has_value());
  CHECK(store.bytes_taken() == 0);
}

TEST_CASE("the newest lists are found, whole; older ones give way to them") {
  BlockStore store = make_store();
  constexpr std::uint64_t kLists = 2000;
  for (std::uint64_t number = 0; number < kLists; ++number) {
    const List list = make_list(number, size_for(number));
    REQUIRE(store.put(list.key, list.bytes));
    for (std::uint64_t back = 0; back < std::min<std::uint64_t>(number + 1, 20); ++back) {
      const List newer = make_list(number - back, size_for(number - back));
      const auto found = store.find(newer.key);
      REQUIRE(found.has_value());
      REQUIRE(found->bytes == newer.bytes);
    }
  }
  CHECK(store.bytes_taken() > 10 * store.capacity());
  std::uint64_t found = 0;
  for (std::uint64_t number = 0; number < kLists; ++number) {
    const List list = make_list(number, size_for(number));
    if (const auto kept = store.find(list.key)) {
      ++found;
      CHECK(kept->bytes == list.bytes);
    }
  }
  CHECK(found > 50);
  CHECK(found < 150);
}

TEST_CASE("a list on its way out says so, and lives on when it is put again") {
  BlockStore store = make_store();
  const List hot = make_list(1, 500);
  REQUIRE(store.put(hot.key, hot.bytes));
  CHECK_FALSE(store.find(hot.key)->is_old);
  std::size_t renewed = 0;
  for (std::uint64_t number = 2; number < 1000; ++number) {
    const List list = make_list(number, size_for(number));
    REQUIRE(store.put(list.key, list.bytes));
    const auto found = store.find(hot.key);
    REQUIRE(found.has_value());
    REQUIRE(found->bytes == hot.bytes);
    if (found->is_old) {
      ++renewed;
      REQUIRE(store.put(hot.key, hot.bytes));
    }
  }
  CHECK(renewed > 3);
}

TEST_CASE("what is larger than a quarter of the store is not taken") {
  BlockStore store = make_store();
  const List large = make_list(1, kStoreBytes / 4);
  CHECK_FALSE(store.put(large.key, large.bytes));
  CHECK_FALSE(store.find(large.key).has_value());
  const List empty = make_list(1, 0);
  CHECK(store.put(empty.key, empty.bytes));
  CHECK(store.find(empty.key)->bytes.empty());
}

TEST_CASE("threads that put and find get their lists, or ones that show to be torn") {
  BlockStore store = make_store(BlockStore::kBytesMin);
  constexpr std::uint64_t kRounds = 3000;
  constexpr std::uint64_t kLists = 40;
  std::atomic<std::uint64_t> good{0};
  std::atomic<std::uint64_t> torn{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const std::uint64_t number = (round * 31 + thread * 17) % kLists;
        const List list = make_list(number, size_for(number));
        if (round % 2 == 0) {
          store.put(list.key, list.bytes);
        } else if (const auto found = store.find(list.key)) {
          (digest_key(found->bytes) == list.key ? good : torn).fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  // Few where the threads take turns on a busy machine: a list is often overwritten by then.
  CHECK(good > kRounds / 100);
  // Only a writer that stood still for a whole turn of the ring tears.
  CHECK(torn < good / 2);
}

TEST_CASE("writers killed at any instant leave whole lists, and nobody waiting") {
  BlockStore store = make_store();
  void* const shared =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  auto* const last = new (shared) std::atomic<std::uint64_t>(0);
  std::mt19937_64 random(GENERATE(11));
  std::uint64_t found_others = 0;
  for (int kill_number = 0; kill_number < 300; ++kill_number) {
    const pid_t writer = ::fork();
    REQUIRE(writer >= 0);
    if (writer == 0) {
      for (std::uint64_t number = *last + 1;; ++number) {
        const List list = make_list(number, size_for(number));
        store.put(list.key, list.bytes);
        last->store(number);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    REQUIRE(::kill(writer, SIGKILL) == 0);
    REQUIRE(::waitpid(writer, nullptr, 0) == writer);
    // What it had put is there; what it was at is there as a whole, or not.
    const std::uint64_t number = *last;
    for (const std::uint64_t other : {number, number + 1}) {
      const List list = make_list(other, size_for(other));
      const auto found = store.find(list.key);
      if (other == number && number > 0) REQUIRE(found.has_value());
      if (found) CHECK(found->bytes == list.bytes);
      found_others += found.has_value();
    }
    const List own = make_list(1'000'000'000 + static_cast<std::uint64_t>(kill_number), 100);
    REQUIRE(store.put(own.key, own.bytes));
    REQUIRE(store.find(own.key)->bytes == own.bytes);
  }
  CHECK(found_others > 100);
  CHECK(*last > 300);
  ::munmap(shared, 4096);
}

}  // namespace prophecy
