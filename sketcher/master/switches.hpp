// `Switches` holds what an operator switches at run time: the modes of routes, and the bypass. It
// remembers them in a file, so that a master that starts after a crash does not enforce what was
// switched off.
//
// A switch takes effect at once, also when it cannot be remembered. Only the master calls.
#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json_fwd.hpp>

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

  // The answer for the admin socket: {"remembered": true}, {"remembered": false, "problem": TEXT}
  // or
  // {"error": TEXT}.
  [[nodiscard]] std::string set_route_mode(const std::string& name, const std::string& mode);
  [[nodiscard]] std::string set_bypass(bool on);

 private:
  // The mode and the route's number, if the route may have it.
  struct RouteSwitch {
    std::uint32_t route = 0;
    RouteMode mode = RouteMode::enforce;
  };
  [[nodiscard]] Result<RouteSwitch> find(const std::string& name, const std::string& mode) const;
  [[nodiscard]] Result<> restore_from(const std::string& text);
  [[nodiscard]] std::string remember();

  const Settings& settings_;
  SharedState shared_;
  Logger& log_;
};

}  // namespace prophecy::sketcher
