#include "sketcher/master/operator_switches.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "sketcher/health/origin_admin.hpp"

namespace prophecy::sketcher {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kRetryInterval = seconds(1);
constexpr std::size_t kListedMax = 16;  // in the status

// Names of settings. Those of routes and groups have no '/'.
constexpr std::string_view kBypassName = "bypass";
constexpr std::string_view kRoutePrefix = "route/";

Error mistaken(std::string message) {
  return Error{ErrorKind::invalid, std::move(message)};
}

std::string switch_line(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string text_in(const nlohmann::json& request, const char* key) {
  const auto found = request.find(key);
  return found != request.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<Mark> mark_named(std::string_view name) {
  if (name.empty()) return Mark::none;
  for (const Mark mark : {Mark::whitelisted, Mark::blacklisted}) {
    if (name == to_string(mark)) return mark;
  }
  return std::nullopt;
}

// What a ring's members have in common, and another ring has not.
std::string ring_name(const Settings& settings) {
  const auto& ring = settings.ring;
  return ring && ring->living ? ring->living->root : std::string();
}

Json refused_json(const std::string& reason) {
  return {{"error", reason}};
}

}  // namespace

OperatorSwitches::OperatorSwitches(boost::asio::io_context& loop, const Installation& installation,
                                   const SharedState& shared, HealthMonitor& health,
                                   HistoryAdmin& history, RingProcess& ring, Logger& log)
    : installation_(installation),
      shared_(shared),
      log_(log),
      health_(health),
      history_(history),
      ring_(ring),
      switches_(installation.settings, shared, log),
      agreed_(*this),
      timer_(loop) {
  ring_.handle_settings(*this);
}

void OperatorSwitches::start() {
  switches_.restore();
  if (!ring_.exists()) return;
  shared_.ring().counters.settings_refused.set(0);
  shared_.ring().counters.settings_not_shared.set(0);
  if (auto restored =
          agreed_.restore(ring_name(installation_.settings), in_force(), switches_.ring_memory());
      !restored)
    log_.error("settings-forgotten", {{"problem", restored.error().message}});
  switches_.remember_ring_by([this] { return agreed_.memory(); });
  history_.mark_by([this](const Sketch& key, Mark mark) {
    return set(std::string(dht::kMarkPrefix) + to_hex(key),
               mark == Mark::none ? "" : std::string(to_string(mark)));
  });
  wait();
}

dht::SettingValues OperatorSwitches::in_force() const {
  dht::SettingValues values;
  if (shared_.bypass()) values[std::string(kBypassName)] = "on";
  const std::vector<RouteSettings>& routes = installation_.settings.routes;
  for (std::uint32_t i = 0; i < routes.size(); ++i) {
    const RouteMode mode = shared_.route(i).mode();
    if (mode != routes[i].mode)
      values[std::string(kRoutePrefix) + routes[i].name] = to_string(mode);
  }
  return values;
}

// ---- Operators.

bool OperatorSwitches::takes(std::string_view command) {
  return command == "set-route-mode" || command == "set-bypass" || takes_origin_change(command) ||
         command == "ring-settings" || command == "ring-settings-accept" ||
         command == "ring-settings-restore" || command == "ring-change";
}

std::string OperatorSwitches::answer(std::string_view command, const nlohmann::json& request) {
  Json answer;
  if (command == "set-route-mode") {
    const std::string route = text_in(request, "route");
    const std::string mode = text_in(request, "mode");
    answer = set(std::string(kRoutePrefix) + route, mode == configured_mode(route) ? "" : mode);
  } else if (command == "set-bypass") {
    const bool is_whole = request.contains("on") && request["on"].is_boolean();
    if (!is_whole) return switch_line(refused_json("expected \"on\" to be true or false"));
    answer = set(std::string(kBypassName), request["on"].get<bool>() ? "on" : "");
  } else if (takes_origin_change(command)) {
    answer = set_origin(command, request);
  } else {
    answer = ring_answer(command, request);
  }
  return switch_line(answer);
}

Json OperatorSwitches::set_origin(std::string_view command, const nlohmann::json& request) {
  auto setting = read_origin_setting(installation_.settings, command, request);
  if (!setting) return refused_json(setting.error().message);
  // As configured it has no reason to share.
  if (ring_.exists() && setting->value.starts_with("ready")) setting->value.clear();
  Json answer = set(setting->name, setting->value);
  if (command == "set-origin-weight" && !answer.contains("error"))
    answer["staleness_share"] = health_.staleness_share(text_in(request, "group"));
  return answer;
}

std::string OperatorSwitches::configured_mode(const std::string& route) const {
  for (const RouteSettings& each : installation_.settings.routes) {
    if (each.name == route) return std::string(to_string(each.mode));
  }
  return {};
}

Json OperatorSwitches::set(const std::string& name, const std::string& value) {
  if (ring_.exists()) agreed_.prepare(name);
  if (auto done = carry_out(name, value); !done) return refused_json(done.error().message);
  Json answer = Json::object();
  std::optional<std::uint64_t> change;
  if (ring_.exists()) change = agreed_.set(name, value);
  if (auto remembered = switches_.remember(); remembered) {
    answer["remembered"] = true;
  } else {
    answer["remembered"] = false;
    answer["problem"] = remembered.error().message;
  }
  if (change) {
    answer["change"] = *change;
    tell_ring();
  }
  return answer;
}

Json OperatorSwitches::ring_answer(std::string_view command, const nlohmann::json& request) {
  if (!ring_.exists()) return refused_json("this sketcher is no member of a ring with ZooKeeper");
  if (command == "ring-settings") {
    const auto& report = ring_.report();
    return {{"number", agreed_.agreed().number},
            {"connected", report.is_object() && report.value("connected", false)},
            {"problem", report.is_object() ? report.value("settings_problem", "") : ""},
            {"settings", agreed_.list()}};
  }
  if (command == "ring-change") {
    const auto id = request.find("change");
    if (id == request.end() || !id->is_number_unsigned())
      return refused_json("expected \"change\" to be a number");
    const dht::SettingsOutcome* const outcome = agreed_.outcome(id->get<std::uint64_t>());
    if (outcome == nullptr) return {{"outcome", "under-way"}, {"problem", ""}};
    return {{"outcome", to_string(outcome->kind)}, {"problem", outcome->message}};
  }
  const auto kind = command == "ring-settings-accept" ? dht::SettingsOrder::Kind::accept
                                                      : dht::SettingsOrder::Kind::restore;
  const std::uint64_t id = agreed_.decide(kind);
  log_.warning("settings-decided", {{"by", command}});
  tell_ring();
  return {{"change", id}};
}

Json OperatorSwitches::status() const {
  if (!ring_.exists()) return nullptr;
  Json refused = Json::array();
  for (const auto& [name, each] : agreed_.refused()) {
    if (refused.size() == kListedMax) break;
    refused.push_back({{"name", name}, {"value", each.value}, {"reason", each.reason}});
  }
  return {{"number", agreed_.agreed().number},
          {"settings", agreed_.agreed().values.size()},
          {"refused", std::move(refused)}};
}

// ---- What is carried out here.

Result<> OperatorSwitches::carry_out(const std::string& name, const std::string& value) {
  if (name == kBypassName) {
    if (!value.empty() && value != "on") return mistaken("expected the bypass to be on");
    switches_.set_bypass(value == "on");
    return {};
  }
  if (name.starts_with(kRoutePrefix)) {
    const std::string route = name.substr(kRoutePrefix.size());
    return switches_.set_route_mode(route, value.empty() ? configured_mode(route) : value);
  }
  if (is_origin_setting(name))
    return sketcher::set_origin(health_, installation_.settings, {name, value});
  if (name.starts_with(dht::kMarkPrefix)) {
    Sketch key{};
    const auto mark = mark_named(value);
    if (!mark || !from_hex(std::string_view(name).substr(dht::kMarkPrefix.size()), key))
      return mistaken("this is no mark");
    return history_.set_mark(key, *mark);
  }
  return mistaken("this build does not know the setting");
}

void OperatorSwitches::remember() {
  // (It has logged what is wrong.)
  static_cast<void>(switches_.remember());
}

// ---- The ring.

void OperatorSwitches::on_ring_started() {
  agreed_.on_ring_started();
  tell_ring();
}

void OperatorSwitches::on_agreed(dht::AgreedSettings settings) {
  to_confirm_ = settings.number;
  agreed_.on_agreed(std::move(settings));
  note_refused();
  tell_ring();
}

void OperatorSwitches::on_outcome(const dht::SettingsOutcome& outcome) {
  using Kind = dht::SettingsOutcome::Kind;
  if (outcome.kind == Kind::refused || outcome.kind == Kind::lost)
    log_.warning("setting-not-agreed", {{"problem", outcome.message}});
  if (outcome.kind == Kind::waiting)
    log_.warning("setting-not-shared", {{"problem", outcome.message}});
  agreed_.on_outcome(outcome);
  note_refused();
}

void OperatorSwitches::tell_ring() {
  while (const auto order = agreed_.unsent()) {
    const std::string text = order_text(*order);
    if (text.size() > kRingOrderBytesMax) {
      on_outcome(
          {order->id, dht::SettingsOutcome::Kind::refused,
           "it is too long: an order may have " + std::to_string(kRingOrderBytesMax) + " bytes"});
      continue;
    }
    if (!ring_.tell(text)) break;
    agreed_.on_sent(order->id);
  }
  if (to_confirm_ != 0 && ring_.tell(carried_out_text(to_confirm_))) to_confirm_ = 0;
  note_refused();
}

void OperatorSwitches::wait() {
  timer_.expires_after(kRetryInterval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    agreed_.retry();
    tell_ring();
    wait();
  });
}

void OperatorSwitches::note_refused() {
  for (const auto& [name, refused] : agreed_.refused()) {
    const auto known = logged_.find(name);
    if (known != logged_.end() && known->second == refused) continue;
    log_.error("setting-refused",
               {{"setting", name}, {"value", refused.value}, {"problem", refused.reason}});
  }
  logged_ = agreed_.refused();
  shared_.ring().counters.settings_refused.set(agreed_.refused().size());
  shared_.ring().counters.settings_not_shared.set(agreed_.not_shared());
}

}  // namespace prophecy::sketcher
