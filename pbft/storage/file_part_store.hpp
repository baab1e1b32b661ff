// Parts as files, through a PartFiles (pbft/storage/part_files.hpp).
//
// Most parts are of a snapshot that the next one replaces. So what is kept stays in memory, and
// reaches the disk only when it is still pinned at the next flush():
//
//   keep() ---> memory ---flush(), make_durable()---> being written ---> disk
//                  |                                        |              |
//                  +--- unpinned: gone <--------------------+              +--- unpinned --->
//                                                                     forgotten ---> file removed
//
// keep_written() writes as soon as nothing else is being written, pinned or not. Such parts leave
// kFreeBytesMin of the file system to others: what a replica promises lies there as well, and a
// disk that refuses a promise ends it. keep() does so beyond kUnwrittenBytesMax in memory, and all
// else that is in memory is written with it, pinned or not; snapshots and fetches wait then until
// there is no backlog.
//
// The file of a part that nobody wants stays until the caller says that no record on the disk names
// the part (remove_up_to()): the record that forgets it lasts only later than it is made, and a
// restart in between has to find the part. A part that is kept again meanwhile has its old file
// back, which is not written anew: a loss of power before the next sync could take it from the
// record that still names it. Only a file that is not known to be whole is written anew; no record
// can lead to it.
//
// Writing, syncing and removing is the PartWriter's. One piece of work is under way at a time, and
// takes all that was asked for before it began. The bytes are shared with it; all else belongs to
// the event loop. So a disk that stalls holds up nothing but the reading of a part from it.
//
// Reading checks the digest. A file that is not what its name says is removed and counted, and the
// part is missing then: it can be fetched and kept again. Likewise one that cannot be read, but
// that it stays until it is kept again: it may be readable another time. What an earlier process
// has left is read when it is pinned. Of what was kept, or read, since it is known whether anything
// is below it, so that a leaf is not read again to be pinned or let go.
//
// Called from one thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/metric.hpp"
#include "pbft/core/state/part_references.hpp"
#include "pbft/core/state/part_store.hpp"
#include "pbft/storage/part_files.hpp"
#include "pbft/storage/store_settings.hpp"

namespace prophecy::pbft {

constexpr std::size_t kUnwrittenBytesMax = 64 * 1024 * 1024;
// Nothing is kept beyond.
constexpr std::size_t kMemoryBytesMax = 2 * kUnwrittenBytesMax;
// Of these, what keep_written() has yet to write.
constexpr std::size_t kLeavingBytesMax = 16 * 1024 * 1024;
constexpr std::uint64_t kFreeBytesMin = 256 * 1024 * 1024;

struct PartStoreCounters {
  std::uint64_t kept = 0;
  std::uint64_t written = 0;
  std::uint64_t removed = 0;  // from the disk: nobody's any more
  std::uint64_t damaged = 0;  // not what was written; removed
  std::uint64_t refused = 0;  // by the system: not read, not written, or not synced; or no room
  std::uint64_t flushes = 0;
};
inline constexpr auto kPartStoreTable = metric_table<PartStoreCounters>(
    "", "storage",
    {metric_row<&PartStoreCounters::kept>(
         "parts_kept", counter_metric("prophecy_replica_parts_kept_total", "parts",
                                      "Parts of states handed to the store.")),
     metric_row<&PartStoreCounters::written>(
         "parts_written", counter_metric("prophecy_replica_parts_written_total", "parts",
                                         "Parts written to the disk.")),
     metric_row<&PartStoreCounters::removed>(
         "parts_removed",
         counter_metric("prophecy_replica_parts_removed_total", "parts",
                        "Parts removed from the disk: no state has them any more.")),
     metric_row<&PartStoreCounters::damaged>(
         "parts_damaged", counter_metric("prophecy_replica_parts_damaged_total", "parts",
                                         "Parts that were read back damaged.")),
     metric_row<&PartStoreCounters::refused>(
         "parts_refused", counter_metric("prophecy_replica_parts_refused_total", "parts",
                                         "Parts that the disk refused, or had no room for.")),
     metric_row<&PartStoreCounters::flushes>(
         "flushes", counter_metric("prophecy_replica_part_flushes_total", "flushes",
                                   "Flushes of parts to the disk."))});

class FilePartStore final : public PartStore {
 public:
  using Done = std::function<void(bool done)>;

  // Takes note of all parts that lie there; nothing is pinned.
  [[nodiscard]] static Result<std::unique_ptr<FilePartStore>> open(
      std::unique_ptr<PartFiles> files, std::unique_ptr<PartWriter> writer, SyncPolicy sync);
  FilePartStore(const FilePartStore&) = delete;
  FilePartStore& operator=(const FilePartStore&) = delete;

  [[nodiscard]] bool holds(const Digest& digest) const override {
    const auto known = parts_.find(digest);
    return known != parts_.end() && !known->second.is_unreadable;
  }
  [[nodiscard]] bool is_pinned(const Digest& digest) const override {
    return references_.holds(digest);
  }
  [[nodiscard]] std::optional<Bytes> read(const Digest& digest) const override;
  [[nodiscard]] std::uint64_t losses() const override { return losses_; }
  [[nodiscard]] bool keep(const Digest& digest, ByteView part) override;
  [[nodiscard]] bool keep_written(const Digest& digest, ByteView part) override;
  [[nodiscard]] bool has_backlog() const override;
  void after_backlog(const std::function<void()>& then) override;
  void discard(const Digest& digest) override;
  [[nodiscard]] bool pin(const Digest& root) override;
  void unpin(const Digest& root) override;
  void let_go(const Digest& root) override;
  // Removes what no pinned root leads to.
  void sweep();

  // So many parts with a file were forgotten so far; the files of so many of them may go.
  [[nodiscard]] std::uint64_t forgotten() const { return forgotten_; }
  void remove_up_to(std::uint64_t forgotten);

  // Puts everything that is pinned when the work begins on the disk. `done` is called with false
  // when the disk has refused. What could not be written is tried again with the next flush; after
  // a sync that failed no flush succeeds any more, because another sync would, without having done
  // anything.
  void flush(Done done);
  // Likewise, all that this root leads to, if it is pinned when the work begins. Fails as well
  // where it would leave too little of the disk to others.
  void make_durable(const Digest& root, Done done);

  [[nodiscard]] std::size_t parts() const { return parts_.size(); }
  [[nodiscard]] std::size_t bytes_in_memory() const { return bytes_in_memory_; }
  [[nodiscard]] const PartStoreCounters& counters() const { return counters_; }

 private:
  using Content = std::shared_ptr<const Bytes>;
  enum class Place : std::uint8_t { memory, being_written, disk };
  enum class Kind : std::uint8_t {
    unread,  // left by an earlier process: it may be damaged
    leaf,    // of those that are here most, and none has to be read to know what is below it
    other,
  };
  struct Known {
    Place place = Place::disk;
    Kind kind = Kind::unread;
    Content content;             // null on the disk
    bool is_leaving = false;     // memory, as soon as it can be written
    bool is_unreadable = false;  // on the disk, when it was tried last
    bool has_file = false;       // that is to go with it
  };
  // What is asked of the disk: about a root, or about everything that is pinned.
  struct Request {
    std::optional<Digest> root;
    Done done;
  };
  // What the work aside gets, and what it gives back.
  struct Batch {
    std::vector<std::pair<Digest, Content>> parts;
    std::vector<Digest> removed;
    bool sync = false;
    std::vector<bool> written;  // by part
    bool synced = true;
  };

  FilePartStore(std::unique_ptr<PartFiles> files, std::unique_ptr<PartWriter> writer,
                SyncPolicy sync)
      : files_(std::move(files)), sync_(sync), writer_(std::move(writer)) {}
  [[nodiscard]] static Kind kind_of(ByteView bytes);
  [[nodiscard]] std::optional<std::vector<Digest>> children_of(const Digest& digest) const;
  // A file of it was to go, and is whole.
  [[nodiscard]] bool takes_back(const Digest& digest, ByteView part);
  void hold(const Digest& digest, ByteView part, bool is_leaving);
  // It is not in memory any more.
  void leave_memory(Known& known);
  // The next piece of work, if there is any and none is under way.
  void begin_work();
  // Takes those below the root that are in memory; false when there is no room for them.
  [[nodiscard]] bool take_below(const Digest& root, Batch& batch);
  void take(const Digest& digest, Known& known, Batch& batch);
  void carry_out(Batch& batch) const;
  void on_written(const Batch& batch, const std::vector<Request>& requests,
                  const std::vector<bool>& had_room);
  void remove(const Digest& digest);
  void forget_file(const Digest& digest, bool is_whole);
  void take_removals(Batch& batch);
  [[nodiscard]] bool is_beyond_memory(std::size_t bytes) const {
    return bytes_in_memory_ + bytes > kUnwrittenBytesMax;
  }

  std::unique_ptr<PartFiles> files_;
  SyncPolicy sync_;
  // Reading finds out what is damaged, and what is not there any more.
  mutable std::map<Digest, Known> parts_;
  mutable PartStoreCounters counters_;
  mutable std::uint64_t losses_ = 0;
  PartReferences references_;
  std::size_t bytes_in_memory_ = 0;
  std::size_t bytes_leaving_ = 0;  // among them
  bool makes_room_ = false;        // all that is in memory is to be written
  std::vector<Digest> leaving_;    // not being written yet; some may have gone
  std::vector<Request> requests_;  // likewise
  // Removed while they were being written: their files are forgotten when that has ended.
  std::set<Digest> orphans_;
  // Files that nobody wants, by when they were forgotten.
  struct Left {
    std::uint64_t since = 0;
    bool is_whole = false;  // it was written by this process, or read
  };
  std::map<std::uint64_t, Digest> files_left_;
  std::map<Digest, Left> left_;
  std::uint64_t forgotten_ = 0;
  std::uint64_t removable_ = 0;  // up to it
  std::vector<std::function<void()>> after_backlog_;
  // Something lies on the disk, or may, of which it is not known whether it was synced. Of what an
  // earlier process has left nothing is.
  bool unsynced_ = true;
  bool sync_failed_ = false;
  bool is_working_ = false;
  std::unique_ptr<PartWriter> writer_;  // ends first
};

}  // namespace prophecy::pbft
