#include "pbft/replica/adoption_commands.hpp"

#include <optional>

#include <nlohmann/json.hpp>

#include "base/bytes.hpp"

namespace prophecy::pbft {
namespace {

using Json = nlohmann::ordered_json;

std::string refusal(const std::string& why) {
  return Json{{"error", why}}.dump();
}

std::string adoption_json(const AdoptionStatus& status) {
  Json members = Json::array();
  for (const AdoptionStatus::Member& member : status.members) {
    Json row{{"replica", member.replica}, {"says", to_string(member.says)}};
    const bool has_root = member.state != Digest{};
    row["root"] = has_root ? Json(to_hex(member.state)) : Json(nullptr);
    row["at"] = has_root ? Json(member.at) : Json(nullptr);
    members.push_back(std::move(row));
  }
  return Json{{"adoption", to_string(status.state)},
              {"problem", status.problem},
              {"needed", status.needed},
              {"at", status.at},
              {"members", members}}
      .dump();
}

std::optional<AdoptionOrder> order_of(const nlohmann::json& request) {
  AdoptionOrder order;
  const auto state = request.find("state");
  const auto at = request.find("at");
  const auto except = request.find("except");
  if (state == request.end() || !state->is_string() || at == request.end() ||
      !at->is_number_unsigned() || !from_hex(state->get<std::string>(), order.state)) {
    return std::nullopt;
  }
  order.at = at->get<std::uint64_t>();
  if (except == request.end()) return order;
  if (!except->is_array()) return std::nullopt;
  for (const auto& replica : *except) {
    if (!replica.is_number_unsigned()) return std::nullopt;
    order.except.push_back(replica.get<NodeId>());
  }
  return order;
}

}  // namespace

std::string answer_replica_command(std::string_view request_line, const ReplicaCommands& commands) {
  const auto request = nlohmann::json::parse(request_line, nullptr, false);
  if (!request.is_object()) return refusal("expected a JSON object on one line");
  const auto named = request.find("command");
  const std::string command =
      named != request.end() && named->is_string() ? named->get<std::string>() : "";
  if (command == "status") return commands.status();
  Result<> done;
  if (command == "look") {
    done = commands.look();
  } else if (command == "adopt") {
    const auto order = order_of(request);
    if (!order) return refusal("expected a root as \"state\", and a number as \"at\"");
    done = commands.adopt(*order);
  } else if (command != "adoption") {
    return refusal("unknown command; expected \"status\", \"adoption\", \"look\" or \"adopt\"");
  }
  if (!done) return refusal(done.error().message);
  return adoption_json(commands.adoption());
}

}  // namespace prophecy::pbft
