// The master's record of divergences: numbers each event, appends it to the log file, and keeps
// the last ones for operators. Events of shadows accuse nobody, and go first when there are too
// many.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::sketcher {

class DivergenceLog {
 public:
  static constexpr std::size_t kKept = 1000;

  explicit DivergenceLog(Logger& log) : log_(log) {}
  // Appends to this file from now on; it is made with mode 0640.
  [[nodiscard]] Result<> open(const std::string& path);

  // One JSON object, as a worker sent it.
  void add(std::string_view event);

  // A JSON object {"next": N, "events": [...]} with the kept events from number `since` on.
  [[nodiscard]] std::string since(std::uint64_t since) const;
  // Of those that accuse a replica: a shadow is none.
  [[nodiscard]] std::uint64_t count() const { return accusing_; }

 private:
  Logger& log_;
  UniqueFd file_;
  bool write_failed_ = false;
  std::uint64_t next_ = 0;  // the number of the next event
  std::uint64_t accusing_ = 0;
  struct Kept {
    std::uint64_t id;
    bool of_shadow;
    std::string line;
  };
  std::deque<Kept> kept_;
};

}  // namespace prophecy::sketcher
