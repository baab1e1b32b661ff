// `PreviousBodies` keeps the last answer of each URL in an unnamed file of bounded size, its body
// and its fields, and compares answers at transitions as they arrive. The file is written round and
// round: what lies there longest is overwritten first, and reported as not compared.
//
// For one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "measurement/analysis/answer.hpp"
#include "measurement/analysis/change_causes.hpp"
#include "measurement/analysis/dynamic_data.hpp"
#include "measurement/analysis/rule_candidates.hpp"
#include "measurement/analysis/url_table.hpp"

namespace prophecy::measurement {

class PreviousBodies {
 public:
  // Takes transitions with equal bodies to the rules, which must outlive it.
  PreviousBodies(std::filesystem::path folder, std::uint64_t bytes_max, RuleCandidates& rules)
      : folder_(std::move(folder)), bytes_max_(bytes_max), rules_(rules) {}

  // Requires a sketched answer.
  [[nodiscard]] Result<> add(UrlNumber url, const Answer& answer);
  [[nodiscard]] const DynamicData& figures() const { return figures_; }
  // Ends the comparing.
  [[nodiscard]] ChangeCauses take_causes() { return std::move(causes_); }

 private:
  enum class Body : std::uint8_t { none, kept, absent, too_large };
  struct Last {
    Microseconds time = 0;
    std::uint64_t place = 0;        // in all that was ever written
    std::uint32_t size = 0;         // of the body
    std::uint32_t fields_size = 0;  // behind it
    Body body = Body::none;
    sketch::Sketch sketch{};
  };

  [[nodiscard]] Result<> compare(UrlNumber url, const Last& last, const Answer& answer);
  [[nodiscard]] Result<> keep(Last& last, const Answer& answer);
  [[nodiscard]] Result<> write(std::string_view bytes);
  [[nodiscard]] Result<> read(std::uint64_t place, std::string& bytes) const;

  std::filesystem::path folder_;
  std::uint64_t bytes_max_;
  RuleCandidates& rules_;
  UniqueFd file_;
  std::uint64_t written_ = 0;
  std::vector<Last> last_;  // by URL
  std::string before_;
  DynamicData figures_;
  ChangeCauses causes_;
};

}  // namespace prophecy::measurement
