#include "pbft/services/state/folder_state.hpp"

#include <utility>

#include "pbft/services/state/folder_owner.hpp"
#include "pbft/services/state/folder_restore.hpp"
#include "pbft/services/state/folder_scan.hpp"

namespace prophecy::pbft {

Result<> FolderState::open() {
  auto folder = open_folder();
  if (!folder) return folder.error();
  // Each snapshot and restore does so: where it is not allowed, the start says so.
  FolderOwner owner;
  return owner.become(folder->get(), rules_.folder);
}

Result<UniqueFd> FolderState::open_folder() {
  auto folder = open_state_folder(rules_.folder);
  if (!folder) return folder;
  if (auto checked = check_place(folder->get(), rules_.folder); !checked) return checked.error();
  if (auto locked = lock_.take(folder->get(), rules_.folder); !locked) return locked.error();
  return folder;
}

Result<Digest> FolderState::snapshot(PartPipe& parts) {
  auto folder = open_folder();
  if (!folder) return folder.error();
  const auto held = held_root_ ? parts.hold(*held_root_) : Result<bool>(false);
  if (!held) return held.error();
  const auto losses = parts.losses();
  if (!losses) return losses.error();
  // A file that is not read is not kept again.
  const bool has_lost = std::exchange(losses_, *losses) != *losses;
  if (!*held || has_lost) memory_.clear();
  PartSink sink(&parts);
  FolderScan scan(rules_, parts, sink, memory_, false);
  auto root = scan.run(folder->get());
  files_read_ = scan.files_read();
  fill_percent_ = scan.fill_percent().value_or(fill_percent_);
  if (!root) return root;
  if (auto flushed = parts.flush(); !flushed) return flushed.error();
  memory_ = std::move(scan.seen());
  held_root_ = *root;
  return root;
}

Result<> FolderState::restore(PartPipe& parts, const Digest& root) {
  auto folder = open_folder();
  if (!folder) return folder.error();
  // What is known of content stays true; but a restore that fails leaves files of which the store
  // may hold nothing.
  held_root_.reset();
  FolderRestore restore(rules_, parts, memory_);
  auto restored = restore.run(folder->get(), root);
  files_written_ = restore.files_written();
  if (!restored) return restored;
  // Whether a snapshot would say the same: names and modes are what the file system makes of them.
  PartSink nowhere(nullptr);
  FolderScan scan(rules_, parts, nowhere, memory_, true);
  const auto found = scan.run(folder->get());
  if (!found) return found.error();
  if (*found != root) {
    return Error{ErrorKind::io,
                 rules_.folder +
                     ": is not what was restored (does the file system keep names and "
                     "permissions? does anybody else write there?)"};
  }
  memory_ = std::move(scan.seen());
  fill_percent_ = scan.fill_percent().value_or(fill_percent_);
  held_root_ = root;
  return {};
}

}  // namespace prophecy::pbft
