#include "ring/settings_oracle.hpp"

namespace prophecy::ring {

std::optional<std::string> SettingsOracle::on_commit(const std::string& text) {
  auto settings = codec().decode(text);
  if (!settings) return "settings were committed that cannot be read: " + settings.error().message;
  const dht::AgreedSettings before = std::exchange(committed_, std::move(*settings));
  if (committed_.number != before.number + 1)
    return "settings of number " + std::to_string(committed_.number) + " follow number " +
           std::to_string(before.number);
  if (committed_.number == 1) return std::nullopt;
  if (committed_.setters.empty()) return "nobody has set what was committed";
  const Id by{committed_.setters.back().instance, committed_.setters.back().change};
  const auto order = orders_.find(by);
  if (order == orders_.end()) return "settings were committed that nobody has asked for";
  if (!carried_out_.insert(by).second) return "a change was carried out twice";
  dht::SettingValues expected = before.values;
  if (order->second.value.empty()) {
    expected.erase(order->second.name);
  } else {
    expected[order->second.name] = order->second.value;
  }
  if (expected != committed_.values)
    return "a change of " + order->second.name + " has undone another one";
  return std::nullopt;
}

std::optional<std::string> SettingsOracle::on_outcome(dht::Instance instance,
                                                      const dht::SettingsOutcome& outcome) {
  const bool is_known = carried_out_.contains({instance, outcome.id});
  using OutcomeKind = dht::SettingsOutcome::Kind;
  if (outcome.kind == OutcomeKind::agreed && !is_known)
    return "a change was answered as agreed, and is not";
  if ((outcome.kind == OutcomeKind::lost || outcome.kind == OutcomeKind::refused) && is_known)
    return "a change was answered as lost, and was carried out";
  return std::nullopt;
}

}  // namespace prophecy::ring
