// `DivergenceLog` is the master's record of divergences: it numbers each event, writes it to the
// log and to the operator's file, and keeps the last ones.
//
// An origin that lies in each answer does not choose how much is written: the rate of each origin
// and shadow is bounded here, for all workers together. Events of shadows accuse nobody, and go
// first when there are too many to keep.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "sketcher/core/policy/report_rate.hpp"
#include "sketcher/shared/divergence_file.hpp"

namespace prophecy::sketcher {

class DivergenceLog {
 public:
  static constexpr std::size_t kKept = 1000;

  explicit DivergenceLog(Logger& log) : log_(log), file_(log) {}

  [[nodiscard]] DivergenceFile& file() { return file_; }
  [[nodiscard]] const DivergenceFile& file() const { return file_; }

  // One JSON object, as a worker sent it. Beyond kReportsAtOnce of an origin, one in each
  // kReportInterval is recorded, and the others are counted alone.
  void add(std::string_view event, TimePoint now);

  // A JSON object {"next": N, "events": [...]} with the kept events from number `since` on.
  [[nodiscard]] std::string since(std::uint64_t since) const;
  // Events recorded that accuse a replica; a shadow is none.
  [[nodiscard]] std::uint64_t count() const { return accusing_; }
  // Events that came too fast, and of which nothing is recorded.
  [[nodiscard]] std::uint64_t withheld() const { return withheld_; }

 private:
  [[nodiscard]] bool may_record(std::string_view event, TimePoint now);

  Logger& log_;
  DivergenceFile file_;
  std::map<std::string, ReportRate>
      rates_;               // by group and replica or shadow: as many as configured
  std::uint64_t next_ = 0;  // the number of the next event
  std::uint64_t accusing_ = 0;
  std::uint64_t withheld_ = 0;
  struct Kept {
    std::uint64_t id;
    bool of_shadow;
    std::string line;
  };
  std::deque<Kept> kept_;
};

}  // namespace prophecy::sketcher
