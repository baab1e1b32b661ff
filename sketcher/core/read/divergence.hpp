// `Divergence` describes one answer of one replica that the group's agreement refuted. Views are
// valid during the call that hands it on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "canonical/answer_form.hpp"
#include "history_table/history_entry.hpp"

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

// Of one divergence as an event.
constexpr std::size_t kEventBytesMax = 8192;

}  // namespace prophecy::sketcher
