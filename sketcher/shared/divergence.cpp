#include "sketcher/shared/divergence.hpp"

#include <chrono>

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>

namespace prophecy::sketcher {
namespace {

using Json = nlohmann::ordered_json;

// A target may be as long as the limits allow; evidence needs its beginning.
constexpr std::size_t kTextBytesMax = 1024;
constexpr std::size_t kDifferencesMax = 16;

std::string utc_now() {
  const auto now = std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                     now.time_since_epoch().count() % 1000);
}

Json to_json(const sketch::AnswerDifference& difference) {
  Json json{{"part", difference.part}};
  if (!difference.header.empty()) json["name"] = difference.header.substr(0, 256);
  if (difference.part == "body") json["offset"] = difference.body_offset;
  return json;
}

std::string_view to_string(DivergenceKind kind) {
  switch (kind) {
    case DivergenceKind::fast_read:
      return "fast_read";
    case DivergenceKind::replicated:
      return "replicated";
    case DivergenceKind::vote:
      return "vote";
    case DivergenceKind::shadow:
      return "shadow";
  }
  return "";
}

Json side(std::uint16_t status, std::size_t body_bytes, const std::string& digest) {
  Json json{{"digest", digest}};
  if (status == 0) return json;  // a vote by digest: nothing else is known
  json["status"] = status;
  json["body_bytes"] = body_bytes;
  return json;
}

}  // namespace

std::string to_json(const Divergence& divergence, std::uint32_t worker) {
  Json differences = Json::array();
  for (const auto& difference : divergence.differences) {
    if (differences.size() == kDifferencesMax) break;
    differences.push_back(to_json(difference));
  }
  const Json json{{"time", utc_now()},
                  {"event", "divergence"},
                  {"group", divergence.group},
                  {"replica", divergence.replica},
                  {"origin", divergence.origin},
                  {"kind", to_string(divergence.kind)},
                  {"worker", worker},
                  {"request",
                   {{"method", divergence.method.substr(0, 32)},
                    {"authority", divergence.authority.substr(0, 256)},
                    {"target", divergence.target.substr(0, kTextBytesMax)}}},
                  {"sigma", divergence.sigma},
                  {"differs", std::move(differences)},
                  {"answer", side(divergence.answer_status, divergence.answer_body_bytes,
                                  divergence.answer_digest)},
                  {"agreed", side(divergence.agreed_status, divergence.agreed_body_bytes,
                                  divergence.agreed_digest)}};
  std::string line = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (divergence.kind == DivergenceKind::shadow) line.replace(0, 1, kShadowEventBegin);
  return line;
}

DivergenceReporter::DivergenceReporter(UniqueFd channel, std::uint32_t worker,
                                       WorkerCounters& counters)
    : channel_(std::move(channel)), worker_(worker), counters_(counters) {}

void DivergenceReporter::report(const Divergence& divergence) {
  const std::string line = to_json(divergence, worker_);
  const bool fits = line.size() <= kEventBytesMax;
  if (!fits || ::send(channel_.get(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    withhold();
  }
}

}  // namespace prophecy::sketcher
