// `LogFollower` reads a file that others append to, for as long as it is asked, in whole lines. It
// goes on when the file is rotated: a renamed file is read for some seconds more, since its writers
// notice later, and then the new one under its name from its beginning. A file that has become
// shorter was truncated, and is read from its beginning. (One that was truncated and has grown
// beyond its former size between two looks is not noticed.)
//
// For one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::measurement {

class LogFollowerSink {
 public:
  virtual ~LogFollowerSink() = default;
  // Another content begins: the first one, a new file, or a truncated one.
  virtual void on_begin() = 0;
  // Whole lines. `offset` is where the first begins.
  virtual void on_lines(std::string_view lines, std::uint64_t offset) = 0;
};

class LogFollower {
 public:
  static constexpr Duration kOldFile = seconds(5);  // for so long a renamed file is read

  // The sink must outlive it.
  LogFollower(std::filesystem::path path, LogFollowerSink& sink)
      : path_(std::move(path)), sink_(sink) {}

  // Reads what there is. Without a file it waits for one. An error is one of reading.
  [[nodiscard]] Result<> poll(TimePoint now);
  [[nodiscard]] bool has_file() const { return static_cast<bool>(file_); }

 private:
  [[nodiscard]] Result<> read_on();
  [[nodiscard]] Result<> open();

  std::filesystem::path path_;
  LogFollowerSink& sink_;
  UniqueFd file_;
  std::uint64_t position_ = 0;        // of the next byte to read
  std::string part_;                  // of a line whose end is missing
  std::optional<TimePoint> renamed_;  // since when the path is another file's
};

}  // namespace prophecy::measurement
