#include "pbft/services/state/command_state.hpp"

#include <cerrno>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>

#include "base/unique_fd.hpp"
#include "pbft/services/state/child_program.hpp"
#include "pbft/services/state/part_sequence.hpp"

namespace prophecy::pbft {

namespace {

using Progress = ChildProgram::Progress;

TimePoint deadline_of(const CommandSettings& settings) {
  return std::chrono::steady_clock::now() + settings.timeout;
}

Result<> wait_for_end(PartPipe& parts, ChildProgram& program) {
  for (;;) {
    if (parts.closed()) return service_stopped();
    const auto progress = program.finish();
    if (!progress) return progress.error();
    if (*progress == Progress::ended) return {};
  }
}

// False when the program reads no more.
Result<bool> feed(PartPipe& parts, ChildProgram& program, ByteView bytes) {
  while (!bytes.empty()) {
    if (parts.closed()) return service_stopped();
    const auto progress = program.write(bytes);
    if (!progress) return progress.error();
    if (*progress == Progress::ended) return false;
  }
  return true;
}

// The size of the sequence, of which all is there and within bounds: looked at before a program is
// started that empties a state first and then finds half of one.
Result<std::uint64_t> check_content(PartPipe& parts, const Digest& root, std::uint64_t bytes_max) {
  ContentReader content(parts, root, bytes_max);
  for (;;) {
    const auto bytes = content.next();
    if (!bytes) return bytes.error();
    if (bytes->empty()) return content.size();
  }
}

// Held by one `state_load` at a time, and by what it has started.
class LoadLock {
 public:
  // Waits for one that an agent before this one has left behind. Without a path, locks nothing.
  [[nodiscard]] static Result<LoadLock> take(PartPipe& parts, const CommandSettings& settings) {
    LoadLock lock;
    if (settings.lock.empty()) return lock;
    lock.file_.reset(
        ::open(settings.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock.file_) return io_error(settings.lock.string());
    const TimePoint deadline = deadline_of(settings);
    while (::flock(lock.file_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) return io_error(settings.lock.string());
      if (parts.closed()) return service_stopped();
      if (std::chrono::steady_clock::now() >= deadline) {
        return Error{ErrorKind::unavailable, settings.lock.string() +
                                                 ": locked: a state_load that an earlier agent has "
                                                 "started, or what that one has, still runs"};
      }
      std::this_thread::sleep_for(ChildProgram::kWaitMax);
    }
    return lock;
  }
  // Also for what the program has left running, which has inherited the lock.
  ~LoadLock() {
    if (file_) ::flock(file_.get(), LOCK_UN);
  }
  LoadLock(LoadLock&&) = default;
  LoadLock& operator=(LoadLock&&) = delete;

  [[nodiscard]] int fd() const { return file_.get(); }

 private:
  LoadLock() = default;

  UniqueFd file_;
};

}  // namespace

Result<Digest> CommandState::snapshot(PartPipe& parts) {
  return dump(parts, &parts);
}

Result<Digest> CommandState::dump(PartPipe& parts, PartPipe* to) {
  auto program = ChildProgram::start({.command = settings_.dump,
                                      .direction = ChildProgram::Direction::output,
                                      .deadline = deadline_of(settings_)});
  if (!program) return program.error();
  PartSink sink(to);
  ContentWriter content(sink, bytes_allowed());
  Bytes room(64 * 1024);
  // It is read to its end all the same: how much there is says whether the state is full.
  std::optional<Error> not_kept;
  std::uint64_t bytes = 0;
  for (;;) {
    if (parts.closed()) return service_stopped();
    std::size_t size = 0;
    const auto progress = program->read(room, size);
    if (!progress) return progress.error();
    if (*progress == Progress::ended) break;
    bytes += size;
    if (bytes > bytes_allowed()) {
      return Error{ErrorKind::limit, settings_.dump.front() + ": more than " +
                                         std::to_string(bytes_allowed()) +
                                         " bytes of output (state_bytes_max)"};
    }
    if (not_kept) continue;
    if (auto added = content.add(ByteView(room).first(size)); !added) not_kept = added.error();
  }
  if (auto ended = wait_for_end(parts, *program); !ended) return ended.error();
  bytes_ = bytes;
  if (not_kept) return *not_kept;
  auto root = content.finish();
  if (!root) return root;
  if (to != nullptr) {
    if (auto flushed = to->flush(); !flushed) return flushed.error();
  }
  return root;
}

Result<> CommandState::restore(PartPipe& parts, const Digest& root) {
  const auto size = check_content(parts, root, bytes_allowed());
  if (!size) return size.error();
  if (auto loaded = load(parts, root, *size); !loaded) return loaded;
  bytes_ = *size;
  if (!settings_.verify) return {};
  const auto present = dump(parts, nullptr);
  if (!present) return present.error();
  if (*present == root) return {};
  return Error{ErrorKind::unavailable, settings_.dump.front() + ": the state behind " +
                                           settings_.load.front() +
                                           " is another one than that which it was given"};
}

Result<> CommandState::load(PartPipe& parts, const Digest& root, std::uint64_t size) {
  const auto lock = LoadLock::take(parts, settings_);
  if (!lock) return lock.error();
  auto program = ChildProgram::start(
      {.command = settings_.load,
       .direction = ChildProgram::Direction::input,
       .deadline = deadline_of(settings_),
       .variables = {"STATE_BYTES=" + std::to_string(size), "STATE_ROOT=" + to_hex(root)},
       .lock = lock->fd()});
  if (!program) return program.error();
  ContentReader content(parts, root, bytes_allowed());
  bool reads = true;
  while (reads) {
    const auto bytes = content.next();
    if (!bytes) return bytes.error();
    if (bytes->empty()) break;
    const auto fed = feed(parts, *program, *bytes);
    if (!fed) return fed.error();
    reads = *fed;
  }
  program->close_input();
  if (auto ended = wait_for_end(parts, *program); !ended) return ended;
  if (reads) return {};
  return Error{ErrorKind::unavailable,
               settings_.load.front() + ": ended well, but had not read its whole input"};
}

}  // namespace prophecy::pbft
