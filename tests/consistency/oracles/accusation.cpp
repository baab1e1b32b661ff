#include "consistency/oracles/accusation.hpp"

#include <string>

namespace prophecy::consistency {

void Accusation::on_accused(std::size_t origin, std::string_view target) {
  if (settings_.is_liar(origin)) {
    named_.insert(origin);
    return tally_.add(Met::liars_named);
  }
  if (settings_.has_lag()) return;
  breach_.note("accusation: correct origin " + std::to_string(origin) + " for " +
               std::string(target));
}

void Accusation::check_named() {
  if (has_named_all()) return;
  breach_.note("accusation: of " + std::to_string(settings_.faults) + " liars " +
               std::to_string(named_.size()) + " were named within the bound of reads-to-a-name");
}

}  // namespace prophecy::consistency
