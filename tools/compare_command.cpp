#include "tools/compare_command.hpp"

#include <fstream>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/survey_origins.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kUrlsMax = 1000;
constexpr std::size_t kUrlBytesMax = 8192;
constexpr std::size_t kValueBytesMax = 200;  // of one that is shown
// Between rounds: what is made of the time differs in its second.
constexpr Duration kInterval = milliseconds(1100);

struct CompareOptions {
  std::string config;
  std::string file;
  SurveyPlan plan;
  bool json = false;
};

Result<> read_urls(const std::string& path, std::vector<std::string>& urls) {
  std::ifstream file(path);
  if (!file) return Error{ErrorKind::io, path + ": cannot be read"};
  std::string line;
  while (std::getline(file, line)) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty() && !line.starts_with('#')) urls.push_back(line);
    if (urls.size() > kUrlsMax || line.size() > kUrlBytesMax) break;
  }
  return {};
}

Json value_json(const std::optional<std::string>& value) {
  return value ? Json(value->substr(0, kValueBytesMax)) : Json(nullptr);
}

Json difference_json(const SurveyDifference& difference) {
  Json json{{"part", difference.part}};
  if (!difference.name.empty()) json["name"] = difference.name;
  if (difference.offset) json["offset"] = *difference.offset;
  json["settled"] = difference.removed;
  json["among_origins"] = difference.among_origins;
  json["over_time"] = difference.over_time;
  json["values"] = Json::array();
  for (const auto& [replica, values] : difference.values) {
    Json given = Json::array();
    for (const auto& value : values)
      given.push_back(value_json(value));
    json["values"].push_back({{"replica", replica}, {"given", std::move(given)}});
  }
  return json;
}

Json url_json(const sketcher::Installation& installation, const SurveyedUrl& surveyed) {
  Json failures = Json::array();
  for (const auto& [whose, count] : surveyed.survey.failures()) {
    failures.push_back({{"replica", whose.first}, {"reason", whose.second}, {"count", count}});
  }
  Json differs = Json::array();
  for (const SurveyDifference& difference : surveyed.survey.differences())
    differs.push_back(difference_json(difference));
  return {{"url", surveyed.url},
          {"group", installation.settings.groups[surveyed.group].name},
          {"answers", surveyed.survey.answers()},
          {"failures", std::move(failures)},
          {"differs", std::move(differs)}};
}

Json group_json(const sketcher::GroupSettings& group, const Proposals& proposals) {
  Json lines = Json::array();
  for (const Proposals::Line& line : proposals.lines)
    lines.push_back({{"line", line.text}, {"reason", line.reason}});
  return {
      {"group", group.name}, {"proposals", std::move(lines)}, {"unsettled", proposals.unsettled}};
}

Json report(const sketcher::Installation& installation, const std::vector<SurveyedUrl>& surveyed) {
  Json json{{"urls", Json::array()}, {"groups", Json::array()}};
  for (const SurveyedUrl& each : surveyed)
    json["urls"].push_back(url_json(installation, each));
  for (std::uint32_t i = 0; i < installation.groups.size(); ++i) {
    std::vector<SurveyDifference> differences;
    for (const SurveyedUrl& each : surveyed) {
      if (each.group != i) continue;
      for (SurveyDifference& difference : each.survey.differences())
        differences.push_back(std::move(difference));
    }
    const sketcher::GroupSettings& group = installation.settings.groups[i];
    std::vector<std::string> authorities;
    for (const sketcher::OriginAddress& origin : group.origins)
      authorities.push_back(to_string(origin.address));
    json["groups"].push_back(group_json(group, propose(differences, authorities)));
  }
  return json;
}

std::string kinds_text(const Json& difference) {
  std::string text;
  if (difference["among_origins"].get<bool>()) text += ", among origins";
  if (difference["over_time"].get<bool>()) text += ", in time";
  if (difference["settled"].get<bool>()) text += "; left out already";
  return text;
}

// Values may be an origin's invention: as JSON, nothing in them moves a terminal's cursor.
std::string safe_text(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string_view outcome_text(const Json& url) {
  if (url["answers"] == 0) return "no answer";
  return url["differs"].empty() ? "no difference" : "differs in";
}

void print_comparison(const Json& json) {
  for (const Json& url : json["urls"]) {
    std::cout << fmt::format("{} ({}): {}\n", url["url"].get<std::string>(),
                             url["group"].get<std::string>(), outcome_text(url));
    for (const Json& failure : url["failures"]) {
      std::cout << fmt::format("  replica {}: {} x {}\n", failure["replica"].dump(),
                               failure["reason"].get<std::string>(), failure["count"].dump());
    }
    for (const Json& difference : url["differs"]) {
      const std::string name =
          difference.contains("name") ? " " + difference["name"].get<std::string>() : "";
      const std::string offset =
          difference.contains("offset") ? " from byte " + difference["offset"].dump() : "";
      std::cout << fmt::format("  {}{}{}{}\n", difference["part"].get<std::string>(), name, offset,
                               kinds_text(difference));
      for (const Json& values : difference["values"]) {
        std::cout << fmt::format("    replica {}: {}\n", values["replica"].dump(),
                                 safe_text(values["given"]));
      }
    }
  }
  for (const Json& group : json["groups"]) {
    if (group["proposals"].empty() && group["unsettled"].empty()) continue;
    std::cout << fmt::format("\nFor [canonical] of group {}, if you agree:\n",
                             group["group"].get<std::string>());
    for (const Json& line : group["proposals"]) {
      std::cout << fmt::format("  {}  # {}\n", line["line"].get<std::string>(),
                               line["reason"].get<std::string>());
    }
    for (const Json& text : group["unsettled"])
      std::cout << "  not settled: " << text.get<std::string>() << '\n';
  }
}

int fail_with(const Error& error) {
  std::cerr << "prophecyctl: " << error.message << '\n';
  return 1;
}

int run_comparison(CompareOptions& options) {
  if (!options.file.empty()) {
    if (auto read = read_urls(options.file, options.plan.urls); !read)
      return fail_with(read.error());
  }
  if (options.plan.urls.empty() || options.plan.urls.size() > kUrlsMax) {
    std::cerr << fmt::format("prophecyctl: compare takes 1 to {} URLs\n", kUrlsMax);
    return 2;
  }
  const auto installation = sketcher::load_installation(options.config);
  if (!installation) return fail_with(installation.error());
  options.plan.interval = kInterval;
  const auto surveyed = survey_origins(*installation, options.plan);
  if (!surveyed) return fail_with(surveyed.error());
  const Json json = report(*installation, *surveyed);
  if (options.json) {
    std::cout << json.dump(2, ' ', true, Json::error_handler_t::replace) << '\n';
  } else {
    print_comparison(json);
  }
  return 0;
}

}  // namespace

void add_compare_command(Command program) {
  auto options = std::make_shared<CompareOptions>();
  const Command command = program.add_command(
      "compare", "Asks the origins directly, shows in what they differ, and proposes rules");
  command.add("--config", options->config, "The sketcher's configuration").required();
  command.add("--urls", options->file, "A file with one URL a line");
  command.add("--rounds", options->plan.rounds, "How often each origin is asked (3)")
      .between(1, 20);
  command.add("--header", options->plan.headers, "\"NAME: VALUE\", of every request").one_each();
  command.flag("--json", options->json, "Print JSON");
  command.add("url", options->plan.urls, "URLs as clients ask for them");
  command.on_run([options] { return run_comparison(*options); });
}

}  // namespace prophecy::tools
