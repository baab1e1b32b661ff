// Parts as files: FOLDER/parts/ab/cdef..., named by their digest in hexadecimal.
//
// Most parts are of a snapshot that the next one replaces. So what is kept stays in memory, and
// reaches the disk only when it is still pinned at the next flush():
//
//   keep() ---> memory ---flush()---> being written ---> disk
//                  |                       |               |
//                  +--- unpinned: gone <---+---------------+
//
// The bodies of requests leave kFreeBytesMin of the file system to others: what a replica promises
// lies there as well, and a disk that refuses a promise ends it.
//
// A flush writes on a thread of its own, each part under a temporary name which it renames, then
// syncs the file system once, unless the policy leaves that to the operating system. The bytes are
// shared with that thread; all else belongs to the event loop. Memory is bounded: beyond
// kUnwrittenBytesMax a part is written at once, and synced with the next flush.
//
// Reading checks the digest. A file that is not what its name says is removed and counted, and the
// part is missing then: it can be fetched and kept again. What an earlier process has left is read
// when it is pinned. Of what was kept, or read, since it is known whether anything is below it, so
// that a leaf is not read again to be pinned or let go.
//
// Called from the executor's thread. Requires that the process holds the folder's store open
// (pbft/storage/store.hpp), which locks it. Its executor must not run any more once it is
// destroyed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "pbft/core/state/part_references.hpp"
#include "pbft/core/state/part_store.hpp"
#include "pbft/storage/store_settings.hpp"

namespace prophecy::pbft {

constexpr std::size_t kUnwrittenBytesMax = 64 * 1024 * 1024;
constexpr std::uint64_t kFreeBytesMin = 256 * 1024 * 1024;

struct PartStoreCounters {
  std::uint64_t kept = 0;
  std::uint64_t written = 0;
  std::uint64_t removed = 0;  // from the disk: nobody's any more
  std::uint64_t damaged = 0;  // not what was written; removed
  std::uint64_t refused = 0;  // by the system: not read, not written, or not synced
  std::uint64_t flushes = 0;
};

class FilePartStore final : public PartStore {
 public:
  using Executor = boost::asio::io_context::executor_type;
  using Flushed = std::function<void(bool done)>;

  // Takes note of all parts that lie there; nothing is pinned.
  [[nodiscard]] static Result<std::unique_ptr<FilePartStore>> open(const StoreSettings& settings,
                                                                   Executor executor);
  // Waits for a flush that is under way, whose end is not told then.
  ~FilePartStore() override;
  FilePartStore(const FilePartStore&) = delete;
  FilePartStore& operator=(const FilePartStore&) = delete;

  [[nodiscard]] bool holds(const Digest& digest) const override { return parts_.contains(digest); }
  [[nodiscard]] bool is_pinned(const Digest& digest) const override {
    return references_.holds(digest);
  }
  [[nodiscard]] std::optional<Bytes> read(const Digest& digest) const override;
  [[nodiscard]] bool keep(const Digest& digest, ByteView part) override;
  [[nodiscard]] bool keep_written(const Digest& digest, ByteView part) override;
  void discard(const Digest& digest) override;
  [[nodiscard]] bool pin(const Digest& root) override;
  [[nodiscard]] bool pin_durably(const Digest& root) override;
  void unpin(const Digest& root) override;
  // Removes what no pinned root leads to.
  void sweep();

  // Puts everything that is pinned now on the disk. `done` is called by the executor: false when
  // the disk has refused. What could not be written is tried again with the next flush; after a
  // sync that failed no flush succeeds any more, because another sync would, without having done
  // anything. Requires that no flush is under way.
  void flush(Flushed done);

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
    Content content;  // null on the disk
  };
  // What the thread of a flush gets, and what it gives back.
  struct Batch {
    std::vector<std::pair<Digest, Content>> parts;
    bool sync = false;
  };
  struct Outcome {
    std::vector<bool> written;  // by part
    bool synced = true;
  };

  FilePartStore(StoreSettings settings, Executor executor);
  [[nodiscard]] static Kind kind_of(ByteView bytes);
  [[nodiscard]] Result<> take_note();
  [[nodiscard]] std::filesystem::path folder_of(const Digest& digest) const;
  [[nodiscard]] std::filesystem::path file_of(const Digest& digest) const;
  [[nodiscard]] std::optional<std::vector<Digest>> children_of(const Digest& digest) const;
  [[nodiscard]] bool put(const Digest& digest, ByteView part, bool in_memory);
  [[nodiscard]] bool write(const Digest& digest, ByteView part) const;
  // For a body.
  [[nodiscard]] bool has_room(std::uint64_t bytes) const;
  [[nodiscard]] Outcome carry_out(const Batch& batch) const;
  void on_written(const Batch& batch, const Outcome& outcome, const Flushed& done);
  void remove(const Digest& digest);

  StoreSettings settings_;
  std::filesystem::path folder_;
  UniqueFd folder_fd_;
  Executor executor_;
  // Reading finds out what is damaged, and what is not there any more.
  mutable std::map<Digest, Known> parts_;
  mutable PartStoreCounters counters_;
  PartReferences references_;
  std::size_t bytes_in_memory_ = 0;
  // Removed while they were being written: their files go when that has ended.
  std::set<Digest> orphans_;
  // Something lies on the disk, or may, of which it is not known whether it was synced. Of what an
  // earlier process has left nothing is.
  bool unsynced_ = true;
  bool sync_failed_ = false;
  std::thread writer_;  // of the flush that is under way
};

}  // namespace prophecy::pbft
