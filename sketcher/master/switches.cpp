#include "sketcher/master/switches.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/file.hpp"

namespace prophecy::sketcher {
namespace {

using Json = nlohmann::ordered_json;

// {"format": 1, "bypass": BOOL, "routes": {NAME: MODE}, "ring": ...}, with the routes that differ
// from the configuration.
constexpr int kFormat = 1;
constexpr std::size_t kStateBytesMax = std::size_t{1} << 20;

Error refused(std::string reason) {
  return Error{ErrorKind::invalid, std::move(reason)};
}

}  // namespace

Switches::Switches(const Settings& settings, const SharedState& shared, Logger& log)
    : settings_(settings), shared_(shared), log_(log) {}

void Switches::restore() {
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(settings_.state_file, ignored))) {
    return;
  }
  const auto text = read_secret_file(settings_.state_file, kStateBytesMax);
  const Result<> restored = text ? restore_from(*text) : Result<>(text.error());
  if (restored) return;
  log_.error("switches-forgotten",
             {{"file", settings_.state_file.string()}, {"problem", restored.error().message}});
}

Result<> Switches::restore_from(const std::string& text) {
  const auto json = Json::parse(text, nullptr, false);
  const bool is_whole = json.is_object() && json.contains("format") && json["format"] == kFormat &&
                        json.contains("bypass") && json["bypass"].is_boolean() &&
                        json.contains("routes") && json["routes"].is_object();
  if (!is_whole) return Error{ErrorKind::damaged, "damaged, or of another version"};
  if (json.contains("ring")) ring_memory_ = json["ring"];
  if (json["bypass"].get<bool>()) {
    shared_.set_bypass(true);
    log_.warning("bypass-restored", {{"on", true}, {"file", settings_.state_file.string()}});
  }
  for (const auto& [name, mode] : json["routes"].items()) {
    const auto found = find(name, mode.is_string() ? mode.get<std::string>() : "");
    if (!found) {
      log_.error("route-mode-forgotten", {{"route", name}, {"problem", found.error().message}});
      continue;
    }
    RouteState& state = shared_.route(found->route);
    log_.warning("route-mode-restored", {{"route", name},
                                         {"configured", to_string(state.mode())},
                                         {"mode", to_string(found->mode)}});
    state.set_mode(found->mode);
  }
  return {};
}

Result<Switches::RouteSwitch> Switches::find(const std::string& name,
                                             const std::string& mode) const {
  const std::vector<RouteSettings>& routes = settings_.routes;
  const auto route = std::find_if(routes.begin(), routes.end(),
                                  [&](const RouteSettings& each) { return each.name == name; });
  if (route == routes.end()) return refused("there is no route \"" + name + "\"");
  const auto wanted = parse_route_mode(mode);
  if (!wanted)
    return refused(
        "expected the mode to be one of enforce, observe, off, tunnel, "
        "maintenance, stream");
  if (*wanted == RouteMode::tunnel && !may_be_tunnelled(settings_.groups[route->group])) {
    return refused("a group with send_proxy or TLS to its origins takes no tunnels");
  }
  // Whoever asks for it there has agreed to unverified answers without an end.
  if (*wanted == RouteMode::stream && route->mode != RouteMode::stream) {
    return refused("only a route whose configuration has mode \"stream\" takes it");
  }
  return RouteSwitch{static_cast<std::uint32_t>(route - routes.begin()), *wanted};
}

Result<> Switches::set_route_mode(const std::string& name, const std::string& mode) {
  const auto found = find(name, mode);
  if (!found) return found.error();
  RouteState& state = shared_.route(found->route);
  log_.warning("route-mode-changed",
               {{"route", name}, {"from", to_string(state.mode())}, {"to", mode}});
  state.set_mode(found->mode);
  return {};
}

void Switches::set_bypass(bool on) {
  log_.warning("bypass-changed", {{"on", on}});
  shared_.set_bypass(on);
}

Result<> Switches::remember() {
  Json routes = Json::object();
  for (std::uint32_t i = 0; i < settings_.routes.size(); ++i) {
    const RouteMode mode = shared_.route(i).mode();
    if (mode != settings_.routes[i].mode) routes[settings_.routes[i].name] = to_string(mode);
  }
  Json state{{"format", kFormat}, {"bypass", shared_.bypass()}, {"routes", routes}};
  if (current_ring_memory_) state["ring"] = current_ring_memory_();
  auto written = replace_file(settings_.state_file,
                              state.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n',
                              FileSecrecy::secret);
  if (!written) log_.error("switch-not-remembered", {{"problem", written.error().message}});
  return written;
}

}  // namespace prophecy::sketcher
