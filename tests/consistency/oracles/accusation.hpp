// `Accusation` is the oracle that asks whether the right origins are accused. Where honest noise is
// all that correct origins differ in, only liars are. In a trial, where nothing hides the liars,
// each of them is named within the bound of reads-to-a-name.
#pragma once

#include <set>
#include <string_view>

#include "consistency/oracles/breach.hpp"
#include "consistency/oracles/tally.hpp"
#include "consistency/settings.hpp"

namespace prophecy::consistency {

class Accusation {
 public:
  Accusation(const RunSettings& settings, Breach& breach, Tally& tally)
      : settings_(settings), breach_(breach), tally_(tally) {}

  void on_accused(std::size_t origin, std::string_view target);
  // The trial begins: names from before do not count.
  void begin_trial() { named_.clear(); }
  [[nodiscard]] bool has_named_all() const { return named_.size() == settings_.faults; }
  // The trial has ended.
  void check_named();

 private:
  const RunSettings& settings_;
  Breach& breach_;
  Tally& tally_;
  std::set<std::size_t> named_;
};

}  // namespace prophecy::consistency
