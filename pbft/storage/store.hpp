// What a replica must not forget: its promises (pbft/core/state/actions.hpp), as keys and values
// that outlast a crash. Kept by RocksDB, which is an implementation matter.
//
// Commits are asynchronous, keep their order, and share writes: one thread of the store takes all
// that has been handed in since its last write, makes one write of it, and hands the completions to
// the caller's event loop. After a write that failed the store is dead, and every later commit
// fails: a replica stops rather than go on without its promises.
//
// open() believes a store only when it is whole. Values are checksummed, and a write that was
// completed and is not there any more is noticed (pbft/storage/write_marks.hpp); only the last
// write may be missing, and only when it was cut short. All else is ErrorKind::damaged. The caller
// then sets the folder aside (pbft/storage/store_folder.hpp) and begins as a replica that has lost
// its disk.
//
// Handed in and opened from one thread; counters() may be called from any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/metric.hpp"
#include "pbft/core/state/actions.hpp"
#include "pbft/storage/store_folder.hpp"
#include "pbft/storage/store_settings.hpp"

namespace prophecy::pbft {

constexpr std::size_t kStoreKeyBytesMax = 64;
constexpr std::size_t kStoreValueBytesMax = 32 * 1024 * 1024;

struct StoreCounters {
  std::uint64_t commits = 0;  // completed
  std::uint64_t writes = 0;   // each of one commit or more
  std::uint64_t bytes = 0;    // of keys and values
  std::uint64_t syncs = 0;
  std::uint64_t pending_bytes = 0;  // handed in, not completed
  Duration sync_time_total{};       // of the writes that were synced
  Duration sync_time_max{};
};
inline constexpr auto kStoreTable = metric_table<StoreCounters>(
    "", "storage",
    {metric_row<&StoreCounters::commits>(
         "commits", counter_metric("prophecy_replica_store_commits_total", "commits",
                                   "Commits that are complete.")),
     metric_row<&StoreCounters::writes>(
         "writes", counter_metric("prophecy_replica_store_writes_total", "writes",
                                  "Writes to the store, each of one commit or more.")),
     metric_row<&StoreCounters::bytes>(
         "bytes", counter_metric("prophecy_replica_store_bytes_total", "bytes",
                                 "Bytes of keys and values written to the store.")),
     metric_row<&StoreCounters::syncs>(
         "syncs", counter_metric("prophecy_replica_store_syncs_total", "writes",
                                 "Writes to the store that were synced.")),
     metric_row<&StoreCounters::pending_bytes>(
         "pending_bytes", gauge_metric("prophecy_replica_store_pending_bytes", "bytes",
                                       "Bytes that have not been synced to the disk yet.")),
     metric_row<&StoreCounters::sync_time_total>(
         "", counter_metric("prophecy_replica_store_sync_seconds_total", "seconds",
                            "Time that synced writes to the store took.")
                 .about("The status has the mean as `storage.sync_milliseconds_mean`.")),
     metric_row<&StoreCounters::sync_time_max>(
         "", gauge_metric("prophecy_replica_store_sync_max_seconds", "seconds",
                          "The longest time that a synced write took.")
                 .about("The status has it as `storage.sync_milliseconds_max`."))});

class Store {
 public:
  using Executor = boost::asio::io_context::executor_type;
  using Done = std::function<void(Result<>)>;
  using Visit = std::function<void(ByteView key, ByteView value)>;

  // Makes the folder (mode 0700) and an empty store when there is none. Completions are posted to
  // the executor. Errors as StoreFolder::open(), and ErrorKind::io.
  [[nodiscard]] static Result<std::unique_ptr<Store>> open(const StoreSettings& settings,
                                                           const StoreIdentity& identity,
                                                           Executor executor);
  // What has been handed in is written first. Completions of that may still be run by the executor
  // afterwards.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // True when open() made it: nothing was ever promised here, or what was is lost.
  [[nodiscard]] bool fresh() const;

  // All that is there, by rising keys, each checked against its checksum. When it fails, what was
  // visited is not to be used.
  [[nodiscard]] Result<> load(const Visit& visit) const;

  // `writes` may be empty: `done` then only waits for all commits before it. Requires keys and
  // values within the limits above. How much may be pending is bounded by the caller.
  void commit(std::vector<DurableWrite> writes, Done done);

  [[nodiscard]] StoreCounters counters() const;

 private:
  class Machine;
  explicit Store(std::unique_ptr<Machine> machine);
  std::unique_ptr<Machine> machine_;
};

}  // namespace prophecy::pbft
