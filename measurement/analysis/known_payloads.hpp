// `KnownPayloads` remembers what was seen under a payload digest, for revisit records. Bounded: the
// digests that were asked for or added longest ago are forgotten in groups.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "measurement/analysis/answer_sketcher.hpp"

namespace prophecy::measurement {

class KnownPayloads {
 public:
  // It holds at most twice as many.
  explicit KnownPayloads(std::size_t generation_max = 250'000) : generation_max_(generation_max) {}

  void add(std::string_view digest, const AnswerSketch& answer) {
    if (young_.size() >= generation_max_ && !young_.contains(std::string(digest))) {
      old_ = std::move(young_);
      young_.clear();
    }
    young_[std::string(digest)] = answer;
  }
  // The last answer with that payload.
  [[nodiscard]] std::optional<AnswerSketch> find(std::string_view digest) {
    const std::string key(digest);
    if (const auto found = young_.find(key); found != young_.end()) return found->second;
    const auto found = old_.find(key);
    if (found == old_.end()) return std::nullopt;
    const AnswerSketch answer = found->second;
    add(digest, answer);
    return answer;
  }

 private:
  std::size_t generation_max_;
  std::unordered_map<std::string, AnswerSketch> young_;
  std::unordered_map<std::string, AnswerSketch> old_;
};

}  // namespace prophecy::measurement
