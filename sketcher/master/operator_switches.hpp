// `OperatorSwitches` answers operators who switch something at run time: modes of routes, the
// bypass, states and weights of origins, and marks on requests. A member of a ring with ZooKeeper
// shares these with all members (agreed_switches.hpp); elsewhere each sketcher has its own.
//
// A switch takes effect here at once, and is answered then. The answer of a member of a ring has
// the number of the order by which it is shared; {"command": "ring-change"} says how that ends.
//
// Single-threaded, on the master's loop, which must not run any more once it is destroyed.
#pragma once

#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json_fwd.hpp>

#include "base/log.hpp"
#include "sketcher/health/monitor.hpp"
#include "sketcher/history/history_admin.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/master/agreed_switches.hpp"
#include "sketcher/master/switches.hpp"
#include "sketcher/ring/ring_process.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

class OperatorSwitches final : private SettingTarget, private RingSettingsHandler {
 public:
  // All outlive it. `history` and `ring` call it from now on.
  OperatorSwitches(boost::asio::io_context& loop, const Installation& installation,
                   const SharedState& shared, HealthMonitor& health, HistoryAdmin& history,
                   RingProcess& ring, Logger& log);

  // Sets what is remembered of an earlier life. After RingProcess::prepare().
  void start();

  [[nodiscard]] static bool takes(std::string_view command);
  // One line of JSON; {"error": ...} for what cannot be done. Requires that it takes the command.
  // `request` is an object that somebody else has written.
  [[nodiscard]] std::string answer(std::string_view command, const nlohmann::json& request);
  // For the status; null without a ring.
  [[nodiscard]] nlohmann::ordered_json status() const;

 private:
  [[nodiscard]] Result<> carry_out(const std::string& name, const std::string& value) override;
  void remember() override;
  [[nodiscard]] dht::AgreedSettings known_settings() const override { return agreed_.agreed(); }
  void on_ring_started() override;
  void on_agreed(dht::AgreedSettings settings) override;
  void on_outcome(const dht::SettingsOutcome& outcome) override;

  [[nodiscard]] nlohmann::ordered_json set(const std::string& name, const std::string& value);
  [[nodiscard]] nlohmann::ordered_json set_origin(std::string_view command,
                                                  const nlohmann::json& request);
  [[nodiscard]] nlohmann::ordered_json ring_answer(std::string_view command,
                                                   const nlohmann::json& request);
  [[nodiscard]] std::string configured_mode(const std::string& route) const;
  [[nodiscard]] dht::SettingValues in_force() const;
  // Orders that the ring has not got, and up to where settings are carried out.
  void tell_ring();
  void wait();
  void note_refused();

  const Installation& installation_;
  SharedState shared_;
  Logger& log_;
  HealthMonitor& health_;
  HistoryAdmin& history_;
  RingProcess& ring_;
  Switches switches_;
  AgreedSwitches agreed_;
  boost::asio::steady_timer timer_;
  dht::SettingsNumber to_confirm_ = 0;  // what the ring has to be told; 0: nothing
  std::map<std::string, AgreedSwitches::Refused> logged_;
};

}  // namespace prophecy::sketcher
