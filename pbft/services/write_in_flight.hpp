// `WriteInFlight` remembers, beyond the end of this process, that the origin may be carrying out a
// write: an agent that is killed leaves it running there, and its next process must not restore a
// state, or execute anything again, beside it.
//
// When it was sent lies in a file of eight bytes. The system keeps what was written to it when the
// process is killed. After a loss of power it may be an older time, but what ran on this machine
// has ended as well.
//
// Single-threaded.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::pbft {

class WriteInFlight {
 public:
  // An empty path, or one that cannot be opened or read: nothing is remembered.
  explicit WriteInFlight(const std::filesystem::path& file);

  void begin();
  void end();
  // What an earlier process has left may go on for so long from now on, if it takes no more than
  // `longest` from when it was sent.
  [[nodiscard]] Duration left_behind(Duration longest) const;

 private:
  void write(std::uint64_t sent_at) const;

  UniqueFd file_;
  std::uint64_t before_ = 0;  // milliseconds since 1970; of an earlier process; 0: none
};

}  // namespace prophecy::pbft
