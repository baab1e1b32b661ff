#include "pbft/storage/file_part_store.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {
namespace {

// Votes wait for the piece of work behind it.
constexpr std::size_t kRemovedAtOnceMax = 256;

}  // namespace

// What is no part at all is refused when it is pinned.
FilePartStore::Kind FilePartStore::kind_of(ByteView bytes) {
  const auto part = decode_part(bytes);
  return part && part->children.empty() ? Kind::leaf : Kind::other;
}

Result<std::unique_ptr<FilePartStore>> FilePartStore::open(std::unique_ptr<PartFiles> files,
                                                           std::unique_ptr<PartWriter> writer,
                                                           SyncPolicy sync) {
  const auto found = files->list();
  if (!found) return found.error();
  std::unique_ptr<FilePartStore> store(
      new FilePartStore(std::move(files), std::move(writer), sync));
  for (const Digest& digest : *found) {
    Known known;
    known.has_file = true;
    store->parts_[digest] = known;
  }
  return store;
}

std::optional<Bytes> FilePartStore::read(const Digest& digest) const {
  const auto known = parts_.find(digest);
  if (known == parts_.end()) return std::nullopt;
  if (known->second.content) return *known->second.content;
  auto content = files_->read(digest);
  const bool was_unreadable = std::exchange(known->second.is_unreadable, false);
  if (content && sha256(*content) == digest) {
    if (known->second.kind == Kind::unread) known->second.kind = kind_of(*content);
    return std::move(*content);
  }
  // Once: others may ask for it again and again.
  if (!was_unreadable) ++losses_;
  if (!content && content.error().kind == ErrorKind::io) {
    ++counters_.refused;
    known->second.is_unreadable = true;
    return std::nullopt;
  }
  ++counters_.damaged;
  parts_.erase(known);
  files_->remove(digest);
  return std::nullopt;
}

bool FilePartStore::keep(const Digest& digest, ByteView part) {
  if (holds(digest) || takes_back(digest, part)) return true;
  const bool is_beyond = is_beyond_memory(part.size());
  if (bytes_in_memory_ + part.size() > kMemoryBytesMax) {
    ++counters_.refused;
    return false;
  }
  hold(digest, part, is_beyond);
  ++counters_.kept;
  if (is_beyond) begin_work();
  return true;
}

bool FilePartStore::keep_written(const Digest& digest, ByteView part) {
  if (holds(digest) || takes_back(digest, part)) return true;
  const bool is_beyond = is_beyond_memory(part.size());
  if (bytes_leaving_ + part.size() > kLeavingBytesMax || is_beyond ||
      !files_->has_room(bytes_leaving_ + part.size())) {
    ++counters_.refused;
    makes_room_ = makes_room_ || is_beyond;
    begin_work();
    return false;
  }
  hold(digest, part, true);
  ++counters_.kept;
  begin_work();
  return true;
}

bool FilePartStore::takes_back(const Digest& digest, ByteView part) {
  const auto left = left_.find(digest);
  if (left == left_.end() || !left->second.is_whole) return false;
  files_left_.erase(left->second.since);
  left_.erase(left);
  parts_[digest] = Known{Place::disk, kind_of(part), nullptr, false, false, true};
  ++counters_.kept;
  return true;
}

void FilePartStore::hold(const Digest& digest, ByteView part, bool is_leaving) {
  Known& known = parts_[digest];
  bool has_file = known.has_file;  // one that could not be read
  if (const auto left = left_.find(digest); left != left_.end()) {
    files_left_.erase(left->second.since);
    left_.erase(left);
    has_file = true;
  }
  known =
      Known{Place::memory, kind_of(part), std::make_shared<const Bytes>(part.begin(), part.end()),
            is_leaving,    false,         has_file};
  bytes_in_memory_ += part.size();
  if (!is_leaving) return;
  bytes_leaving_ += part.size();
  leaving_.push_back(digest);
}

void FilePartStore::leave_memory(Known& known) {
  bytes_in_memory_ -= known.content->size();
  if (std::exchange(known.is_leaving, false)) bytes_leaving_ -= known.content->size();
  known.content.reset();
}

void FilePartStore::discard(const Digest& digest) {
  if (!is_pinned(digest)) remove(digest);
}

std::optional<std::vector<Digest>> FilePartStore::children_of(const Digest& digest) const {
  const auto known = parts_.find(digest);
  const bool is_here = known != parts_.end() && !known->second.is_unreadable;
  if (is_here && known->second.kind == Kind::leaf) return std::vector<Digest>();
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

void FilePartStore::unpin(const Digest& root) {
  for (const Digest& gone :
       references_.unpin(root, [this](const Digest& digest) { return children_of(digest); })) {
    remove(gone);
  }
}

void FilePartStore::let_go(const Digest& root) {
  (void)references_.unpin(root, [this](const Digest& digest) { return children_of(digest); });
}

void FilePartStore::remove(const Digest& digest) {
  const auto known = parts_.find(digest);
  if (known == parts_.end()) return;
  const Place place = known->second.place;
  const bool has_file = known->second.has_file;
  const bool is_whole =
      place == Place::disk && !known->second.is_unreadable && known->second.kind != Kind::unread;
  if (place != Place::disk) leave_memory(known->second);
  parts_.erase(known);
  if (place == Place::being_written) {
    orphans_.insert(digest);
  } else if (has_file) {
    forget_file(digest, is_whole);
  }
}

void FilePartStore::forget_file(const Digest& digest, bool is_whole) {
  files_left_.emplace(++forgotten_, digest);
  left_.emplace(digest, Left{forgotten_, is_whole});
}

void FilePartStore::remove_up_to(std::uint64_t forgotten) {
  removable_ = std::max(removable_, forgotten);
  begin_work();
}

bool FilePartStore::has_backlog() const {
  return is_beyond_memory(0) && bytes_leaving_ > 0;
}

void FilePartStore::after_backlog(const std::function<void()>& then) {
  if (!has_backlog()) return then();
  after_backlog_.push_back(then);
}

void FilePartStore::sweep() {
  std::vector<Digest> left_over;
  for (const auto& [digest, known] : parts_) {
    if (!references_.holds(digest)) left_over.push_back(digest);
  }
  for (const Digest& digest : left_over)
    remove(digest);
}

void FilePartStore::flush(Done done) {
  ++counters_.flushes;
  requests_.push_back({std::nullopt, std::move(done)});
  begin_work();
}

void FilePartStore::make_durable(const Digest& root, Done done) {
  requests_.push_back({root, std::move(done)});
  begin_work();
}

void FilePartStore::take(const Digest& digest, Known& known, Batch& batch) {
  if (known.place != Place::memory) return;
  known.place = Place::being_written;
  batch.parts.emplace_back(digest, known.content);
}

bool FilePartStore::take_below(const Digest& root, Batch& batch) {
  std::vector<Digest> below{root};
  std::set<Digest> seen;
  std::vector<Digest> unwritten;
  std::uint64_t bytes = 0;
  while (!below.empty()) {
    const Digest digest = below.back();
    below.pop_back();
    if (!references_.holds(digest) || !seen.insert(digest).second) continue;
    const auto children = children_of(digest);
    if (!children) return false;  // the disk has lost it meanwhile
    below.insert(below.end(), children->begin(), children->end());
    const Known& known = parts_.at(digest);
    if (known.place != Place::memory) continue;
    unwritten.push_back(digest);
    bytes += known.content->size();
  }
  if (bytes > 0 && !files_->has_room(bytes)) return false;
  for (const Digest& digest : unwritten)
    take(digest, parts_.at(digest), batch);
  return true;
}

void FilePartStore::begin_work() {
  const bool has_removals = !files_left_.empty() && files_left_.begin()->first <= removable_;
  if (is_working_) return;
  if (leaving_.empty() && requests_.empty() && !has_removals && !makes_room_) return;
  is_working_ = true;
  auto batch = std::make_shared<Batch>();
  take_removals(*batch);
  for (const Digest& digest : std::exchange(leaving_, {})) {
    const auto known = parts_.find(digest);
    if (known != parts_.end()) take(digest, known->second, *batch);
  }
  const bool makes_room = std::exchange(makes_room_, false) || is_beyond_memory(0);
  if (makes_room && files_->has_room(bytes_in_memory_)) {
    for (auto& [digest, known] : parts_)
      take(digest, known, *batch);
  }
  std::vector<Request> requests = std::exchange(requests_, {});
  std::vector<bool> had_room;
  for (const Request& request : requests) {
    had_room.push_back(!request.root || take_below(*request.root, *batch));
    if (request.root) continue;
    for (auto& [digest, known] : parts_) {
      if (references_.holds(digest)) take(digest, known, *batch);
    }
  }
  unsynced_ = unsynced_ || !batch->parts.empty();
  // What is written from here on is not sure to be in this sync.
  batch->sync = !requests.empty() && sync_ == SyncPolicy::always && std::exchange(unsynced_, false);
  writer_->run([this, batch] { carry_out(*batch); },
               [this, batch, requests = std::move(requests), had_room = std::move(had_room)] {
                 is_working_ = false;
                 on_written(*batch, requests, had_room);
                 begin_work();
               });
}

void FilePartStore::take_removals(Batch& batch) {
  while (batch.removed.size() < kRemovedAtOnceMax && !files_left_.empty() &&
         files_left_.begin()->first <= removable_) {
    batch.removed.push_back(files_left_.begin()->second);
    left_.erase(batch.removed.back());
    files_left_.erase(files_left_.begin());
  }
}

// Aside: of this object it uses what never changes.
void FilePartStore::carry_out(Batch& batch) const {
  for (const Digest& digest : batch.removed)
    files_->remove(digest);
  for (const auto& [digest, content] : batch.parts)
    batch.written.push_back(files_->write(digest, *content));
  if (batch.sync) batch.synced = files_->sync();
}

void FilePartStore::on_written(const Batch& batch, const std::vector<Request>& requests,
                               const std::vector<bool>& had_room) {
  bool all = true;
  counters_.removed += batch.removed.size();
  for (std::size_t i = 0; i < batch.parts.size(); ++i) {
    const Digest& digest = batch.parts[i].first;
    const bool written = batch.written[i];
    counters_.written += written ? 1 : 0;
    counters_.refused += written ? 0 : 1;
    const auto known = parts_.find(digest);
    if (orphans_.erase(digest) > 0) {
      // Unless it was kept again meanwhile, and will be written again. Not written, an earlier file
      // may be there.
      if (known != parts_.end()) {
        known->second.has_file = true;
      } else {
        forget_file(digest, written);
      }
      continue;
    }
    ASSERT(known != parts_.end() && known->second.place == Place::being_written);
    all = all && written;
    if (written) {
      leave_memory(known->second);
      known->second.place = Place::disk;
      known->second.has_file = true;
    } else {
      known->second.place = Place::memory;
      // It waits there for a flush.
      if (std::exchange(known->second.is_leaving, false)) {
        bytes_leaving_ -= known->second.content->size();
      }
    }
  }
  if (!batch.synced) ++counters_.refused;
  sync_failed_ = sync_failed_ || !batch.synced;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!had_room[i]) ++counters_.refused;
    requests[i].done(all && had_room[i] && !sync_failed_);
  }
  if (has_backlog()) return;
  for (const auto& then : std::exchange(after_backlog_, {}))
    then();
}

}  // namespace prophecy::pbft
