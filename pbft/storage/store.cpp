#include "pbft/storage/store.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "base/assert.hpp"
#include "base/io/thread.hpp"
#include "pbft/storage/promise_database.hpp"

namespace prophecy::pbft {
namespace {

// A write is copied together in memory; beyond this the next one takes the rest.
constexpr std::size_t kWriteBytesMax = 32 * 1024 * 1024;

std::size_t bytes_of(const std::vector<DurableWrite>& writes) {
  std::size_t bytes = 0;
  for (const DurableWrite& write : writes)
    bytes += write.key.size() + (write.value ? write.value->size() : 0);
  return bytes;
}

}  // namespace

class Store::Machine {
 public:
  Machine(StoreFolder folder, PromiseDatabase database, SyncPolicy sync, Executor executor)
      : folder_(std::move(folder)),
        database_(std::move(database)),
        sync_(sync),
        executor_(std::move(executor)) {}

  [[nodiscard]] Result<> start() {
    return start_thread(writer_, [this] { run(); });
  }

  ~Machine() {
    if (!writer_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_.notify_one();
    writer_.join();
  }

  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  void commit(std::vector<DurableWrite> writes, Done done) {
    const std::size_t bytes = bytes_of(writes);
    {
      const std::lock_guard lock(mutex_);
      if (!work_) work_.emplace(executor_);
      waiting_.writes.push_back(std::move(writes));
      waiting_.done.push_back(std::move(done));
      waiting_.bytes.push_back(bytes);
      counters_.pending_bytes += bytes;
    }
    wake_.notify_one();
  }

  [[nodiscard]] bool fresh() const { return folder_.fresh(); }
  [[nodiscard]] Result<> load(const Visit& visit) const { return database_.load(visit); }
  [[nodiscard]] StoreCounters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

 private:
  // Commits, each at one place of all three.
  struct Group {
    std::vector<std::vector<DurableWrite>> writes;
    std::vector<Done> done;
    std::vector<std::size_t> bytes;
  };
  // Keeps the event loop from ending while a completion is to come.
  using Work = boost::asio::executor_work_guard<Executor>;

  void run() {
    while (auto group = take())
      complete(std::move(*group));
  }

  // The next write's commits; nothing when the store closes.
  std::optional<Group> take() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return closing_ || !waiting_.done.empty(); });
    if (waiting_.done.empty()) return std::nullopt;
    std::size_t count = 1;
    std::size_t bytes = waiting_.bytes.front();
    while (count < waiting_.bytes.size() && bytes + waiting_.bytes[count] <= kWriteBytesMax)
      bytes += waiting_.bytes[count++];
    if (count == waiting_.done.size()) return std::exchange(waiting_, {});
    Group group;
    const auto move_front = [count](auto& from, auto& to) {
      const auto end = from.begin() + static_cast<std::ptrdiff_t>(count);
      to.assign(std::make_move_iterator(from.begin()), std::make_move_iterator(end));
      from.erase(from.begin(), end);
    };
    move_front(waiting_.writes, group.writes);
    move_front(waiting_.done, group.done);
    move_front(waiting_.bytes, group.bytes);
    return group;
  }

  void complete(Group group) {
    if (!failure_) write(group);
    const std::lock_guard lock(mutex_);
    for (const std::size_t bytes : group.bytes)
      counters_.pending_bytes -= bytes;
    counters_.commits += failure_ ? 0 : group.done.size();
    boost::asio::post(executor_, [done = std::move(group.done), failure = failure_] {
      for (const Done& call : done)
        call(failure ? Result<>(*failure) : Result<>());
    });
    if (waiting_.done.empty()) work_.reset();
  }

  void write(const Group& group) {
    const bool nothing = std::all_of(group.writes.begin(), group.writes.end(),
                                     [](const auto& writes) { return writes.empty(); });
    if (nothing) return;
    const TimePoint begun = std::chrono::steady_clock::now();
    const auto written = database_.write(group.writes, sync_);
    const Duration time = std::chrono::steady_clock::now() - begun;
    if (!written) {
      failure_ = written.error();
      return;
    }
    const std::lock_guard lock(mutex_);
    ++counters_.writes;
    for (const std::size_t bytes : group.bytes)
      counters_.bytes += bytes;
    if (sync_ != SyncPolicy::always) return;
    ++counters_.syncs;
    counters_.sync_time_total += time;
    counters_.sync_time_max = std::max(counters_.sync_time_max, time);
  }

  StoreFolder folder_;
  PromiseDatabase database_;
  SyncPolicy sync_;
  Executor executor_;
  std::optional<Error> failure_;  // of the writer's thread; once set, for good

  mutable std::mutex mutex_;  // of what follows
  std::condition_variable wake_;
  Group waiting_;
  std::optional<Work> work_;
  StoreCounters counters_;
  bool closing_ = false;

  std::thread writer_;  // last: it uses all of the above
};

Store::Store(std::unique_ptr<Machine> machine) : machine_(std::move(machine)) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(const StoreSettings& settings,
                                           const StoreIdentity& identity, Executor executor) {
  // RocksDB starts threads of its own.
  try {
    auto folder = StoreFolder::open(settings.folder, identity, PromiseDatabase::make);
    if (!folder) return folder.error();
    auto database = PromiseDatabase::open(folder->database(), folder->mark_secret());
    if (!database) return database.error();
    auto machine = std::make_unique<Machine>(std::move(*folder), std::move(*database),
                                             settings.sync, std::move(executor));
    if (auto started = machine->start(); !started) return started.error();
    return std::unique_ptr<Store>(new Store(std::move(machine)));
  } catch (const std::system_error& error) {
    return no_thread(error);
  }
}

bool Store::fresh() const {
  return machine_->fresh();
}

Result<> Store::load(const Visit& visit) const {
  return machine_->load(visit);
}

void Store::commit(std::vector<DurableWrite> writes, Done done) {
  for (const DurableWrite& write : writes) {
    ASSERT(write.key.size() <= kStoreKeyBytesMax);
    ASSERT(!write.value || write.value->size() <= kStoreValueBytesMax);
  }
  machine_->commit(std::move(writes), std::move(done));
}

StoreCounters Store::counters() const {
  return machine_->counters();
}

}  // namespace prophecy::pbft
