#include "sketcher/master/cluster_reports.hpp"

#include <array>
#include <cstring>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/random.hpp"

namespace prophecy::sketcher {
namespace {

using Json = nlohmann::ordered_json;

TimePoint report_now() {
  return std::chrono::steady_clock::now();
}

std::uint64_t random_token() {
  std::array<std::uint8_t, sizeof(std::uint64_t)> bytes;
  SecureRandom().fill(bytes);
  std::uint64_t token = 0;
  std::memcpy(&token, bytes.data(), sizeof token);
  return token >> 1;  // it counts up from there
}

// Reports are texts that a member of another build may have written.
std::string report_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

ClusterReports::ClusterReports(boost::asio::io_context& loop, RingProcess& ring,
                               MemberReports::Make make)
    : ring_(ring), reports_(random_token(), std::move(make)), timer_(loop) {
  ring_.handle_reports(*this);
}

bool ClusterReports::takes(std::string_view command) {
  return command == "cluster-report" || command == "cluster-report-answer";
}

std::string ClusterReports::answer(std::string_view command, const nlohmann::json& request) {
  return command == "cluster-report" ? begin(request) : end(request);
}

std::string ClusterReports::begin(const nlohmann::json& request) {
  const bool wants_status = request.contains("kind") && request["kind"] == "status";
  const bool wants_metrics = request.contains("kind") && request["kind"] == "metrics";
  if (!wants_status && !wants_metrics)
    return report_line({{"error", R"(expected "kind" to be status or metrics)"}});
  std::vector<std::string> members;
  for (const auto& member : ring_.report()["members"]) {
    if (member.contains("name") && member["name"].is_string())
      members.push_back(member["name"].get<std::string>());
  }
  const auto round =
      reports_.begin(wants_status ? dht::ReportKind::status : dht::ReportKind::metrics,
                     ring_.report().value("name", ""), members, report_now());
  go_on();
  if (!round) return report_line({{"error", round.error().message}});
  return report_line({{"round", *round}});
}

std::string ClusterReports::end(const nlohmann::json& request) {
  const bool is_number = request.contains("round") && request["round"].is_number_unsigned();
  const std::uint64_t round = is_number ? request["round"].get<std::uint64_t>() : 0;
  if (!is_number || !reports_.has_round(round))
    return report_line({{"error", R"(expected "round" to be one that has begun lately)"}});
  if (!reports_.is_over(round)) return report_line({{"done", false}});
  Json members = Json::array();
  for (MemberReport& report : reports_.take(round)) {
    Json member{{"name", std::move(report.member)}};
    if (report.problem.empty()) {
      member["report"] = std::move(report.text);
    } else {
      member["problem"] = std::move(report.problem);
    }
    members.push_back(std::move(member));
  }
  go_on();
  return report_line({{"done", true}, {"members", std::move(members)}});
}

void ClusterReports::on_ring_message(const ReportMessage& message) {
  reports_.on_message(message, report_now());
  go_on();
}

void ClusterReports::on_ring_ended() {
  reports_.on_ring_ended();
  go_on();
}

// A message that does not fit into the channel is lost, and asked for again.
void ClusterReports::go_on() {
  while (auto message = reports_.take_message())
    static_cast<void>(ring_.tell(report_message_text(*message)));
  const TimePoint next = reports_.deadline();
  if (next == TimePoint::max()) {
    timer_.cancel();
    return;
  }
  timer_.expires_at(next);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    reports_.on_tick(report_now());
    go_on();
  });
}

}  // namespace prophecy::sketcher
