// Evidence: an answer of one replica that the group's agreement refuted. A worker turns each into
// one JSON line and hands it to the master, which numbers, logs and keeps the last ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"
#include "history_table/history_table.hpp"
#include "sketch/answer_form.hpp"
#include "sketcher/counters.hpp"

namespace prophecy::sketcher {

enum class DivergenceKind : std::uint8_t {
  fast_read,   // the origin's answer to a fast read
  replicated,  // the replica's vote on an ordered request
  vote,        // the origin's answer to a request that all were asked, in a group without order
  shadow,      // the shadow's answer to a copied read; `replica` is its number among the shadows
};

struct Divergence {
  DivergenceKind kind = DivergenceKind::fast_read;
  std::string_view group;  // name
  NodeId replica = 0;
  std::string_view origin;  // address
  std::string_view method;
  std::string_view target;
  std::string_view authority;
  Sigma sigma = 0;
  std::vector<sketch::AnswerDifference> differences;
  // Digests in hexadecimal, and what else is known of both answers.
  std::string answer_digest;
  std::string agreed_digest;
  std::uint16_t answer_status = 0;
  std::uint16_t agreed_status = 0;
  std::size_t answer_body_bytes = 0;
  std::size_t agreed_body_bytes = 0;
};

// One line, without its end; at most kEventBytesMax.
constexpr std::size_t kEventBytesMax = 8192;
// An event of a shadow accuses no replica: it begins so, and no other does.
constexpr std::string_view kShadowEventBegin = R"({"role":"shadow",)";
[[nodiscard]] std::string to_json(const Divergence& divergence, std::uint32_t worker);

// The worker's end: sends without waiting; what does not fit is counted as lost.
class DivergenceReporter {
 public:
  DivergenceReporter(UniqueFd channel, std::uint32_t worker, WorkerCounters& counters);
  void report(const Divergence& divergence);
  // One that is counted and no more: it is lost as well.
  void withhold() { counters_.events_lost.add(); }

 private:
  UniqueFd channel_;
  std::uint32_t worker_;
  WorkerCounters& counters_;
};

}  // namespace prophecy::sketcher
