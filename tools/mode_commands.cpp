#include "tools/mode_commands.hpp"

#include <iostream>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "tools/answers/ask.hpp"

namespace prophecy::tools {
namespace {

struct ModeOptions {
  std::string socket;
  std::string route;
  std::string value;
};

// What every switch ends with. It has taken effect, whether it is remembered or not.
int switch_over(const ModeOptions& options, const nlohmann::ordered_json& request) {
  nlohmann::ordered_json answer;
  if (auto asked = ask(options.socket, request, answer); !asked) {
    std::cerr << "prophecyctl: " << asked.error().message << '\n';
    return 1;
  }
  const bool is_remembered = answer.contains("remembered") && answer["remembered"] == true;
  if (is_remembered) {
    std::cout << "It is remembered, and holds after a restart of the sketcher as well.\n";
    return report_sharing(options.socket, answer);
  }
  const bool is_explained = answer.contains("problem") && answer["problem"].is_string();
  std::cerr << "prophecyctl: it holds now, but is not remembered, and ends with the sketcher"
            << (is_explained ? ": " + answer["problem"].get<std::string>() : "") << '\n';
  return report_sharing(options.socket, answer);
}

int set_route_mode(const ModeOptions& options) {
  return switch_over(
      options, {{"command", "set-route-mode"}, {"route", options.route}, {"mode", options.value}});
}

int set_bypass(const ModeOptions& options) {
  const bool on = options.value == "on";
  const int status = switch_over(options, {{"command", "set-bypass"}, {"on", on}});
  if (status == 0 && on) {
    std::cout << "Reads are answered by one origin, and nothing is verified. Writes still go "
                 "through the group.\n";
  }
  return status;
}

}  // namespace

void add_route_command(Command program) {
  auto options = std::make_shared<ModeOptions>();
  const Command command = program.add_command("route", "Changes the mode of one route");
  command.add("--admin", options->socket, "Admin socket of the sketcher").required();
  command.add("name", options->route, "The route").required();
  command.add("mode", options->value, "enforce, observe, off, tunnel, maintenance or stream")
      .required()
      .one_of({"enforce", "observe", "off", "tunnel", "maintenance", "stream"});
  command.on_run([options] { return set_route_mode(*options); });
}

void add_bypass_command(Command program) {
  auto options = std::make_shared<ModeOptions>();
  const Command command = program.add_command(
      "bypass",
      "The kill switch: on makes enforced and observed routes a load balancer, unverified");
  command.add("--admin", options->socket, "Admin socket of the sketcher").required();
  command.add("state", options->value, "on or off").required().one_of({"on", "off"});
  command.on_run([options] { return set_bypass(*options); });
}

}  // namespace prophecy::tools
