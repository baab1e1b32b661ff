#include "tools/divergences_command.hpp"

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/answers/answer_shape.hpp"
#include "tools/answers/ask.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto kFollowInterval = std::chrono::milliseconds(500);

struct DivergencesOptions {
  std::string socket;
  bool json = false;
  bool follow = false;
};

Result<> check_difference(const Json& difference, const std::string& where) {
  if (auto checked = expect_members(difference, where, {{"part", Shape::text}}); !checked) {
    return checked;
  }
  if (difference["part"] == "body") {
    return expect_members(difference, where, {{"offset", Shape::number}});
  }
  if (difference["part"] == "header") {
    return expect_members(difference, where, {{"name", Shape::text}});
  }
  return {};
}

Result<> check_event(const Json& event, const std::string& where) {
  if (auto checked = expect_members(event, where,
                                    {{"id", Shape::number},
                                     {"time", Shape::text},
                                     {"group", Shape::text},
                                     {"replica", Shape::number},
                                     {"origin", Shape::text},
                                     {"kind", Shape::text},
                                     {"request", Shape::object},
                                     {"differs", Shape::objects}});
      !checked) {
    return checked;
  }
  if (auto checked = expect_members(
          event["request"], where + ".request",
          {{"method", Shape::text}, {"authority", Shape::text}, {"target", Shape::text}});
      !checked) {
    return checked;
  }
  for (std::size_t i = 0; i < event["differs"].size(); ++i) {
    const std::string inner = fmt::format("{}.differs[{}]", where, i);
    if (auto checked = check_difference(event["differs"][i], inner); !checked) return checked;
  }
  return {};
}

Result<> check_divergences(const Json& answer) {
  if (auto checked =
          expect_members(answer, "", {{"next", Shape::number}, {"events", Shape::objects}});
      !checked) {
    return checked;
  }
  for (std::size_t i = 0; i < answer["events"].size(); ++i) {
    if (auto checked = check_event(answer["events"][i], fmt::format("events[{}]", i)); !checked) {
      return checked;
    }
  }
  return {};
}

std::string text_of(const Json& value) {
  return value.get<std::string>();
}

std::string difference_text(const Json& difference) {
  const std::string part = text_of(difference["part"]);
  if (part == "body") return "body from byte " + difference["offset"].dump();
  if (part == "header") return "header " + text_of(difference["name"]);
  return part;
}

void print_divergences(const Json& event) {
  std::string differences;
  for (const Json& difference : event["differs"]) {
    differences += (differences.empty() ? "" : ", ") + difference_text(difference);
  }
  if (differences.empty()) differences = "digest of the result";
  const Json& request = event["request"];
  const bool of_shadow = event["kind"] == "shadow";
  std::cout << fmt::format("{} {}  {} {}/{} ({})  {}  {} {}{}  differs: {}\n", event["id"].dump(),
                           text_of(event["time"]), of_shadow ? "shadow" : "replica",
                           text_of(event["group"]), event["replica"].dump(),
                           text_of(event["origin"]), text_of(event["kind"]),
                           text_of(request["method"]), text_of(request["authority"]),
                           text_of(request["target"]), differences);
}

// Prints the events from `next` on, and advances it.
Result<> print_events(const DivergencesOptions& options, std::uint64_t& next) {
  Json answer;
  const Json request{{"command", "divergences"}, {"since", next}};
  if (auto asked = ask(options.socket, request, answer); !asked) return asked.error();
  if (auto checked = check_divergences(answer); !checked) {
    return Error{ErrorKind::protocol, options.socket + ": not the divergences of a sketcher: " +
                                          checked.error().message};
  }
  for (const Json& event : answer["events"]) {
    if (options.json) {
      std::cout << event.dump() << '\n';
    } else {
      print_divergences(event);
    }
  }
  next = answer["next"].get<std::uint64_t>();
  std::cout << std::flush;
  return {};
}

int run_divergences(const DivergencesOptions& options) {
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

void add_divergences_command(Command program) {
  auto options = std::make_shared<DivergencesOptions>();
  const Command command = program.add_command(
      "divergences", "Shows answers of single replicas that the group's agreement refuted");
  command.add("--admin", options->socket, "Admin socket of the sketcher").required();
  command.flag("--json", options->json, "Print one JSON object a line");
  command.flag("--follow", options->follow, "Wait for more");
  command.on_run([options] { return run_divergences(*options); });
}

}  // namespace prophecy::tools
