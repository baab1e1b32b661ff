// `Switches` holds what an operator switches at run time: the modes of routes, and the bypass. It
// remembers them in a file, so that a master that starts after a crash does not enforce what was
// switched off. The file also has what a member of a ring remembers of settings that all members
// share.
//
// Only the master calls.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/log.hpp"
#include "sketcher/config/settings.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

class Switches {
 public:
  Switches(const Settings& settings, const SharedState& shared, Logger& log);

  // Sets what the file remembers, over what the configuration says, and logs each difference as a
  // warning. A file that is damaged is logged and left alone until the next switch; so is a route
  // that it names and that is none, or that may not have that mode.
  void restore();

  // These take effect at once.
  [[nodiscard]] Result<> set_route_mode(const std::string& name, const std::string& mode);
  void set_bypass(bool on);
  // Writes the file. An error is logged.
  [[nodiscard]] Result<> remember();

  // What the file has had of the ring, or null; and what it is to have.
  [[nodiscard]] const nlohmann::ordered_json& ring_memory() const { return ring_memory_; }
  void remember_ring_by(std::function<nlohmann::ordered_json()> memory) {
    current_ring_memory_ = std::move(memory);
  }

 private:
  // The mode and the route's number, if the route may have it.
  struct RouteSwitch {
    std::uint32_t route = 0;
    RouteMode mode = RouteMode::enforce;
  };
  [[nodiscard]] Result<RouteSwitch> find(const std::string& name, const std::string& mode) const;
  [[nodiscard]] Result<> restore_from(const std::string& text);

  const Settings& settings_;
  SharedState shared_;
  Logger& log_;
  nlohmann::ordered_json ring_memory_;
  std::function<nlohmann::ordered_json()> current_ring_memory_;
};

}  // namespace prophecy::sketcher
