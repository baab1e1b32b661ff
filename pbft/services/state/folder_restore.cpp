#include "pbft/services/state/folder_restore.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "pbft/services/state/folder_owner.hpp"
#include "pbft/services/state/folder_scan.hpp"

namespace prophecy::pbft {

namespace {

constexpr int kTemporaryNamesMax = 10;

bool contains(const std::vector<FolderEntry>& entries, const std::string& name) {
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const FolderEntry& entry, const std::string& wanted) { return entry.name < wanted; });
  return found != entries.end() && found->name == name;
}

// Calls `make` with names that nobody can guess, until it does not say EEXIST. Yields the name.
template <class Make>
Result<std::string> make_temporary(const std::string& whole, const Make& make) {
  for (int attempt = 0; attempt < kTemporaryNamesMax; ++attempt) {
    std::string name = temporary_name();
    if (make(name.c_str())) return name;
    if (errno != EEXIST) break;
  }
  return io_error(whole + ": a temporary file beside it cannot be made");
}

Result<> rename_over(int folder, const std::string& from, const std::string& to,
                     const std::string& whole) {
  if (::renameat(folder, from.c_str(), folder, to.c_str()) == 0) return {};
  const Error error = io_error(whole);
  (void)::unlinkat(folder, from.c_str(), 0);
  return error;
}

Result<> set_mode(int file, mode_t mode, const std::string& whole) {
  if (::fchmod(file, mode) != 0) return io_error(whole);
  return {};
}

Result<> set_modified(int file, std::uint64_t seconds, const std::string& whole) {
  timespec times[2] = {};
  times[0].tv_nsec = UTIME_OMIT;
  times[1].tv_sec = static_cast<time_t>(seconds);
  if (::futimens(file, times) != 0) return io_error(whole);
  return {};
}

// Special files and what is of another kind make room.
Result<bool> status_of_kind(int folder, const FolderEntry& entry, const std::string& whole,
                            mode_t kind, struct stat& status) {
  auto there = status_at(folder, entry.name, whole, status);
  if (!there || !*there) return there;
  if (S_ISDIR(status.st_mode)) {
    if (auto checked = check_file_system(folder, status, whole); !checked) return checked.error();
  }
  if ((status.st_mode & S_IFMT) == kind) return true;
  if (auto removed = remove_at(folder, entry.name, whole); !removed) return removed.error();
  return false;
}

}  // namespace

Result<> FolderRestore::run(int folder, const Digest& root) {
  FolderOwner owner;
  if (auto became = owner.become(folder, rules_.folder); !became) return became;
  if (auto checked = check(folder, root, "", 0); !checked) return checked;
  if (auto made = make_room(folder, root, ""); !made) return made;
  if (auto applied = apply(folder, root, ""); !applied) return applied;
  // Once for all of it: a crash before this leaves a state that is restored again.
  if (::syncfs(folder) != 0) return io_error(rules_.folder);
  return {};
}

Result<FolderRestore::Entries> FolderRestore::read_listing(const Digest& root,
                                                           std::uint64_t entries_max) {
  SequenceReader reader(pipe_, root);
  Entries entries;
  for (;;) {
    auto leaf = reader.next();
    if (!leaf) return leaf.error();
    if (!*leaf) return entries;
    auto* listing = std::get_if<FolderListing>(&(*leaf)->part);
    if (listing == nullptr) {
      return malformed_state(
          "content stands where a listing belongs (is the state of another "
          "kind than at this replica?)");
    }
    if (listing->entries.empty() && reader.has_index()) return malformed_state("an empty listing");
    for (FolderEntry& entry : listing->entries) {
      if (!entries.empty() && entry.name <= entries.back().name) {
        return malformed_state("names are out of order");
      }
      if (entries.size() > entries_max) return entries;  // the budget refuses them
      entries.push_back(std::move(entry));
    }
  }
}

Result<> FolderRestore::check(int folder, const Digest& root, const std::string& path,
                              std::size_t depth) {
  if (auto checked = budget_.check_depth(depth, path); !checked) return checked;
  auto entries = read_listing(root, budget_.entries_left());
  if (!entries) return entries.error();
  // All of them at once: those behind a folder are held while it is looked into.
  if (auto taken = budget_.take_entries(entries->size()); !taken) return taken;
  for (const FolderEntry& entry : *entries) {
    if (auto checked = check_entry(folder, entry, path_below(path, entry.name), depth); !checked) {
      return checked;
    }
  }
  return {};
}

Result<> FolderRestore::check_entry(int folder, const FolderEntry& entry, const std::string& path,
                                    std::size_t depth) {
  if (rules_.exclude.match(path)) {
    return malformed_state("it holds " + path + ", which this replica leaves out (state_exclude)");
  }
  if (entry.kind == EntryKind::folder) {
    const auto inside =
        folder < 0 ? Result<UniqueFd>(UniqueFd()) : open_folder_at(folder, entry.name, path);
    return check(inside ? inside->get() : -1, entry.child, path, depth + 1);
  }
  if (entry.kind == EntryKind::link) return {};
  if (entry.modified.has_value() != rules_.covered_times.match(path)) {
    return malformed_state("the time of " + path +
                           " is covered at some replicas only (state_times)");
  }
  if (auto taken = budget_.take_bytes(entry.size); !taken) return taken;
  if (folder >= 0 && is_in_place(folder, entry, path)) return {};
  return check_content(entry);
}

Result<> FolderRestore::check_content(const FolderEntry& entry) {
  if (whole_.contains({entry.child, entry.size})) return {};
  ContentReader content(pipe_, entry.child, entry.size);
  for (;;) {
    const auto bytes = content.next();
    if (!bytes) return bytes.error();
    if (bytes->empty()) break;
  }
  if (content.size() != entry.size) return malformed_state("content is shorter than it says");
  whole_.emplace(entry.child, entry.size);
  return {};
}

bool FolderRestore::is_in_place(int folder, const FolderEntry& entry, const std::string& path) {
  const std::string whole = path_below(rules_.folder, path);
  struct stat status {};
  const auto there = status_at(folder, entry.name, whole, status);
  if (!there || !*there || !S_ISREG(status.st_mode)) return false;
  if (static_cast<std::uint64_t>(status.st_size) != entry.size) return false;
  if (const auto known = memory_.content(path, status, false)) return *known == entry.child;
  const auto file = open_file_at(folder, entry.name, whole);
  if (!file || ::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const std::int64_t looked_at = wall_seconds();
  PartSink nowhere(nullptr);
  const auto content = read_content(file->get(), status, nowhere, pipe_, whole);
  if (!content) return false;
  memory_.note(path, status, *content, looked_at);
  return *content == entry.child;
}

Result<> FolderRestore::make_room(int folder, const Digest& root, const std::string& path) {
  const auto entries = read_listing(root, rules_.files_max);
  if (!entries) return entries.error();
  if (auto removed = remove_others(folder, *entries, path); !removed) return removed;
  for (const FolderEntry& entry : *entries) {
    if (entry.kind != EntryKind::folder) continue;
    const std::string below = path_below(path, entry.name);
    const std::string whole = path_below(rules_.folder, below);
    struct stat status {};
    const auto there = status_of_kind(folder, entry, whole, S_IFDIR, status);
    if (!there) return there.error();
    if (!*there) continue;
    const auto inside = open_own_folder_at(folder, entry.name, whole);
    if (!inside) return inside.error();
    if (auto made = make_room(inside->get(), entry.child, below); !made) return made;
  }
  return {};
}

Result<> FolderRestore::apply(int folder, const Digest& root, const std::string& path) {
  const auto entries = read_listing(root, rules_.files_max);
  if (!entries) return entries.error();
  for (const FolderEntry& entry : *entries) {
    if (pipe_.closed()) return Error{ErrorKind::unavailable, "the service was stopped"};
    const std::string below = path_below(path, entry.name);
    auto applied = [&]() -> Result<> {
      switch (entry.kind) {
        case EntryKind::folder:
          return apply_folder(folder, entry, below);
        case EntryKind::link:
          return apply_link(folder, entry, below);
        case EntryKind::file:
          break;
      }
      return apply_file(folder, entry, below);
    }();
    if (!applied) return applied;
  }
  return {};
}

Result<> FolderRestore::remove_others(int folder, const Entries& entries, const std::string& path) {
  return for_each_name(folder, path_below(rules_.folder, path),
                       [&](const std::string& name) -> Result<> {
                         if (pipe_.closed())
                           return Error{ErrorKind::unavailable, "the service was stopped"};
                         const std::string below = path_below(path, name);
                         if (contains(entries, name) || rules_.exclude.match(below)) return {};
                         const std::string whole = path_below(rules_.folder, below);
                         struct stat status {};
                         const auto there = status_at(folder, name, whole, status);
                         if (there && *there && is_special(status)) return {};
                         return remove_at(folder, name, whole);
                       });
}

Result<> FolderRestore::apply_folder(int folder, const FolderEntry& entry,
                                     const std::string& path) {
  const std::string whole = path_below(rules_.folder, path);
  struct stat status {};
  const auto there = status_of_kind(folder, entry, whole, S_IFDIR, status);
  if (!there) return there.error();
  if (!*there && ::mkdirat(folder, entry.name.c_str(), 0700) != 0) return io_error(whole);
  auto inside = open_own_folder_at(folder, entry.name, whole);
  if (!inside) return inside.error();
  if (auto applied = apply(inside->get(), entry.child, path); !applied) return applied;
  if (::fstat(inside->get(), &status) != 0) return io_error(whole);
  if ((status.st_mode & kModeBits) == entry.mode) return {};
  // The bits above are not part of the state: a folder that hands its group on goes on doing so.
  return set_mode(inside->get(), (status.st_mode & 07000) | entry.mode, whole);
}

Result<> FolderRestore::apply_link(int folder, const FolderEntry& entry, const std::string& path) {
  const std::string whole = path_below(rules_.folder, path);
  struct stat status {};
  const auto there = status_of_kind(folder, entry, whole, S_IFLNK, status);
  if (!there) return there.error();
  if (*there) {
    const auto target = link_target_at(folder, entry.name, whole);
    if (!target) return target.error();
    if (*target == entry.target) return {};
  }
  const auto temporary = make_temporary(whole, [&](const char* name) {
    return ::symlinkat(entry.target.c_str(), folder, name) == 0;
  });
  if (!temporary) return temporary.error();
  return rename_over(folder, *temporary, entry.name, whole);
}

Result<> FolderRestore::apply_file(int folder, const FolderEntry& entry, const std::string& path) {
  const auto kept = keep_file(folder, entry, path);
  if (!kept) return kept.error();
  if (*kept) return {};
  return write_file(folder, entry, path);
}

// True when the file that is there is the right one, or was made so without touching its content.
// A file that cannot be read or changed is replaced.
Result<bool> FolderRestore::keep_file(int folder, const FolderEntry& entry,
                                      const std::string& path) {
  const std::string whole = path_below(rules_.folder, path);
  struct stat status {};
  auto there = status_of_kind(folder, entry, whole, S_IFREG, status);
  if (!there || !*there) return there;
  if (static_cast<std::uint64_t>(status.st_size) != entry.size) return false;
  const bool mode_differs = (status.st_mode & kModeBits) != entry.mode;
  const bool time_differs = entry.modified && *entry.modified != modified_seconds(status);
  // Another name of it may lie outside of the folder.
  if ((mode_differs || time_differs) && status.st_nlink > 1) return false;
  auto content = memory_.content(path, status, false);
  if (content && *content == entry.child && !mode_differs && !time_differs) return true;

  auto file = open_file_at(folder, entry.name, whole);
  if (!file) return false;
  if (::fstat(file->get(), &status) != 0) return io_error(whole);
  if (!S_ISREG(status.st_mode)) return false;  // exchanged meanwhile
  if ((mode_differs || time_differs) && status.st_nlink > 1) return false;
  const std::int64_t looked_at = wall_seconds();
  content = memory_.content(path, status, false);
  if (!content) {
    PartSink nowhere(nullptr);
    auto read = read_content(file->get(), status, nowhere, pipe_, whole);
    if (!read) return read.error();
    content = *read;
  }
  if (*content != entry.child) return false;
  // Not so where the file is somebody else's.
  if (mode_differs && !set_mode(file->get(), entry.mode, whole)) return false;
  if (time_differs && !set_modified(file->get(), *entry.modified, whole)) return false;
  if (::fstat(file->get(), &status) != 0) return io_error(whole);
  memory_.note(path, status, *content, looked_at);
  return true;
}

Result<> FolderRestore::write_file(int folder, const FolderEntry& entry, const std::string& path) {
  const std::string whole = path_below(rules_.folder, path);
  UniqueFd file;
  const auto temporary = make_temporary(whole, [&](const char* name) {
    file.reset(::openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    return static_cast<bool>(file);
  });
  if (!temporary) return temporary.error();
  const std::int64_t looked_at = wall_seconds();
  if (auto filled = fill_file(file.get(), entry, whole); !filled) {
    (void)::unlinkat(folder, temporary->c_str(), 0);
    return filled;
  }
  if (auto renamed = rename_over(folder, *temporary, entry.name, whole); !renamed) return renamed;
  ++files_written_;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return io_error(whole);
  memory_.note(path, status, entry.child, looked_at);
  return {};
}

Result<> FolderRestore::fill_file(int file, const FolderEntry& entry, const std::string& whole) {
  ContentReader content(pipe_, entry.child, entry.size);
  for (;;) {
    const auto bytes = content.next();
    if (!bytes) return bytes.error();
    if (bytes->empty()) break;
    if (auto written = write_all(file, *bytes, whole); !written) return written;
  }
  if (content.size() != entry.size) return malformed_state("content is shorter than it says");
  if (auto set = set_mode(file, entry.mode, whole); !set) return set;
  if (entry.modified) return set_modified(file, *entry.modified, whole);
  return {};
}

}  // namespace prophecy::pbft
