#include "pbft/services/state/folder_scan.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include "pbft/services/state/folder_owner.hpp"

namespace prophecy::pbft {

namespace {

Error changed(const std::string& path) {
  return {ErrorKind::unavailable,
          path + ": changed while it was read (does anybody but the origin write there?)"};
}

bool same_version(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_dev == b.st_dev && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec &&
         a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

// Splits a wide folder into listings. Where one ends follows from the names, so that a file more
// or less changes one listing and not all behind it.
class ListingWriter {
 public:
  explicit ListingWriter(PartSink& sink) : sink_(sink), sequence_(sink) {}

  [[nodiscard]] Result<> add(FolderEntry entry) {
    const std::size_t size = entry_bytes(entry);
    if (!entries_.empty() && bytes_ + size > kListingBytesMax) {
      if (auto closed = close(); !closed) return closed;
    }
    const bool is_end = ends_listing(entry.name);
    bytes_ += size;
    entries_.push_back(std::move(entry));
    if (is_end) return close();
    return {};
  }
  [[nodiscard]] Result<Digest> finish() {
    if (!entries_.empty() || !closed_one_) {
      if (auto closed = close(); !closed) return closed.error();
    }
    return sequence_.finish();
  }

 private:
  // One name in 256 (FNV-1a; its high bits are the mixed ones).
  static bool ends_listing(std::string_view name) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : name)
      hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
    return ((hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15) >> 56 == 0;
  }
  [[nodiscard]] Result<> close() {
    auto digest = sink_.put(encode_listing(entries_));
    if (!digest) return digest.error();
    entries_.clear();
    bytes_ = 0;
    closed_one_ = true;
    return sequence_.add(*digest);
  }

  PartSink& sink_;
  SequenceWriter sequence_;
  std::vector<FolderEntry> entries_;
  std::size_t bytes_ = 0;
  bool closed_one_ = false;
};

}  // namespace

std::int64_t wall_seconds() {
  return ::time(nullptr);
}

std::uint64_t modified_seconds(const struct stat& status) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(status.st_mtim.tv_sec, 0));
}

Result<Digest> read_content(int file, const struct stat& status, PartSink& sink,
                            const PartPipe& pipe, const std::string& path) {
  const auto size = static_cast<std::uint64_t>(status.st_size);
  ContentWriter writer(sink, size);
  Bytes room(kContentBytesMax);
  for (;;) {
    if (pipe.closed()) return service_stopped();
    auto read = read_some(file, room, path);
    if (!read) return read.error();
    if (*read == 0) break;
    if (*read > size - writer.size()) return changed(path);
    if (auto added = writer.add(ByteView(room).first(*read)); !added) return added.error();
  }
  struct stat after {};
  if (::fstat(file, &after) != 0) return io_error(path);
  if (!same_version(status, after) || writer.size() != size) return changed(path);
  return writer.finish();
}

Result<Digest> FolderScan::run(int folder) {
  FolderOwner owner;
  if (auto became = owner.become(folder, rules_.folder); !became) return became.error();
  is_counted_ = true;
  auto root = scan_folder(folder, "", 0);
  if (!root) is_counted_ = false;
  if (root && failed_) return *failed_;
  return root;
}

Result<> FolderScan::fail(Error error) {
  if (error.kind == ErrorKind::limit || pipe_.closed()) return error;
  if (!failed_) failed_ = std::move(error);
  return {};
}

Result<Digest> FolderScan::scan_folder(int folder, const std::string& path, std::size_t depth) {
  if (auto checked = budget_.check_depth(depth, path); !checked) return checked.error();
  auto names = names_in(
      folder, path_below(rules_.folder, path), rules_.files_max,
      [&](const std::string& name) { return !rules_.exclude.match(path_below(path, name)); });
  if (!names) return names.error();
  ListingWriter listing(sink_);
  for (const std::string& name : *names) {
    auto entry = scan_entry(folder, name, path_below(path, name), depth);
    if (!entry) return entry.error();
    if (!*entry || failed_) continue;
    if (auto added = listing.add(std::move(**entry)); !added) {
      if (auto ended = fail(added.error()); !ended) return ended.error();
    }
  }
  if (failed_) return Digest{};
  auto root = listing.finish();
  if (root) return root;
  if (auto ended = fail(root.error()); !ended) return ended.error();
  return Digest{};
}

// Nothing for what is no part of a state.
Result<std::optional<FolderEntry>> FolderScan::scan_entry(int folder, const std::string& name,
                                                          const std::string& path,
                                                          std::size_t depth) {
  if (pipe_.closed()) return service_stopped();
  const std::string whole = path_below(rules_.folder, path);
  struct stat status {};
  auto there = status_at(folder, name, whole, status);
  if (!there) return there.error();
  if (!*there) return changed(whole);
  // What is no part of the state does not fill it.
  if (is_special(status)) return std::optional<FolderEntry>();
  if (auto taken = budget_.take_entry(); !taken) return taken.error();
  FolderEntry entry;
  entry.name = name;
  entry.mode = static_cast<std::uint16_t>(status.st_mode & kModeBits);
  if (S_ISREG(status.st_mode)) {
    if (auto scanned = scan_file(folder, path, status, entry); !scanned) return scanned.error();
  } else if (S_ISDIR(status.st_mode)) {
    entry.kind = EntryKind::folder;
    if (auto checked = check_file_system(folder, status, whole); !checked) return checked.error();
    auto root = scan_inside(folder, name, path, depth + 1);
    if (!root) return root.error();
    entry.child = *root;
  } else {
    entry.kind = EntryKind::link;
    entry.mode = 0;
    auto target = link_target_at(folder, name, whole);
    if (target) entry.target = std::move(*target);
    if (!target) {
      if (auto ended = fail(target.error()); !ended) return ended.error();
    }
  }
  return std::optional(std::move(entry));
}

Result<Digest> FolderScan::scan_inside(int folder, const std::string& name, const std::string& path,
                                       std::size_t depth) {
  const auto inside = open_folder_at(folder, name, path_below(rules_.folder, path));
  if (inside) return scan_folder(inside->get(), path, depth);
  is_counted_ = false;
  if (auto ended = fail(inside.error()); !ended) return ended.error();
  return Digest{};
}

Result<> FolderScan::scan_file(int folder, const std::string& path, const struct stat& status,
                               FolderEntry& entry) {
  entry.kind = EntryKind::file;
  entry.size = static_cast<std::uint64_t>(status.st_size);
  if (rules_.covered_times.match(path)) entry.modified = modified_seconds(status);
  if (auto taken = budget_.take_bytes(entry.size); !taken) return taken;
  if (const auto content = known_.content(path, status, recent_too_)) {
    entry.child = *content;
    seen_.copy(path, known_);
    return {};
  }
  if (failed_) return {};  // there is no tree that would need it
  if (auto read = read_file(folder, path, status, entry); !read) return fail(read.error());
  return {};
}

Result<> FolderScan::read_file(int folder, const std::string& path, const struct stat& status,
                               FolderEntry& entry) {
  const std::string whole = path_below(rules_.folder, path);
  const std::int64_t looked_at = wall_seconds();
  auto file = open_file_at(folder, entry.name, whole);
  if (!file) return file.error();
  struct stat opened {};
  if (::fstat(file->get(), &opened) != 0) return io_error(whole);
  if (!S_ISREG(opened.st_mode) || !same_version(status, opened)) return changed(whole);
  auto content = read_content(file->get(), opened, sink_, pipe_, whole);
  if (!content) return content.error();
  ++files_read_;
  entry.child = *content;
  seen_.note(path, opened, *content, looked_at);
  return {};
}

}  // namespace prophecy::pbft
