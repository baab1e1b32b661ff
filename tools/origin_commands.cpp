#include "tools/origin_commands.hpp"

#include <charconv>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/answers/answer_shape.hpp"
#include "tools/answers/ask.hpp"
#include "tools/table.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

struct OriginOptions {
  std::string socket;
  bool json = false;
  std::string origin;
  std::string state;
  std::string reason = "by an operator";
  std::uint32_t weight = 0;
  std::optional<std::uint64_t> within_seconds;
};

// What of an origin's status is about its health.
constexpr const char* kColumns[] = {"group",
                                    "replica",
                                    "address",
                                    "state",
                                    "drawn",
                                    "weight",
                                    "share",
                                    "since_seconds",
                                    "reason",
                                    "under_way",
                                    "drain_seconds_left"};

int list(const OriginOptions& options) {
  Json status;
  auto asked = ask(options.socket, {{"command", "status"}}, status);
  if (asked) {
    asked = expect_members(status, "", {{"origins", Shape::objects}, {"shadows", Shape::objects}});
  }
  if (!asked) {
    std::cerr << "prophecyctl: " << options.socket << ": " << asked.error().message << '\n';
    return 1;
  }
  Json rows = Json::array();
  for (const Json& origin : status["origins"]) {
    Json row = Json::object();
    for (const char* column : kColumns)
      row[column] = origin.contains(column) ? origin[column] : Json();
    rows.push_back(std::move(row));
  }
  if (options.json) {
    for (const Json& shadow : status["shadows"])
      rows.push_back(shadow);
    std::cout << rows.dump(2) << '\n';
  } else {
    print_table("origins", rows);
    if (!status["shadows"].empty()) print_table("shadows", status["shadows"]);
  }
  return 0;
}

// A request about the origin that was named; nothing: it is none, which has been printed.
std::optional<Json> request_about(const OriginOptions& options, std::string_view command) {
  const std::size_t slash = options.origin.rfind('/');
  const std::string number = slash == std::string::npos ? "" : options.origin.substr(slash + 1);
  std::uint32_t replica = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), replica);
  if (error != std::errc() || end != number.data() + number.size()) {
    std::cerr << "prophecyctl: expected GROUP/REPLICA, such as default/2\n";
    return std::nullopt;
  }
  return Json{
      {"command", command}, {"group", options.origin.substr(0, slash)}, {"replica", replica}};
}

int change(const std::filesystem::path& socket, const Json& request) {
  Json answer;
  if (auto asked = ask(socket, request, answer); !asked) {
    std::cerr << "prophecyctl: " << asked.error().message << '\n';
    return 1;
  }
  return report_sharing(socket, answer);
}

int set(const OriginOptions& options) {
  auto request = request_about(options, "set-origin-state");
  if (!request) return 2;
  (*request)["state"] = options.state;
  (*request)["reason"] = options.reason;
  return change(options.socket, *request);
}

int drain(const OriginOptions& options) {
  auto request = request_about(options, "set-origin-state");
  if (!request) return 2;
  (*request)["state"] = "drain";
  (*request)["reason"] = options.reason;
  if (options.within_seconds) (*request)["within_seconds"] = *options.within_seconds;
  return change(options.socket, *request);
}

int set_weight(const OriginOptions& options) {
  auto request = request_about(options, "set-origin-weight");
  if (!request) return 2;
  (*request)["weight"] = options.weight;
  Json answer;
  auto asked = ask(options.socket, *request, answer);
  if (asked) asked = expect_members(answer, "", {{"staleness_share", Shape::fraction}});
  if (!asked) {
    std::cerr << "prophecyctl: " << asked.error().message << '\n';
    return 1;
  }
  // As --check does.
  std::cout << fmt::format("k reads in a row are stale with probability {:.3f}^k at most\n",
                           answer["staleness_share"].get<double>());
  return report_sharing(options.socket, answer);
}

}  // namespace

void add_origin_commands(Command program) {
  auto options = std::make_shared<OriginOptions>();
  const Command origin = program.add_command("origin", "Shows and sets the states of origins");
  origin.needs_command();

  const Command listing =
      origin.add_command("list", "Shows the state of each origin, and why; and shadows");
  listing.add("--admin", options->socket, "Admin socket of the sketcher").required();
  listing.flag("--json", options->json, "Print JSON");
  listing.on_run([options] { return list(*options); });

  const Command setting = origin.add_command("set", "Takes an origin out of fast reads, or in");
  setting.add("--admin", options->socket, "Admin socket of the sketcher").required();
  setting.add("origin", options->origin, "GROUP/REPLICA").required();
  setting.add("state", options->state, "ready, drain or maint")
      .required()
      .one_of({"ready", "drain", "maint"});
  setting.add("--reason", options->reason, "What other operators are told");
  setting.on_run([options] { return set(*options); });

  const Command draining =
      origin.add_command("drain", "Takes an origin out of fast reads, and then out of use");
  draining.add("--admin", options->socket, "Admin socket of the sketcher").required();
  draining.add("origin", options->origin, "GROUP/REPLICA").required();
  draining.add("--within", options->within_seconds,
               "Seconds, 1 to 86400, after which what is left is cut and the origin is in maint");
  draining.add("--reason", options->reason, "What other operators are told");
  draining.on_run([options] { return drain(*options); });

  const Command weight = origin.add_command("weight", "Sets an origin's part of the fast reads");
  weight.add("--admin", options->socket, "Admin socket of the sketcher").required();
  weight.add("origin", options->origin, "GROUP/REPLICA").required();
  weight.add("weight", options->weight, "1 to 256").required();
  weight.on_run([options] { return set_weight(*options); });
}

}  // namespace prophecy::tools
