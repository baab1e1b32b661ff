#include "pbft/storage/file_part_store.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.hpp"

namespace prophecy::pbft {
namespace {

namespace fs = std::filesystem;

// Of a name: the two digits of the folder.
constexpr std::size_t kFolderDigits = 2;
constexpr std::string_view kUnfinished = ".new";

bool make_folder(const fs::path& folder) {
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
}

bool write_file(const fs::path& file, ByteView content) {
  const UniqueFd fd(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return false;
  ByteView rest = content;
  while (!rest.empty()) {
    const ssize_t size = ::write(fd.get(), rest.data(), rest.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    rest = rest.subspan(static_cast<std::size_t>(size));
  }
  // The disk may begin already; whether it succeeds is asked by pin().
  (void)::sync_file_range(fd.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  return true;
}

}  // namespace

FilePartStore::FilePartStore(StoreSettings settings)
    : settings_(std::move(settings)), folder_(settings_.folder / "parts") {}

Result<std::unique_ptr<FilePartStore>> FilePartStore::open(const StoreSettings& settings) {
  std::unique_ptr<FilePartStore> store(new FilePartStore(settings));
  if (!make_folder(store->folder_)) return io_error(store->folder_.string());
  store->folder_fd_.reset(::open(store->folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!store->folder_fd_) return io_error(store->folder_.string());
  if (auto noted = store->take_note(); !noted) return noted.error();
  return store;
}

Result<> FilePartStore::take_note() {
  std::vector<fs::path> unfinished;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() == kUnfinished) unfinished.push_back(path);
    Digest digest{};
    if (!from_hex(path.parent_path().filename().string() + path.filename().string(), digest))
      continue;
    if (file_of(digest) == path) parts_[digest] = Durability::unknown;
  }
  if (error) return Error{ErrorKind::io, folder_.string() + ": " + error.message()};
  for (const fs::path& path : unfinished)
    fs::remove(path, error);
  return {};
}

fs::path FilePartStore::folder_of(const Digest& digest) const {
  return folder_ / to_hex(digest).substr(0, kFolderDigits);
}

fs::path FilePartStore::file_of(const Digest& digest) const {
  const std::string name = to_hex(digest);
  return folder_ / name.substr(0, kFolderDigits) / name.substr(kFolderDigits);
}

std::optional<Bytes> FilePartStore::read(const Digest& digest) const {
  if (!holds(digest)) return std::nullopt;
  const fs::path file = file_of(digest);
  const auto content = read_file(file, kPartBytesMax);
  if (content && sha256(as_bytes(*content)) == digest) return to_bytes(*content);
  std::error_code ignored;
  if (!content && content.error().kind == ErrorKind::io && fs::exists(file, ignored)) {
    ++counters_.refused;  // it may be readable another time
    return std::nullopt;
  }
  ++counters_.damaged;
  parts_.erase(digest);
  fs::remove_all(file, ignored);
  return std::nullopt;
}

bool FilePartStore::keep(const Digest& digest, ByteView part) {
  if (holds(digest)) return true;
  const fs::path file = file_of(digest);
  fs::path unfinished = file;
  unfinished += kUnfinished;
  if (!make_folder(folder_of(digest)) || !write_file(unfinished, part) ||
      ::rename(unfinished.c_str(), file.c_str()) != 0) {
    ++counters_.refused;
    ::unlink(unfinished.c_str());
    return false;
  }
  parts_[digest] = Durability::unknown;
  ++counters_.kept;
  return true;
}

void FilePartStore::discard(const Digest& digest) {
  if (!is_pinned(digest)) remove(digest);
}

std::optional<std::vector<Digest>> FilePartStore::children_of(const Digest& digest) const {
  const auto bytes = read(digest);
  auto part = bytes ? decode_part(*bytes) : std::nullopt;
  if (!part) return std::nullopt;
  return std::move(part->children);
}

bool FilePartStore::pin(const Digest& root) {
  const auto children = [this](const Digest& digest) { return children_of(digest); };
  std::vector<Digest> added;
  if (!references_.pin(root, children, added)) return false;
  if (settings_.sync == SyncPolicy::os || sync(added)) return true;
  ++counters_.refused;
  // What could not be synced is forgotten: a second sync of it would succeed without having done
  // anything.
  unpin(root);
  return false;
}

// One sync of the file system for however many parts: each of its own would wait for the disk once
// more, thousands of times for a large snapshot. (It tells of errors since Linux 5.8.)
bool FilePartStore::sync(const std::vector<Digest>& parts) {
  const auto unsynced = [this](const Digest& digest) {
    const auto found = parts_.find(digest);
    return found == parts_.end() || found->second != Durability::synced;
  };
  if (std::none_of(parts.begin(), parts.end(), unsynced)) return true;
  if (::syncfs(folder_fd_.get()) != 0) return false;
  for (const Digest& digest : parts)
    parts_[digest] = Durability::synced;
  return true;
}

void FilePartStore::unpin(const Digest& root) {
  for (const Digest& gone :
       references_.unpin(root, [this](const Digest& digest) { return children_of(digest); })) {
    remove(gone);
  }
}

void FilePartStore::remove(const Digest& digest) {
  if (parts_.erase(digest) == 0) return;
  ::unlink(file_of(digest).c_str());
  ++counters_.removed;
}

void FilePartStore::sweep() {
  std::vector<Digest> left_over;
  for (const auto& [digest, durability] : parts_) {
    if (!references_.holds(digest)) left_over.push_back(digest);
  }
  for (const Digest& digest : left_over)
    remove(digest);
}

}  // namespace prophecy::pbft
