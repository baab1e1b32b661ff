// `AgreedSwitches` has a member act by what operators have set for all members of its ring.
//
//   an operator's change, carried out here ──► set() ──► orders for the ring ──► on_outcome()
//   what the ring has agreed on ──► on_agreed() ──► SettingTarget
//
// - What differs from what is in force here is carried out, and nothing else: a change that was set
//   here and comes back agreed is not carried out a second time.
// - What puts something back to what is configured comes before what takes something away: a
//   member that may not be without either never is.
// - A setting that this member refuses is kept as such, and tried again.
// - A change that the ring refuses, or that another member was faster with, ends: the agreed value
//   holds again. One that cannot be shared yet stays in force here, and is shared later.
//
// Single-threaded; without a clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "dht/core/settings_share.hpp"

namespace prophecy::sketcher {

class SettingTarget {
 public:
  virtual ~SettingTarget() = default;
  // `value` is empty: as configured.
  [[nodiscard]] virtual Result<> carry_out(const std::string& name, const std::string& value) = 0;
  // Before marks are carried out, or taken away: they outlive the process, so which ones there may
  // be has to be remembered first.
  virtual void remember() = 0;
};

class AgreedSwitches {
 public:
  // It outlives this.
  explicit AgreedSwitches(SettingTarget& target) : target_(target) {}

  // ---- From one life of the process to the next.
  // `ring` tells rings apart. `in_force`: what holds here at the beginning. `memory`: null, or what
  // memory() was once; the error says what is wrong with it, and nothing of it is used. What
  // another ring has agreed on is in force here at first, and no more.
  [[nodiscard]] Result<> restore(std::string ring, dht::SettingValues in_force,
                                 const nlohmann::ordered_json& memory);
  [[nodiscard]] nlohmann::ordered_json memory() const;

  // ---- From operators. Return the order's id.
  // It is about to be carried out here: a mark is remembered first (SettingTarget::remember()).
  void prepare(const std::string& name);
  // It is in force here.
  std::uint64_t set(const std::string& name, const std::string& value);
  std::uint64_t decide(dht::SettingsOrder::Kind kind);

  // ---- For the ring.
  // The next order that it has not got.
  [[nodiscard]] std::optional<dht::SettingsOrder> unsent() const;
  void on_sent(std::uint64_t id);
  // Another process of the ring: it has no order. A change is sent to it anew. A decision that the
  // former one had is not, since its operator has not seen what this one finds: it ends as refused.
  void on_ring_started();
  void on_agreed(dht::AgreedSettings settings);
  void on_outcome(const dht::SettingsOutcome& outcome);
  [[nodiscard]] const dht::AgreedSettings& agreed() const { return agreed_; }

  // What this member has refused, once more.
  void retry();

  // ---- For people.
  struct Refused {
    std::string value;
    std::string reason;

    bool operator==(const Refused&) const = default;
  };
  [[nodiscard]] const std::map<std::string, Refused>& refused() const { return refused_; }
  [[nodiscard]] std::size_t not_shared() const { return own_.size(); }
  // How an order has ended, or what it waits for; nothing: it is under way, or was forgotten.
  [[nodiscard]] const dht::SettingsOutcome* outcome(std::uint64_t id) const;
  // A list of {name, agreed, here}.
  [[nodiscard]] nlohmann::ordered_json list() const;

 private:
  // What was set here, and is not agreed.
  struct Own {
    std::uint64_t id = 0;
    std::string value = {};
    std::vector<std::string> bases = {};
    bool is_sent = false;
    std::string waits_for = {};
  };

  void begin_elsewhere(const dht::SettingValues& values);
  void reconcile();
  void carry_out_what(bool puts_back);
  [[nodiscard]] std::string wanted(const std::string& name) const;
  void note_outcome(dht::SettingsOutcome outcome);
  [[nodiscard]] std::string here(const std::string& name) const;

  SettingTarget& target_;
  std::string ring_;
  dht::AgreedSettings agreed_;
  bool is_ring_known_ = false;      // what is agreed comes from the ring, not from memory
  dht::SettingValues in_force_;     // names without a value are as configured
  std::map<std::string, Own> own_;  // by name
  std::map<std::string, Refused> refused_;
  std::map<std::uint64_t, dht::SettingsOrder> decisions_;  // by id; that the ring has not got
  std::set<std::uint64_t> sent_decisions_;                 // that it has, and has not ended
  std::map<std::uint64_t, dht::SettingsOutcome> outcomes_;
  std::uint64_t last_id_ = 0;
};

}  // namespace prophecy::sketcher
