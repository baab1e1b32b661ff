// `Wanted` is what a simulated client asks for next, drawn from the run's seed.
#pragma once

#include <string>

#include "consistency/history.hpp"
#include "consistency/origins/page.hpp"
#include "sketcher/core/policy/route_mode.hpp"

namespace prophecy::consistency {

struct Wanted {
  Page page = Page::register_value;
  Key key = 0;
  Kind kind = Kind::read;
  bool is_head = false;
  std::string target;
  sketcher::RouteMode mode = sketcher::RouteMode::enforce;
  sketcher::Reads reads = sketcher::Reads::delay_once;
  Mark listed = Mark::none;

  [[nodiscard]] std::string_view method() const {
    return kind == Kind::publish ? "POST" : is_head ? "HEAD" : "GET";
  }
  // By agreement or by the history.
  [[nodiscard]] bool is_verified() const {
    return kind == Kind::publish ||
           (mode == sketcher::RouteMode::enforce && listed != Mark::whitelisted);
  }
  // In a history.
  [[nodiscard]] bool is_recorded() const { return page == Page::register_value && is_verified(); }

  [[nodiscard]] static Wanted draw(const RunSettings& settings, simulation::Random& random);
  // One of many different reads that are observed.
  [[nodiscard]] static Wanted flood(simulation::Random& random);
  // A read of a register, on a route that is enforced.
  [[nodiscard]] static Wanted plain_read(const RunSettings& settings, simulation::Random& random);
};

}  // namespace prophecy::consistency
