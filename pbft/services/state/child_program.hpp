// A program that is run for its output, or fed with input: with no other descriptors than its
// three and a lock, in a process group of its own, which is killed when it takes too long or is not
// wanted any more.
//
// Blocking. For a thread that has all signals blocked: an input that the program does not read
// would raise SIGPIPE.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "pbft/services/state/last_words.hpp"

namespace prophecy::pbft {

class ChildProgram {
 public:
  enum class Direction : std::uint8_t { output, input };

  struct Start {
    const std::vector<std::string>& command;  // the program's path, and its arguments
    Direction direction = Direction::output;
    TimePoint deadline;
    std::vector<std::string> variables{};  // NAME=VALUE, besides those of this process
    // A descriptor that it inherits as its fourth, so that a lock on it is held for as long as the
    // program and what it has started run, also without this process. -1: none.
    int lock = -1;
  };
  [[nodiscard]] static Result<ChildProgram> start(const Start& start);
  ChildProgram(ChildProgram&&) noexcept;
  ChildProgram& operator=(ChildProgram&&) = delete;
  // Kills what still runs.
  ~ChildProgram();

  // What one call may wait for before it says that nothing has happened, so that the caller can
  // look whether it is still wanted.
  static constexpr Duration kWaitMax = milliseconds(50);

  enum class Progress : std::uint8_t { some, none, ended };
  // Reads of its output into `room`; `size` says how much. `ended`: it has closed its output.
  [[nodiscard]] Result<Progress> read(std::span<std::uint8_t> room, std::size_t& size);
  // Writes from the front of `bytes`, and removes what was written.
  [[nodiscard]] Result<Progress> write(ByteView& bytes);
  void close_input() { pipe_.reset(); }
  // `ended`: with status 0. Every other end is an error, with what it said last.
  [[nodiscard]] Result<Progress> finish();

 private:
  ChildProgram(std::string name, pid_t process, UniqueFd handle, UniqueFd pipe, UniqueFd errors,
               TimePoint deadline);

  [[nodiscard]] Result<bool> wait(int fd, short events);
  void take_errors();
  [[nodiscard]] Error failed(const std::string& how) const;

  std::string name_;
  pid_t process_;
  UniqueFd handle_;  // readable once the process has ended
  UniqueFd pipe_;    // its output or its input
  UniqueFd errors_;  // its standard error
  TimePoint deadline_;
  LastWords last_words_;
};

}  // namespace prophecy::pbft
