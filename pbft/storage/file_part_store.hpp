// Parts as files: FOLDER/parts/ab/cdef..., named by their digest in hexadecimal.
//
// A part is written under a temporary name and renamed, without a sync; pin() syncs what lies below
// its root, unless the policy leaves that to the operating system. So a snapshot that is made part
// by part waits for the disk once.
//
// Reading checks the digest. A file that is not what its name says is removed and counted, and the
// part is missing then: it can be fetched and kept again.
//
// Blocking, as the disk is. Single-threaded. Requires that the process holds the folder's store
// open (pbft/storage/store.hpp), which locks it.
#pragma once

#include <map>
#include <memory>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "pbft/core/part_references.hpp"
#include "pbft/core/part_store.hpp"
#include "pbft/storage/store_settings.hpp"

namespace prophecy::pbft {

struct PartStoreCounters {
  std::uint64_t kept = 0;
  std::uint64_t removed = 0;  // nobody's any more
  std::uint64_t damaged = 0;  // not what was written; removed
  std::uint64_t refused = 0;  // by the system: not read, or not written
};

class FilePartStore final : public PartStore {
 public:
  // Takes note of all parts that lie there; nothing is pinned.
  [[nodiscard]] static Result<std::unique_ptr<FilePartStore>> open(const StoreSettings& settings);

  [[nodiscard]] bool holds(const Digest& digest) const override { return parts_.contains(digest); }
  [[nodiscard]] bool is_pinned(const Digest& digest) const override {
    return references_.holds(digest);
  }
  [[nodiscard]] std::optional<Bytes> read(const Digest& digest) const override;
  [[nodiscard]] bool keep(const Digest& digest, ByteView part) override;
  void discard(const Digest& digest) override;
  [[nodiscard]] bool pin(const Digest& root) override;
  void unpin(const Digest& root) override;
  // Removes what no pinned root leads to.
  void sweep();

  [[nodiscard]] std::size_t parts() const { return parts_.size(); }
  [[nodiscard]] const PartStoreCounters& counters() const { return counters_; }

 private:
  // Of what lies there from an earlier process it is not known whether it was synced.
  enum class Durability : std::uint8_t { unknown, synced };

  explicit FilePartStore(StoreSettings settings);
  [[nodiscard]] Result<> take_note();
  [[nodiscard]] std::filesystem::path folder_of(const Digest& digest) const;
  [[nodiscard]] std::filesystem::path file_of(const Digest& digest) const;
  [[nodiscard]] std::optional<std::vector<Digest>> children_of(const Digest& digest) const;
  [[nodiscard]] bool sync(const std::vector<Digest>& parts);
  void remove(const Digest& digest);

  StoreSettings settings_;
  std::filesystem::path folder_;
  UniqueFd folder_fd_;
  // Reading finds out what is damaged, and what is not there any more.
  mutable std::map<Digest, Durability> parts_;
  mutable PartStoreCounters counters_;
  PartReferences references_;
};

}  // namespace prophecy::pbft
