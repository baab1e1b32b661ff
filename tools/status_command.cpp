#include "tools/status_command.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/answers/answer_shape.hpp"
#include "tools/answers/ask.hpp"
#include "tools/answers/cluster_reports.hpp"
#include "tools/answers/status_sums.hpp"
#include "tools/table.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

struct StatusOptions {
  std::string socket;
  bool json = false;
  bool is_cluster = false;
};

// What makes it a status of ours. The rest is shown as it comes, and may differ between versions.
Result<> check_status(const Json& status) {
  if (status.contains("replica")) {
    return expect_members(status, "",
                          {{"replica", Shape::number},
                           {"version", Shape::text},
                           {"state", Shape::text},
                           {"peers", Shape::objects},
                           {"progress", Shape::object}});
  }
  return expect_members(status, "",
                        {{"version", Shape::text},
                         {"requests", Shape::object},
                         {"history", Shape::object},
                         {"workers", Shape::objects},
                         {"routes", Shape::objects},
                         {"origins", Shape::objects}});
}

// An object of scalars on one line: "reads 12  writes 3".
std::string inline_text(const Json& object) {
  std::string text;
  for (const auto& [name, value] : object.items()) {
    if (value.is_structured()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : "   ", name, scalar_text(value));
  }
  return text;
}

void print_status(const Json& status) {
  std::cout << inline_text(status) << '\n';
  for (const auto& [name, value] : status.items()) {
    if (value.is_object()) {
      std::cout << fmt::format("{}: {}\n", name, inline_text(value));
    } else if (value.is_array() && !value.empty() && !value.front().is_object()) {
      std::cout << fmt::format("{}:", name);
      for (const Json& element : value)
        std::cout << ' ' << scalar_text(element);
      std::cout << '\n';
    }
  }
  for (const auto& [name, value] : status.items()) {
    if (value.is_array() && !value.empty() && value.front().is_object()) print_table(name, value);
  }
}

void print_cluster(const Json& sum) {
  for (const auto& [name, value] : sum["total"].items()) {
    if (value.is_object()) std::cout << fmt::format("{}: {}\n", name, inline_text(value));
  }
  std::cout << inline_text(sum["total"]) << '\n';
  for (const char* const rows : {"members", "routes", "origins"})
    print_table(rows, sum[rows]);
}

int run_cluster(const StatusOptions& options) {
  std::vector<ClusterReport> reports;
  if (!ask_members(options.socket, "status", reports)) return 1;
  std::vector<MemberStatus> members;
  for (ClusterReport& report : reports) {
    MemberStatus member{report.member, nullptr, report.problem};
    if (report.problem.empty()) {
      parse_answer(report.text, member.status);
      if (auto checked = check_status(member.status); !checked) {
        member.status = nullptr;
        member.problem = report.problem = "not a status: " + checked.error().message;
      }
    }
    members.push_back(std::move(member));
  }
  Json sum = sum_status(members);
  if (options.json) {
    sum["statuses"] = Json::object();
    for (MemberStatus& member : members) {
      if (!member.status.is_null()) sum["statuses"][member.member] = std::move(member.status);
    }
    std::cout << sum.dump(2) << '\n';
  } else {
    print_cluster(sum);
  }
  return report_missing(reports);
}

int run_status(const StatusOptions& options) {
  if (options.is_cluster) return run_cluster(options);
  Json status;
  if (!ask_for(options.socket, "status", "the status of a sketcher or a replica", check_status,
               status))
    return 1;
  if (options.json) {
    std::cout << status.dump(2) << '\n';
  } else {
    print_status(status);
  }
  return 0;
}

}  // namespace

void add_status_command(Command program) {
  auto options = std::make_shared<StatusOptions>();
  const Command command =
      program.add_command("status", "Shows what a running sketcher or replica says of itself");
  command.add("--admin", options->socket, "Admin socket of the program").required();
  command.flag("--json", options->json, "Print JSON");
  command.flag(
      "--cluster", options->is_cluster,
      "Of all members of a sketcher's ring, and added up; exits with 1 if one is left out");
  command.on_run([options] { return run_status(*options); });
}

}  // namespace prophecy::tools
