#include "tools/history_commands.hpp"

#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/answers/answer_shape.hpp"
#include "tools/answers/ask.hpp"
#include "tools/history_request_commands.hpp"
#include "tools/history_transfer_commands.hpp"
#include "tools/table.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

struct HistoryOptions {
  std::string socket;
  bool json = false;
  std::uint64_t count = 20;
};

void add_common_options(Command command, HistoryOptions& options) {
  command.add("--admin", options.socket, "Admin socket of the sketcher").required();
  command.flag("--json", options.json, "Print JSON");
}

Result<> check_stats(const Json& stats) {
  auto checked = expect_members(
      stats, "",
      {{"table", Shape::object}, {"activity", Shape::object}, {"routes", Shape::objects}});
  if (!checked) return checked;
  checked = expect_members(stats["table"], "table",
                           {{"capacity", Shape::number},
                            {"entries", Shape::number},
                            {"evictions", Shape::number},
                            {"load", Shape::fraction},
                            {"bytes", Shape::number}});
  if (!checked) return checked;
  checked = expect_members(stats["activity"], "activity",
                           {{"records", Shape::number},
                            {"capacity", Shape::number},
                            {"blacklisted_automatically", Shape::number}});
  if (!checked) return checked;
  for (const Json& route : stats["routes"]) {
    checked = expect_members(route, "routes",
                             {{"name", Shape::text},
                              {"hit_ratio", Shape::fraction},
                              {"transition_ratio", Shape::fraction}});
    if (!checked) return checked;
  }
  return {};
}

int stats(const HistoryOptions& options) {
  Json answer;
  if (!ask_for(options.socket, "history-stats", "the history of a sketcher", check_stats, answer)) {
    return 1;
  }
  if (options.json) {
    std::cout << answer.dump(2) << '\n';
    return 0;
  }
  for (const auto& [part, values] : answer.items()) {
    if (!values.is_object()) continue;
    std::cout << part << '\n';
    for (const auto& [name, value] : values.items())
      std::cout << fmt::format("  {:<28}{}\n", name, scalar_text(value));
  }
  print_table("routes", answer["routes"]);
  return 0;
}

void add_stats_command(Command history) {
  auto options = std::make_shared<HistoryOptions>();
  const Command command = history.add_command(
      "stats", "Shows how full the history is, and how often it vouches for answers");
  add_common_options(command, *options);
  command.on_run([options] { return stats(*options); });
}

Result<> check_top(const Json& answer) {
  if (auto checked = expect_members(answer, "", {{"requests", Shape::objects}}); !checked) {
    return checked;
  }
  for (const Json& request : answer["requests"]) {
    auto checked = expect_members(request, "requests",
                                  {{"url", Shape::text},
                                   {"method", Shape::text},
                                   {"route", Shape::text},
                                   {"hits", Shape::number},
                                   {"group_reads", Shape::number},
                                   {"transitions", Shape::number},
                                   {"transition_share", Shape::fraction},
                                   {"blacklisted_by", Shape::number}});
    if (!checked) return checked;
  }
  return {};
}

int top(const HistoryOptions& options) {
  Json answer;
  if (!ask_with(options.socket, {{"command", "history-top"}, {"count", options.count}},
                "the requests of a sketcher", check_top, answer)) {
    return 1;
  }
  if (options.json) {
    std::cout << answer["requests"].dump(2) << '\n';
  } else {
    print_table("requests", answer["requests"]);
  }
  return 0;
}

void add_top_command(Command history) {
  auto options = std::make_shared<HistoryOptions>();
  const Command command = history.add_command(
      "top", "Shows the requests that met most transitions, of those read lately");
  add_common_options(command, *options);
  command.add("--count", options->count, "How many, 20 by default").between(1, 1000);
  command.on_run([options] { return top(*options); });
}

}  // namespace

void add_history_commands(Command program) {
  const Command history =
      program.add_command("history", "Shows and changes what a sketcher remembers");
  history.needs_command();
  add_history_transfer_commands(history);
  add_stats_command(history);
  add_top_command(history);
  add_history_request_commands(history);
}

}  // namespace prophecy::tools
