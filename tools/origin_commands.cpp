#include "tools/origin_commands.hpp"

#include <charconv>
#include <iostream>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "tools/answer_shape.hpp"
#include "tools/ask.hpp"
#include "tools/table.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string socket;
  bool json = false;
  std::string origin;
  std::string state;
  std::string reason = "by an operator";
};

// What of an origin's status is about its health.
constexpr const char* kColumns[] = {"group", "replica",       "address", "state",
                                    "drawn", "since_seconds", "reason"};

int list(const Options& options) {
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

int set(const Options& options) {
  const std::size_t slash = options.origin.rfind('/');
  const std::string number = slash == std::string::npos ? "" : options.origin.substr(slash + 1);
  std::uint32_t replica = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), replica);
  if (error != std::errc() || end != number.data() + number.size()) {
    std::cerr << "prophecyctl: expected GROUP/REPLICA, such as default/2\n";
    return 2;
  }
  Json answer;
  if (auto asked = ask(options.socket,
                       {{"command", "set-origin-state"},
                        {"group", options.origin.substr(0, slash)},
                        {"replica", replica},
                        {"state", options.state},
                        {"reason", options.reason}},
                       answer);
      !asked) {
    std::cerr << "prophecyctl: " << asked.error().message << '\n';
    return 1;
  }
  return report_sharing(options.socket, answer);
}

}  // namespace

void add_origin_commands(Command program) {
  auto options = std::make_shared<Options>();
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
}

}  // namespace prophecy::tools
