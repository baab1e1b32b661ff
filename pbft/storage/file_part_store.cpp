#include "pbft/storage/file_part_store.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/assert.hpp"
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
  // The disk may begin already; whether it succeeds is asked at the end of a flush.
  (void)::sync_file_range(fd.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  return true;
}

}  // namespace

// What is no part at all is refused when it is pinned.
FilePartStore::Kind FilePartStore::kind_of(ByteView bytes) {
  const auto part = decode_part(bytes);
  return part && part->children.empty() ? Kind::leaf : Kind::other;
}

FilePartStore::FilePartStore(StoreSettings settings, Executor executor)
    : settings_(std::move(settings)),
      folder_(settings_.folder / "parts"),
      executor_(std::move(executor)) {}

FilePartStore::~FilePartStore() {
  if (writer_.joinable()) writer_.join();
}

Result<std::unique_ptr<FilePartStore>> FilePartStore::open(const StoreSettings& settings,
                                                           Executor executor) {
  std::unique_ptr<FilePartStore> store(new FilePartStore(settings, std::move(executor)));
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
    if (file_of(digest) == path) parts_[digest] = Known{};
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
  const auto known = parts_.find(digest);
  if (known == parts_.end()) return std::nullopt;
  if (known->second.content) return *known->second.content;
  const fs::path file = file_of(digest);
  const auto content = read_file(file, kPartBytesMax);
  if (content && sha256(as_bytes(*content)) == digest) return to_bytes(*content);
  std::error_code ignored;
  if (!content && content.error().kind == ErrorKind::io && fs::exists(file, ignored)) {
    ++counters_.refused;  // it may be readable another time
    return std::nullopt;
  }
  ++counters_.damaged;
  parts_.erase(known);
  fs::remove_all(file, ignored);
  return std::nullopt;
}

bool FilePartStore::keep(const Digest& digest, ByteView part) {
  return put(digest, part, bytes_in_memory_ + part.size() <= kUnwrittenBytesMax);
}

bool FilePartStore::keep_written(const Digest& digest, ByteView part) {
  if (!holds(digest) && !has_room(part.size())) {
    ++counters_.refused;
    return false;
  }
  return put(digest, part, false);
}

bool FilePartStore::has_room(std::uint64_t bytes) const {
  struct statvfs disk {};
  if (::fstatvfs(folder_fd_.get(), &disk) != 0) return true;  // a write will tell
  return std::uint64_t{disk.f_bavail} * disk.f_frsize >= kFreeBytesMin + bytes;
}

bool FilePartStore::put(const Digest& digest, ByteView part, bool in_memory) {
  if (holds(digest)) return true;
  // An orphan's file must not be written from two threads.
  if (in_memory || orphans_.contains(digest)) {
    auto content = std::make_shared<const Bytes>(part.begin(), part.end());
    parts_[digest] = Known{Place::memory, kind_of(part), std::move(content)};
    bytes_in_memory_ += part.size();
  } else {
    if (!write(digest, part)) {
      ++counters_.refused;
      return false;
    }
    parts_[digest] = Known{Place::disk, kind_of(part), nullptr};
    ++counters_.written;
    unsynced_ = true;
  }
  ++counters_.kept;
  return true;
}

bool FilePartStore::write(const Digest& digest, ByteView part) const {
  const fs::path file = file_of(digest);
  fs::path unfinished = file;
  unfinished += kUnfinished;
  if (make_folder(folder_of(digest)) && write_file(unfinished, part) &&
      ::rename(unfinished.c_str(), file.c_str()) == 0) {
    return true;
  }
  ::unlink(unfinished.c_str());
  return false;
}

void FilePartStore::discard(const Digest& digest) {
  if (!is_pinned(digest)) remove(digest);
}

std::optional<std::vector<Digest>> FilePartStore::children_of(const Digest& digest) const {
  const auto known = parts_.find(digest);
  if (known != parts_.end() && known->second.kind == Kind::leaf) return std::vector<Digest>();
  const auto bytes = read(digest);
  auto part = bytes ? decode_part(*bytes) : std::nullopt;
  if (!part) return std::nullopt;
  known->second.kind = part->children.empty() ? Kind::leaf : Kind::other;
  return std::move(part->children);
}

bool FilePartStore::pin(const Digest& root) {
  std::vector<Digest> added;
  return references_.pin(
      root, [this](const Digest& digest) { return children_of(digest); }, added);
}

// What is new below the root was pinned by nothing, so that no flush is writing it.
bool FilePartStore::pin_durably(const Digest& root) {
  std::vector<Digest> added;
  if (!references_.pin(
          root, [this](const Digest& digest) { return children_of(digest); }, added)) {
    return false;
  }
  std::uint64_t unwritten = 0;
  for (const Digest& digest : added) {
    const auto known = parts_.find(digest);
    if (known != parts_.end() && known->second.place == Place::memory) {
      unwritten += known->second.content->size();
    }
  }
  bool done = !sync_failed_ && (unwritten == 0 || has_room(unwritten));
  for (const Digest& digest : added) {
    const auto known = parts_.find(digest);
    if (!done || known == parts_.end() || known->second.place != Place::memory) continue;
    done = write(digest, *known->second.content);
    if (!done) continue;
    bytes_in_memory_ -= known->second.content->size();
    known->second = Known{Place::disk, known->second.kind, nullptr};
    ++counters_.written;
  }
  if (done && settings_.sync == SyncPolicy::always) done = ::syncfs(folder_fd_.get()) == 0;
  if (done) return true;
  ++counters_.refused;
  unpin(root);
  return false;
}

void FilePartStore::unpin(const Digest& root) {
  for (const Digest& gone :
       references_.unpin(root, [this](const Digest& digest) { return children_of(digest); })) {
    remove(gone);
  }
}

void FilePartStore::remove(const Digest& digest) {
  const auto known = parts_.find(digest);
  if (known == parts_.end()) return;
  const Known part = std::move(known->second);
  parts_.erase(known);
  switch (part.place) {
    case Place::memory:
      bytes_in_memory_ -= part.content->size();
      break;
    case Place::being_written:
      bytes_in_memory_ -= part.content->size();
      orphans_.insert(digest);
      break;
    case Place::disk:
      ::unlink(file_of(digest).c_str());
      ++counters_.removed;
      break;
  }
}

void FilePartStore::sweep() {
  std::vector<Digest> left_over;
  for (const auto& [digest, known] : parts_) {
    if (!references_.holds(digest)) left_over.push_back(digest);
  }
  for (const Digest& digest : left_over)
    remove(digest);
}

void FilePartStore::flush(Flushed done) {
  ASSERT(!writer_.joinable());
  ++counters_.flushes;
  Batch batch;
  for (auto& [digest, known] : parts_) {
    if (known.place != Place::memory || !references_.holds(digest)) continue;
    known.place = Place::being_written;
    batch.parts.emplace_back(digest, known.content);
  }
  unsynced_ = unsynced_ || !batch.parts.empty();
  // What is written from here on is not sure to be in this sync.
  batch.sync = settings_.sync == SyncPolicy::always && std::exchange(unsynced_, false);
  auto work = boost::asio::make_work_guard(executor_);  // keeps the loop from ending meanwhile
  writer_ = std::thread([this, batch = std::move(batch), done = std::move(done),
                         work = std::move(work)]() mutable {
    Outcome outcome = carry_out(batch);
    boost::asio::post(executor_, [this, batch = std::move(batch), outcome = std::move(outcome),
                                  done = std::move(done)] { on_written(batch, outcome, done); });
  });
}

// On the flush's thread; of this object it uses what never changes.
//
// One sync of the file system for however many parts: each of its own would wait for the disk once
// more, thousands of times for a large snapshot. (It tells of errors since Linux 5.8.)
FilePartStore::Outcome FilePartStore::carry_out(const Batch& batch) const {
  Outcome outcome;
  for (const auto& [digest, content] : batch.parts)
    outcome.written.push_back(write(digest, *content));
  if (batch.sync) outcome.synced = ::syncfs(folder_fd_.get()) == 0;
  return outcome;
}

void FilePartStore::on_written(const Batch& batch, const Outcome& outcome, const Flushed& done) {
  writer_.join();
  bool all = true;
  for (std::size_t i = 0; i < batch.parts.size(); ++i) {
    const auto& [digest, content] = batch.parts[i];
    const bool written = outcome.written[i];
    counters_.written += written ? 1 : 0;
    counters_.refused += written ? 0 : 1;
    const auto known = parts_.find(digest);
    if (orphans_.erase(digest) > 0) {
      // Unless it was kept again meanwhile, and will be written again.
      if (written && known == parts_.end()) {
        ::unlink(file_of(digest).c_str());
        ++counters_.removed;
      }
      continue;
    }
    ASSERT(known != parts_.end() && known->second.place == Place::being_written);
    all = all && written;
    if (written) {
      known->second = Known{Place::disk, known->second.kind, nullptr};
      bytes_in_memory_ -= content->size();
    } else {
      known->second.place = Place::memory;
    }
  }
  if (!outcome.synced) ++counters_.refused;
  sync_failed_ = sync_failed_ || !outcome.synced;
  done(all && !sync_failed_);
}

}  // namespace prophecy::pbft
