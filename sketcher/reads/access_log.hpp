// `AccessLog` appends a line of JSON for each answer of one worker to the operator's access log.
//
// Lines are collected and written together, once a second and when many have come, so a request
// costs no call of the system. A write holds whole lines: those of several workers do not mix, but
// they are only roughly in the order of time. Lines that the disk refuses are lost, and counted in
// the program's log. docs/measurement.md lists the members of a line.
//
// For one thread: a worker's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "sketch/sketch_value.hpp"

namespace prophecy::sketcher {

inline constexpr std::string_view kAccessLogName = "access log";

// How an answer came about.
enum class AnsweredBy : std::uint8_t {
  fast,        // one origin, and the history has verified it
  group,       // the group's agreement
  unverified,  // one origin, on a route or for a request without verification
  blocks,      // a large body, in blocks or unverified pieces
  sketcher,    // an error or a refusal of our own
};

// Views need to last for the call alone.
struct AccessEntry {
  std::string_view client{};
  std::string_view method{};
  std::string_view scheme{};
  std::string_view authority{};  // empty if the request names none that is valid
  std::string_view target{};
  std::uint16_t status = 0;
  std::uint64_t body_bytes = 0;
  AnsweredBy by = AnsweredBy::sketcher;
  std::string_view reason{};                              // of a refusal: a static token
  const sketch::Sketch* key = nullptr;                    // s(q) of a read; null: it has none
  const std::optional<sketch::Sketch>* sketch = nullptr;  // s(r); null or empty: it has none
  Duration took{};
};

class AccessLog {
 public:
  // Without a file nothing is written.
  AccessLog(UniqueFd file, Logger& log) : file_(std::move(file)), log_(log) {}
  ~AccessLog() { flush(); }
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  [[nodiscard]] bool is_open() const { return static_cast<bool>(file_); }
  void append(const AccessEntry& entry);
  void flush();
  // Flushes, and opens the path anew. On an error, which is logged, the former file stays open.
  void reopen(const std::filesystem::path& path);

 private:
  UniqueFd file_;
  Logger& log_;
  std::string lines_;
  std::uint64_t count_ = 0;  // of lines
  bool is_failing_ = false;  // and has been logged
};

}  // namespace prophecy::sketcher
