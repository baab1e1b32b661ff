// What a replica keeps on its disk, as one: the store of its promises and the parts of its states,
// and what the replica may conclude from what lies there.
//
//   nothing configured                                   not kept
//   an empty store, made by `--init`, or the records     whole
//   no store, a damaged one, one of which nobody knows   lost: the replica rejoins its group as one
//   who made it                                          that has forgotten what it said
//   another group's, another replica's, in use           an error: nothing begins
#pragma once

#include <memory>
#include <optional>

#include <boost/asio/io_context.hpp>

#include "base/log.hpp"
#include "pbft/core/replica.hpp"
#include "pbft/core/state/memory_part_store.hpp"
#include "pbft/replica/replica_config.hpp"
#include "pbft/storage/part_folder.hpp"
#include "pbft/storage/store.hpp"

namespace prophecy::pbft {

class ReplicaStorage {
 public:
  // Logs what an operator should know of it. `io` must not run any more once it is destroyed.
  [[nodiscard]] static Result<std::unique_ptr<ReplicaStorage>> open(boost::asio::io_context& io,
                                                                    const ReplicaIdentity& identity,
                                                                    Logger& log);
  // Makes the empty store of a replica that has never said anything. Fails when there is one.
  [[nodiscard]] static Result<> init(const ReplicaIdentity& identity);

  // With what the core begins. To be taken once.
  [[nodiscard]] ReplicaStart take_start();
  [[nodiscard]] PartStore& parts();

  // Requires that something is kept, unless there are no writes.
  void commit(std::vector<DurableWrite> writes, Store::Done done);
  void flush_parts(FilePartStore::Done done);
  // Requires a pinned root.
  void make_durable(const Digest& root, FilePartStore::Done done);
  // Parts that no state needs which the core remembers.
  void sweep();
  // The writes of an event have been handed in. Files of parts that it forgot are removed once they
  // are on the disk.
  void end_event();

  struct Counters {
    StoreCounters store;
    PartStoreCounters parts;
    std::size_t parts_held = 0;
    std::size_t bytes_in_memory = 0;  // of parts
  };
  // Nothing when nothing is kept.
  [[nodiscard]] std::optional<Counters> counters() const;

 private:
  explicit ReplicaStorage(boost::asio::io_context& io) : io_(io) {}
  // ErrorKind::damaged: what lies there is to be set aside.
  [[nodiscard]] Result<> open_store(const StoreSettings& settings, const ReplicaIdentity& identity);
  [[nodiscard]] Result<> read_records(std::uint32_t replicas);

  boost::asio::io_context& io_;
  ReplicaStart start_;
  std::uint64_t group_number_ = 0;  // the highest that the store has seen
  MemoryPartStore memory_parts_;
  std::unique_ptr<Store> store_;  // null: nothing is kept
  std::unique_ptr<FilePartStore> file_parts_;
  std::uint64_t removable_ = 0;  // of the files that it forgot
  bool is_removing_ = false;     // others wait for the store
};

inline constexpr auto kPartsTable = metric_table<ReplicaStorage::Counters>(
    "", "storage",
    {metric_row<&ReplicaStorage::Counters::parts_held>(
         "parts",
         gauge_metric("prophecy_replica_parts", "parts", "Parts of states that are held.")),
     metric_row<&ReplicaStorage::Counters::bytes_in_memory>(
         "parts_bytes_in_memory", gauge_metric("prophecy_replica_parts_memory_bytes", "bytes",
                                               "Bytes of parts that are held in memory."))});

}  // namespace prophecy::pbft
