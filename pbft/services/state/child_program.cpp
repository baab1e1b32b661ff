#include "pbft/services/state/child_program.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace prophecy::pbft {

namespace {

struct Pipe {
  UniqueFd reading;
  UniqueFd writing;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return io_error("a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// What a child starts with: the descriptors it is given, no others, default signals, its own group.
class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  void give(int fd, int as) {
    ::posix_spawn_file_actions_adddup2(&files_, fd, as);
    first_closed_ = std::max(first_closed_, as + 1);
  }
  void give_nothing(int as, int flags) {
    ::posix_spawn_file_actions_addopen(&files_, as, "/dev/null", flags, 0);
  }
  [[nodiscard]] int spawn(pid_t& process, const std::vector<std::string>& command,
                          const std::vector<std::string>& variables) {
    ::posix_spawn_file_actions_addclosefrom_np(&files_, first_closed_);
    std::vector<char*> arguments = pointers_to(command);
    arguments.push_back(nullptr);
    // The first of two variables of one name counts.
    std::vector<char*> environment = pointers_to(variables);
    for (char** variable = environ; *variable != nullptr; ++variable)
      environment.push_back(*variable);
    environment.push_back(nullptr);
    return ::posix_spawn(&process, arguments[0], &files_, &attributes_, arguments.data(),
                         environment.data());
  }

 private:
  static std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (const std::string& text : texts)
      pointers.push_back(const_cast<char*>(text.c_str()));
    return pointers;
  }

  int first_closed_ = STDERR_FILENO + 1;
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

void set_nonblocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

Result<ChildProgram> ChildProgram::start(const Start& start) {
  const std::string& name = start.command.front();
  auto data = make_pipe();
  if (!data) return data.error();
  auto errors = make_pipe();
  if (!errors) return errors.error();
  const bool is_output = start.direction == Direction::output;
  UniqueFd ours = std::move(is_output ? data->reading : data->writing);
  const UniqueFd theirs = std::move(is_output ? data->writing : data->reading);
  SpawnSettings settings;
  if (is_output) settings.give_nothing(STDIN_FILENO, O_RDONLY);
  settings.give(theirs.get(), is_output ? STDOUT_FILENO : STDIN_FILENO);
  if (!is_output) settings.give_nothing(STDOUT_FILENO, O_WRONLY);
  settings.give(errors->writing.get(), STDERR_FILENO);
  if (start.lock >= 0) settings.give(start.lock, STDERR_FILENO + 1);
  pid_t process = 0;
  if (const int error = settings.spawn(process, start.command, start.variables); error != 0) {
    return Error{ErrorKind::io, name + ": " + std::strerror(error)};
  }
  set_nonblocking(ours.get());
  set_nonblocking(errors->reading.get());
  // The header of glibc 2.36 that declares pidfd_open() is not fit for C++.
  UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  const bool has_handle = static_cast<bool>(handle);
  ChildProgram child(name, process, std::move(handle), std::move(ours), std::move(errors->reading),
                     start.deadline);
  if (!has_handle) return io_error(name);
  return child;
}

ChildProgram::ChildProgram(std::string name, pid_t process, UniqueFd handle, UniqueFd pipe,
                           UniqueFd errors, TimePoint deadline)
    : name_(std::move(name)),
      process_(process),
      handle_(std::move(handle)),
      pipe_(std::move(pipe)),
      errors_(std::move(errors)),
      deadline_(deadline) {}

ChildProgram::ChildProgram(ChildProgram&& other) noexcept
    : name_(std::move(other.name_)),
      process_(std::exchange(other.process_, 0)),
      handle_(std::move(other.handle_)),
      pipe_(std::move(other.pipe_)),
      errors_(std::move(other.errors_)),
      deadline_(other.deadline_),
      last_words_(std::move(other.last_words_)) {}

ChildProgram::~ChildProgram() {
  if (process_ == 0) return;
  ::kill(-process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// True when `fd` is ready; false when it is not, yet. Past the deadline, an error.
Result<bool> ChildProgram::wait(int fd, short events) {
  const TimePoint now = std::chrono::steady_clock::now();
  if (now >= deadline_) {
    take_errors();
    return failed("did not end within state_timeout");
  }
  const auto time = std::min<Duration>(deadline_ - now, kWaitMax);
  const int wait_ms = static_cast<int>(std::chrono::duration_cast<milliseconds>(time).count()) + 1;
  // What it says on its standard error is taken at once, or it would wait for room there.
  pollfd polled[2] = {{fd, events, 0}, {errors_.get(), POLLIN, 0}};
  if (::poll(polled, errors_ ? 2 : 1, wait_ms) < 0 && errno != EINTR) return io_error(name_);
  if (errors_ && polled[1].revents != 0) take_errors();
  return polled[0].revents != 0;
}

void ChildProgram::take_errors() {
  if (errors_ && !last_words_.take(errors_.get())) errors_.reset();
}

Error ChildProgram::failed(const std::string& how) const {
  const std::string said = last_words_.text();
  return {ErrorKind::unavailable, name_ + ": " + how + (said.empty() ? "" : "; it said: " + said)};
}

Result<ChildProgram::Progress> ChildProgram::read(std::span<std::uint8_t> room, std::size_t& size) {
  size = 0;
  const auto ready = wait(pipe_.get(), POLLIN);
  if (!ready) return ready.error();
  if (!*ready) return Progress::none;
  const ssize_t got = ::read(pipe_.get(), room.data(), room.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return Progress::none;
  if (got < 0) return io_error(name_);
  size = static_cast<std::size_t>(got);
  return got == 0 ? Progress::ended : Progress::some;
}

Result<ChildProgram::Progress> ChildProgram::write(ByteView& bytes) {
  const auto ready = wait(pipe_.get(), POLLOUT);
  if (!ready) return ready.error();
  if (!*ready) return Progress::none;
  const ssize_t taken = ::write(pipe_.get(), bytes.data(), bytes.size());
  if (taken < 0 && (errno == EINTR || errno == EAGAIN)) return Progress::none;
  if (taken < 0 && errno == EPIPE) return Progress::ended;
  if (taken < 0) return io_error(name_);
  bytes = bytes.subspan(static_cast<std::size_t>(taken));
  return Progress::some;
}

Result<ChildProgram::Progress> ChildProgram::finish() {
  const auto ready = wait(handle_.get(), POLLIN);
  if (!ready) return ready.error();
  if (!*ready) return Progress::none;
  // What it has left running in its group is not wanted either. It has not been waited for yet, so
  // the group is still its own.
  ::kill(-process_, SIGKILL);
  int status = 0;
  if (::waitpid(process_, &status, 0) < 0) return io_error(name_);
  process_ = 0;
  take_errors();
  if (WIFSIGNALED(status)) return failed("ended by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) {
    return failed("ended with status " + std::to_string(WEXITSTATUS(status)));
  }
  return Progress::ended;
}

}  // namespace prophecy::pbft
