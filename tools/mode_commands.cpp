#include "tools/mode_commands.hpp"

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "tools/ask.hpp"

namespace prophecy::tools {
namespace {

struct Options {
  std::string socket;
  std::string route;
  std::string value;
};

}  // namespace

void add_route_command(CLI::App& app, std::function<int()>& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("route", "Changes the mode of one route");
  command->add_option("--admin", options->socket, "Admin socket of the sketcher")->required();
  command->add_option("name", options->route, "The route")->required();
  command->add_option("mode", options->value, "enforce, observe, off or tunnel")
      ->required()
      ->check(CLI::IsMember({"enforce", "observe", "off", "tunnel"}));
  command->callback([options, &action] {
    action = [options] {
      return tell(
          options->socket,
          {{"command", "set-route-mode"}, {"route", options->route}, {"mode", options->value}});
    };
  });
}

void add_bypass_command(CLI::App& app, std::function<int()>& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "bypass", "The kill switch: on makes every route a load balancer, unverified");
  command->add_option("--admin", options->socket, "Admin socket of the sketcher")->required();
  command->add_option("state", options->value, "on or off")
      ->required()
      ->check(CLI::IsMember({"on", "off"}));
  command->callback([options, &action] {
    action = [options] {
      return tell(options->socket, {{"command", "set-bypass"}, {"on", options->value == "on"}});
    };
  });
}

}  // namespace prophecy::tools
