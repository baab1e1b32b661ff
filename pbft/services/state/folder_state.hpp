// The state of an origin that keeps it in a folder (docs/origin-state.md): its files, folders and
// symbolic links, with their names, permissions and content.
#pragma once

#include <optional>

#include "base/unique_fd.hpp"
#include "pbft/services/state/file_memory.hpp"
#include "pbft/services/state/folder_lock.hpp"
#include "pbft/services/state/folder_rules.hpp"
#include "pbft/services/state/service_state.hpp"

namespace prophecy::pbft {

class FolderState final : public ServiceState {
 public:
  explicit FolderState(const FolderSettings& settings) : rules_(settings) {}

  // Locks the folder, as the first snapshot or restore does otherwise. An error as well where this
  // process may not act as the folder's owner.
  [[nodiscard]] Result<> open() override;
  [[nodiscard]] Result<Digest> snapshot(PartPipe& parts) override;
  [[nodiscard]] Result<> restore(PartPipe& parts, const Digest& root) override;

  [[nodiscard]] std::uint64_t fill_percent() const override { return fill_percent_; }

  // Of the last snapshot, and the last restore.
  [[nodiscard]] std::uint64_t files_read() const { return files_read_; }
  [[nodiscard]] std::uint64_t files_written() const { return files_written_; }

 private:
  [[nodiscard]] Result<UniqueFd> open_folder();

  FolderRules rules_;
  FolderLock lock_;
  FileMemory memory_;
  // The last root that was made or restored. While the store holds it, and has lost nothing since,
  // it holds the content of all files in memory.
  std::optional<Digest> held_root_;
  std::uint64_t losses_ = 0;  // of the store, when that was asked last
  std::uint64_t fill_percent_ = 0;
  std::uint64_t files_read_ = 0;
  std::uint64_t files_written_ = 0;
};

}  // namespace prophecy::pbft
