// `SettingsOracle` watches what operators set for all members: each committed text is the one
// before with one change that somebody has asked for, and what was answered as agreed was
// committed.
//
// By the node itself, not by what members say of it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "dht/core/settings_share.hpp"

namespace prophecy::ring {

class SettingsOracle {
 public:
  static dht::SettingsCodec codec() { return {"site", dht::SettingsCodec::Key{7}}; }

  void on_order(dht::Instance instance, const dht::SettingsOrder& order) {
    orders_[{instance, order.id}] = order.change;
  }
  // Returns what is wrong.
  [[nodiscard]] std::optional<std::string> on_commit(const std::string& text);
  [[nodiscard]] std::optional<std::string> on_outcome(dht::Instance instance,
                                                      const dht::SettingsOutcome& outcome);

  [[nodiscard]] const dht::AgreedSettings& committed() const { return committed_; }

 private:
  using Id = std::pair<dht::Instance, std::uint64_t>;

  dht::AgreedSettings committed_;
  std::map<Id, dht::SettingChange> orders_;
  std::set<Id> carried_out_;
};

}  // namespace prophecy::ring
