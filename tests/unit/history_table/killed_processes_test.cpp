// Processes on one table, writers among them killed at random instants, thousands of times. No
// reader may see a pair that nobody wrote or something older than before, and nobody may be
// left waiting. PROPHECY_TABLE_KILLS=300000 makes it longer: some 300 kills a second.
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <catch2/catch.hpp>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "history_table/history_table.hpp"
#include "support.hpp"

namespace prophecy {
namespace {

using table::answer_for;
using table::is_genuine;
using table::key_number;
using table::next_random;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kWrittenKeys =
    2400;                            // over twice what the table holds: evictions all the time
constexpr std::size_t kHotKeys = 4;  // most writes go there, so that locks are met
constexpr std::size_t kWritingProcesses = 3;
constexpr std::size_t kReaders = 2;
constexpr int kKillsWanted = 3000;
constexpr int kKillsMin = 50;                         // however long they take
constexpr auto kTimeMax = std::chrono::seconds(8);    // unless so many kills are asked for by hand
constexpr auto kPatience = std::chrono::seconds(20);  // on a busy machine

// Shared with the children, apart from the table.
struct Scoreboard {
  std::atomic<Sigma> newest{0};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> torn{0};
  std::atomic<std::uint64_t> went_back{0};
  std::array<std::atomic<std::uint64_t>, kWritingProcesses + 1> updates{};
};

std::uint64_t draw_key(std::uint64_t& random) {
  const bool hot = next_random(random) % 4 != 0;
  return next_random(random) % (hot ? kHotKeys : kWrittenKeys);
}

// A partition is erased in a bucket; an entry of another one is taken.
void change_hands(HistoryTable& table, Scoreboard& board, std::uint64_t& random) {
  const table::Tag given = table::tag_of(key_number(draw_key(random)));
  std::bitset<kPartitions> partitions;
  partitions.set(partition_of(given));
  (void)table.erase_in_bucket(next_random(random) % table.bucket_count(), partitions);
  const std::uint64_t key = draw_key(random);
  const Sigma sigma = board.newest.fetch_add(1) + 1;
  table.take_handed(
      {table::tag_of(key_number(key)), answer_for(key, sigma), table::make_state(sigma, Room::any)},
      sigma);
}

[[noreturn]] void write_until_stopped(HistoryTable& table, Scoreboard& board, WriterSlot slot,
                                      std::uint64_t random) {
  table.attach(slot);
  while (!board.stop.load(std::memory_order_relaxed)) {
    const std::uint64_t key = draw_key(random);
    const Sigma sigma = board.newest.fetch_add(1) + 1;
    const Room room = next_random(random) % 4 == 0 ? Room::limited : Room::any;
    table.update(key_number(key), answer_for(key, sigma), sigma, room);
    if (next_random(random) % 64 == 0) (void)table.erase(key_number(key));
    if (next_random(random) % 64 == 0) change_hands(table, board, random);
    board.updates[slot].fetch_add(1, std::memory_order_relaxed);
  }
  ::_exit(0);
}

[[noreturn]] void read_until_stopped(const HistoryTable& table, Scoreboard& board,
                                     std::uint64_t random) {
  std::array<Sigma, kWrittenKeys> seen{};
  while (!board.stop.load(std::memory_order_relaxed)) {
    const std::uint64_t key = draw_key(random);
    const auto entry = table.lookup(key_number(key));
    if (!entry) continue;
    board.hits.fetch_add(1, std::memory_order_relaxed);
    if (!is_genuine(key, *entry)) ++board.torn;
    if (entry->sigma < seen[key]) ++board.went_back;
    seen[key] = entry->sigma;
  }
  ::_exit(0);
}

// True once the child has ended by itself, within the test's patience.
bool ends_by_itself(pid_t child) {
  const auto deadline = Clock::now() + kPatience;
  int status = 0;
  while (Clock::now() < deadline) {
    if (::waitpid(child, &status, WNOHANG) == child) {
      return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return false;
}

class Arena {
 public:
  Arena() : table_(make_table()) {
    void* const memory = ::mmap(nullptr, sizeof(Scoreboard), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    board_ = new (memory) Scoreboard;
    for (auto& reader : readers_) {
      reader = start([this] { read_until_stopped(table_, *board_, next_random(random_)); });
    }
    for (std::size_t i = 0; i < kWritingProcesses; ++i)
      start_writer(i);
  }
  ~Arena() { ::munmap(board_, sizeof(Scoreboard)); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void kill_and_replace(std::size_t writer) {
    ::kill(writers_[writer], SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(writers_[writer], &status, 0) == writers_[writer]);
    REQUIRE(WIFSIGNALED(status));
    table_.declare_dead(slot_of(writer));
    start_writer(writer);
  }

  // Every writer gets an update done after the last death: nobody waits for the dead.
  bool all_progress() {
    const auto deadline = Clock::now() + kPatience;
    for (std::size_t i = 0; i < kWritingProcesses; ++i) {
      const auto& updates = board_->updates[slot_of(i)];
      const std::uint64_t before = updates;
      while (updates < before + 2) {
        if (Clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    return true;
  }

  bool stop() {
    board_->stop = true;
    bool all = true;
    for (const pid_t child : writers_)
      all = ends_by_itself(child) && all;
    for (const pid_t child : readers_)
      all = ends_by_itself(child) && all;
    return all;
  }

  HistoryTable& table() { return table_; }
  Scoreboard& board() { return *board_; }
  std::uint64_t random() { return next_random(random_); }

 private:
  static HistoryTable make_table() {
    auto table = HistoryTable::create(HistoryTable::kBytesMin, 3);
    REQUIRE(table.has_value());
    return std::move(*table);
  }
  static WriterSlot slot_of(std::size_t writer) { return static_cast<WriterSlot>(writer + 1); }

  template <class Child>
  pid_t start(Child child) {
    (void)next_random(random_);  // each child another sequence
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) child();
    return pid;
  }
  void start_writer(std::size_t i) {
    writers_[i] = start(
        [this, i] { write_until_stopped(table_, *board_, slot_of(i), next_random(random_)); });
  }

  HistoryTable table_;
  Scoreboard* board_ = nullptr;
  std::uint64_t random_ = 42;
  std::array<pid_t, kWritingProcesses> writers_{};
  std::array<pid_t, kReaders> readers_{};
};

}  // namespace

TEST_CASE("writers killed at random instants leave a correct table and nobody waiting") {
  const char* const asked = std::getenv("PROPHECY_TABLE_KILLS");
  const int kills_wanted = asked != nullptr ? std::stoi(asked) : kKillsWanted;
  Arena arena;
  const auto end = asked != nullptr ? Clock::time_point::max() : Clock::now() + kTimeMax;
  int kills = 0;
  while (kills < kills_wanted && (kills < kKillsMin || Clock::now() < end)) {
    std::this_thread::sleep_for(std::chrono::microseconds(arena.random() % 2000));
    arena.kill_and_replace(arena.random() % kWritingProcesses);
    ++kills;
  }
  CHECK(arena.all_progress());
  CHECK(arena.stop());

  const HistoryTableStats stats = arena.table().stats();
  INFO("kills " << kills << ", recoveries " << stats.recoveries << ", hits " << arena.board().hits
                << ", updates " << arena.board().newest);
  CHECK(arena.board().torn == 0);
  CHECK(arena.board().went_back == 0);
  CHECK(arena.board().hits > 0);
  CHECK((asked == nullptr || kills == kills_wanted));
  CHECK(stats.recoveries > 0);  // else no kill hit a change, and nothing was shown
  CHECK(stats.evictions > 0);

  std::uint64_t present = 0;
  for (std::uint64_t key = 0; key < kWrittenKeys; ++key) {
    const auto entry = arena.table().lookup(key_number(key));
    if (!entry) continue;
    ++present;
    CHECK(is_genuine(key, *entry));
  }
  CHECK(stats.entries == present);
}

}  // namespace prophecy
