#include "tools/divergences_command.hpp"

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/ask.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto kFollowInterval = std::chrono::milliseconds(500);

struct Options {
  std::string socket;
  bool json = false;
  bool follow = false;
};

std::string difference_text(const Json& difference) {
  const std::string part = difference.value("part", "");
  if (part == "body") return fmt::format("body from byte {}", difference.value("offset", 0));
  if (part == "header") return "header " + difference.value("name", "");
  return part;
}

void print_for_people(const Json& event) {
  std::string differences;
  for (const Json& difference : event.at("differs")) {
    differences += (differences.empty() ? "" : ", ") + difference_text(difference);
  }
  if (differences.empty()) differences = "digest of the result";
  const Json& request = event.at("request");
  std::cout << fmt::format("{} {}  replica {} ({})  {}  {} {}{}  differs: {}\n",
                           event.value("id", 0), event.value("time", ""), event.value("replica", 0),
                           event.value("origin", ""), event.value("kind", ""),
                           request.value("method", ""), request.value("authority", ""),
                           request.value("target", ""), differences);
}

// Prints the events from `next` on, and advances it.
Result<> print_events(const Options& options, std::uint64_t& next) {
  Json answer;
  const Json request{{"command", "divergences"}, {"since", next}};
  if (auto asked = ask(options.socket, request, answer); !asked) return asked.error();
  try {
    for (const Json& event : answer.at("events")) {
      if (options.json) {
        std::cout << event.dump() << '\n';
      } else {
        print_for_people(event);
      }
    }
    next = answer.at("next").get<std::uint64_t>();
  } catch (const Json::exception& error) {
    return Error{ErrorKind::protocol, options.socket + ": " + error.what()};
  }
  std::cout << std::flush;
  return {};
}

int run(const Options& options) {
  std::uint64_t next = 0;
  for (;;) {
    if (auto printed = print_events(options, next); !printed) {
      std::cerr << "prophecyctl: " << printed.error().message << '\n';
      return 1;
    }
    if (!options.follow) return 0;
    std::this_thread::sleep_for(kFollowInterval);
  }
}

}  // namespace

void add_divergences_command(CLI::App& app, std::function<int()>& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "divergences", "Shows answers of single replicas that the group's agreement refuted");
  command->add_option("--admin", options->socket, "Admin socket of the sketcher")->required();
  command->add_flag("--json", options->json, "Print one JSON object a line");
  command->add_flag("--follow", options->follow, "Wait for more");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace prophecy::tools
