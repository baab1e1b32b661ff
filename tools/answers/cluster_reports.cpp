#include "tools/answers/cluster_reports.hpp"

#include <chrono>
#include <iostream>
#include <thread>

#include <nlohmann/json.hpp>

#include "tools/answers/answer_shape.hpp"
#include "tools/answers/ask.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::milliseconds kMembersPause{20};
// Beyond the time that the sketcher gives its members.
constexpr std::chrono::seconds kMembersPatience{10};

Result<> check_begin(const Json& answer) {
  return expect_members(answer, "", {{"round", Shape::number}});
}

Result<> check_end(const Json& answer) {
  if (auto is_told = expect_members(answer, "", {{"done", Shape::flag}}); !is_told) return is_told;
  if (answer["done"] == false) return {};
  if (auto has_members = expect_members(answer, "", {{"members", Shape::objects}}); !has_members)
    return has_members;
  for (std::size_t i = 0; i < answer["members"].size(); ++i) {
    const Json& member = answer["members"][i];
    const std::string where = "members[" + std::to_string(i) + "]";
    const char* const told = member.contains("report") ? "report" : "problem";
    auto is_whole = expect_members(member, where, {{"name", Shape::text}, {told, Shape::text}});
    if (!is_whole) return is_whole;
  }
  return {};
}

}  // namespace

bool ask_members(const std::filesystem::path& socket, std::string_view kind,
                 std::vector<ClusterReport>& reports) {
  constexpr std::string_view kWhat = "the reports of a ring's members";
  Json begun;
  const Json question{{"command", "cluster-report"}, {"kind", kind}};
  if (!ask_with(socket, question, kWhat, check_begin, begun)) return false;
  const Json look{{"command", "cluster-report-answer"}, {"round", begun["round"]}};
  const auto deadline = std::chrono::steady_clock::now() + kMembersPatience;
  for (;;) {
    Json answer;
    if (!ask_with(socket, look, kWhat, check_end, answer)) return false;
    if (answer["done"] == true) {
      for (const Json& member : answer["members"])
        reports.push_back({member["name"].get<std::string>(), member.value("report", ""),
                           member.value("problem", "")});
      return true;
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      std::cerr << "prophecyctl: " << socket.string() << ": no answer for the ring's members\n";
      return false;
    }
    std::this_thread::sleep_for(kMembersPause);
  }
}

int report_missing(const std::vector<ClusterReport>& reports) {
  int status = 0;
  for (const ClusterReport& report : reports) {
    if (report.problem.empty()) continue;
    std::cerr << "prophecyctl: member " << report.member << " is left out: " << report.problem
              << '\n';
    status = 1;
  }
  return status;
}

}  // namespace prophecy::tools
