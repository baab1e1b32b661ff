#include "pbft/services/state/part_pipe.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

namespace prophecy::pbft {

namespace {

Error not_kept() {
  return {ErrorKind::io, "the snapshot cannot be kept (is the disk full?)"};
}

}  // namespace

Error service_stopped() {
  return {ErrorKind::unavailable, "the service was stopped"};
}

// What the loop's handlers and the worker share; handlers may outlive the pipe.
struct PartPipe::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool closed = false;  // written by the loop alone
  bool keep_failed = false;
  std::size_t bytes_in_flight = 0;
  const PartStore* store = nullptr;  // the loop's own
  PartStore* writable = nullptr;     // the loop's own

  struct Held {
    Digest part{};
    // It is removed with its last pin. A part that somebody else had without a pin stays.
    bool goes = false;
  };
  // Parts that are pinned for the worker, children first, and where.
  std::vector<Held> held;
  PartStore* held_in = nullptr;

  // Requires that the part and its children are there.
  [[nodiscard]] bool hold(const Digest& part, bool is_new) {
    const bool goes = is_new || writable->is_pinned(part);
    if (!writable->pin(part)) return false;
    held.push_back({part, goes});
    held_in = writable;
    return true;
  }
};

PartPipe::PartPipe(boost::asio::io_context& loop)
    : loop_(loop), shared_(std::make_shared<Shared>()) {}

PartPipe::~PartPipe() {
  close();
}

void PartPipe::open(const PartStore& store, PartStore* writable) {
  // The core has pinned the root of the last snapshot by now, or does not want it.
  release();
  const std::lock_guard lock(shared_->mutex);
  shared_->store = &store;
  shared_->writable = writable;
  shared_->keep_failed = false;
}

void PartPipe::release() {
  // Parents first, as they are.
  for (auto held = shared_->held.rbegin(); held != shared_->held.rend(); ++held) {
    if (held->goes) {
      shared_->held_in->unpin(held->part);
    } else {
      shared_->held_in->let_go(held->part);
    }
  }
  shared_->held = {};
}

void PartPipe::close() {
  const std::lock_guard lock(shared_->mutex);
  shared_->closed = true;
  shared_->changed.notify_all();
}

bool PartPipe::closed() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->closed;
}

bool PartPipe::ask(const std::function<void()>& question) {
  const auto answered = std::make_shared<bool>(false);
  boost::asio::post(loop_, [shared = shared_, answered, &question] {
    // The worker waits below for as long as the pipe is open: `question` lives.
    const std::lock_guard lock(shared->mutex);
    if (shared->closed) return;
    question();
    *answered = true;
    shared->changed.notify_all();
  });
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return *answered || shared_->closed; });
  return *answered;
}

Result<bool> PartPipe::hold(const Digest& root) {
  bool result = false;
  const bool is_answered =
      ask([&] { result = shared_->writable->is_pinned(root) && shared_->hold(root, false); });
  if (!is_answered) return service_stopped();
  return result;
}

Result<std::uint64_t> PartPipe::losses() {
  std::uint64_t result = 0;
  if (!ask([&] { result = shared_->store->losses(); })) return service_stopped();
  return result;
}

Result<Bytes> PartPipe::read(const Digest& digest) {
  std::optional<Bytes> part;
  if (!ask([&] { part = shared_->store->read(digest); })) return service_stopped();
  if (!part) {
    return Error{ErrorKind::unavailable,
                 "the part " + to_hex(digest) + " of the snapshot is missing or damaged"};
  }
  return std::move(*part);
}

Result<> PartPipe::keep(const Digest& digest, Bytes part) {
  const std::size_t size = part.size();
  {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait(lock, [&] {
      return shared_->closed || shared_->keep_failed || shared_->bytes_in_flight == 0 ||
             shared_->bytes_in_flight + size <= kBytesInFlightMax;
    });
    if (shared_->closed) return service_stopped();
    if (shared_->keep_failed) return not_kept();
    shared_->bytes_in_flight += size;
  }
  boost::asio::post(loop_, [shared = shared_, digest, part = std::move(part)] {
    bool wanted = false;
    {
      const std::lock_guard lock(shared->mutex);
      wanted = !shared->closed && !shared->keep_failed;
    }
    // Not under the lock: the worker hashes the next one meanwhile.
    const bool is_new = wanted && !shared->writable->holds(digest);
    const bool is_there = wanted && (!is_new || shared->writable->keep(digest, part));
    const bool is_held = is_there && shared->hold(digest, is_new);
    if (is_new && is_there && !is_held) shared->writable->discard(digest);
    if (wanted && !is_held) {
      const std::lock_guard lock(shared->mutex);
      shared->keep_failed = true;
      shared->changed.notify_all();
    }
    const auto make_room = [shared, size = part.size()] {
      const std::lock_guard lock(shared->mutex);
      shared->bytes_in_flight -= size;
      shared->changed.notify_all();
    };
    if (!wanted) return make_room();
    shared->writable->after_backlog(make_room);
  });
  return {};
}

Result<> PartPipe::flush() {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait(lock, [&] { return shared_->closed || shared_->bytes_in_flight == 0; });
  if (shared_->closed) return service_stopped();
  if (shared_->keep_failed) return not_kept();
  return {};
}

}  // namespace prophecy::pbft
