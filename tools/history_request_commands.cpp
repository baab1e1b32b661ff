#include "tools/history_request_commands.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/answers/answer_shape.hpp"
#include "tools/answers/ask.hpp"
#include "tools/table.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

struct RequestOptions {
  std::string socket;
  bool json = false;
  bool head = false;
  std::string client = "127.0.0.1";
  std::vector<std::string> urls;
  std::vector<std::string> headers;
};

Result<> check_entry(const Json& answer) {
  if (!answer.contains("refused")) return expect_members(answer, "", {{"refused", Shape::object}});
  if (!answer["refused"].is_null()) {
    if (auto checked = expect_members(answer, "", {{"refused", Shape::object}}); !checked)
      return checked;
    return expect_members(answer["refused"], "refused",
                          {{"status", Shape::number}, {"reason", Shape::text}});
  }
  auto checked = expect_members(answer, "",
                                {{"route", Shape::text},
                                 {"group", Shape::text},
                                 {"mode", Shape::text},
                                 {"key", Shape::text}});
  if (!checked) return checked;
  for (const char* part : {"entry", "activity"}) {
    if (answer.contains(part) && answer[part].is_null()) continue;
    if (checked = expect_members(answer, "", {{part, Shape::object}}); !checked) return checked;
  }
  return {};
}

void print_part(const char* title, const Json& part, const char* absent) {
  if (part.is_null()) {
    std::cout << fmt::format("  {:<24}{}\n", title, absent);
    return;
  }
  std::cout << "  " << title << '\n';
  for (const auto& [name, value] : part.items()) {
    std::cout << fmt::format("    {:<22}{}\n", name, value.is_null() ? "-" : scalar_text(value));
  }
}

void print_entry(const std::string& url, const Json& answer) {
  std::cout << url << '\n';
  for (const auto& [name, value] : answer.items()) {
    if (value.is_null() || value.is_structured()) continue;
    std::cout << fmt::format("  {:<24}{}\n", name, scalar_text(value));
  }
  if (!answer["refused"].is_null()) return print_part("refused", answer["refused"], "no");
  print_part("entry", answer["entry"], "none: the next read asks the group");
  print_part("activity", answer["activity"], "none is remembered");
}

// Of each URL in turn; the rest is left when one fails.
int run_entry(const RequestOptions& options, const Json& command) {
  Json answers = Json::array();
  int status = 0;
  for (const std::string& url : options.urls) {
    Json request = command;
    request["url"] = url;
    request["headers"] = options.headers;
    request["method"] = options.head ? "HEAD" : "GET";
    request["client"] = options.client;
    Json answer;
    if (!ask_with(options.socket, request, "what a history knows", check_entry, answer)) return 1;
    if (options.json) {
      Json named{{"url", url}};
      named.update(answer);
      answers.push_back(std::move(named));
    } else {
      print_entry(url, answer);
      status = std::max(status, report_sharing(options.socket, answer));
    }
  }
  if (options.json) std::cout << answers.dump(2) << '\n';
  return status;
}

void add_request(Command history, const char* name, const char* description, Json request) {
  auto options = std::make_shared<RequestOptions>();
  const Command command = history.add_command(name, description);
  command.add("--admin", options->socket, "Admin socket of the sketcher").required();
  command.flag("--json", options->json, "Print JSON");
  command.add("url", options->urls, "Absolute URLs, as clients ask for them").required();
  command.add("-H,--header", options->headers, "NAME: VALUE, of every request").one_each();
  command.flag("--head", options->head, "HEAD in place of GET");
  command.add("--client", options->client, "Address that the requests come from");
  command.on_run([options, request = std::move(request)] { return run_entry(*options, request); });
}

}  // namespace

void add_history_request_commands(Command history) {
  const auto mark = [](const char* name) {
    return Json{{"command", "history-mark"}, {"mark", name}};
  };
  add_request(history, "get", "Shows what is remembered of requests", {{"command", "history-get"}});
  add_request(history, "whitelist", "Has requests answered by one origin, unverified",
              mark("whitelisted"));
  add_request(history, "blacklist", "Has requests answered by the group each time",
              mark("blacklisted"));
  add_request(history, "unmark", "Takes the marks of requests away", mark("none"));
  add_request(history, "forget", "Has the next read of each request ask the group",
              {{"command", "history-forget"}});
}

}  // namespace prophecy::tools
