#include "tools/metrics_command.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/answers/answer_shape.hpp"
#include "tools/answers/ask.hpp"
#include "tools/answers/cluster_reports.hpp"
#include "tools/answers/metric_sums.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

struct MetricsOptions {
  std::string socket;
  bool is_cluster = false;
};

Result<> check_metrics(const Json& answer) {
  return expect_members(answer, "", {{"metrics", Shape::text}});
}

int show_own(const MetricsOptions& options) {
  Json answer;
  if (!ask_for(options.socket, "metrics", "the metrics of a sketcher", check_metrics, answer))
    return 1;
  std::cout << answer["metrics"].get<std::string>();
  return 0;
}

// A page with a line that cannot be read is left out, and its member named.
int show_cluster(const MetricsOptions& options) {
  std::vector<ClusterReport> reports;
  if (!ask_members(options.socket, "metrics", reports)) return 1;
  std::vector<MemberPage> pages;
  for (ClusterReport& report : reports) {
    if (!report.problem.empty()) continue;
    MemberPage page{report.member, std::move(report.text)};
    if (auto read = sum_metrics({&page, 1}); !read) {
      report.problem = read.error().message;
    } else {
      pages.push_back(std::move(page));
    }
  }
  const auto sums = sum_metrics(pages);
  if (!sums) {
    std::cerr << "prophecyctl: " << sums.error().message << '\n';
    return 1;
  }
  std::cout << *sums;
  return report_missing(reports);
}

}  // namespace

void add_metrics_command(Command program) {
  auto options = std::make_shared<MetricsOptions>();
  const Command command = program.add_command(
      "metrics", "Shows the metrics of a running sketcher, in Prometheus' text format");
  command.add("--admin", options->socket, "Admin socket of the sketcher").required();
  command.flag(
      "--cluster", options->is_cluster,
      "Of all members of its ring: counters added up, gauges by member; exits with 1 if one "
      "is left out");
  command.on_run(
      [options] { return options->is_cluster ? show_cluster(*options) : show_own(*options); });
}

}  // namespace prophecy::tools
