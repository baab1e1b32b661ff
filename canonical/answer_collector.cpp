#include "canonical/answer_collector.hpp"

#include <algorithm>

#include "http/text.hpp"

namespace prophecy::sketch {
namespace {

// The length that the head declares of a body that comes; 0 if it does not. The parser has seen
// that it is a number.
std::uint64_t declared_length(const http::Response& response) {
  if (response.status != kStatusInBlocks) return 0;
  std::uint64_t length = 0;
  const auto text = response.fields.find("content-length");
  return text && http::parse_decimal(*text, length) ? length : 0;
}

}  // namespace

AnswerCollector::AnswerCollector(const Profile& profile, std::size_t held_bytes_max)
    : profile_(profile),
      held_bytes_max_(std::min<std::uint64_t>(held_bytes_max, profile.whole_answer_bytes())) {}

bool AnswerCollector::on_progress(http::Response& response) {
  if (!hasher_) {
    const std::uint64_t declared = response.body.empty() ? declared_length(response) : 0;
    if (std::max<std::uint64_t>(declared, response.body.size()) <= held_bytes_max_) return true;
    const bool only_whole = declared > 0 && declared <= profile_.whole_answer_bytes();
    const bool has_no_list = declared > kBlocksMax * std::uint64_t{profile_.block_bytes()};
    if (response.status != kStatusInBlocks || only_whole || has_no_list) return false;
    hasher_.emplace(profile_.block_bytes());
  }
  if (!hasher_->update(response.body)) return false;
  response.body.clear();
  return true;
}

AnswerFault AnswerCollector::finish(AnswerCanonicalizer& canonicalizer, http::Response& response,
                                    bool answers_head, AnswerForm& form) {
  canonicalizer.forget_leak();
  // An answer to HEAD declares what does not come.
  if (!answers_head && !on_progress(response)) return AnswerFault::too_large;
  BlockList blocks;
  if (hasher_) {
    blocks = hasher_->finish();
    if (blocks.length <= profile_.whole_answer_bytes()) return AnswerFault::too_large;
  }
  const AnswerFault fault = canonicalizer.canonicalize(response, answers_head, form);
  form.blocks = blocks;
  return fault;
}

}  // namespace prophecy::sketch
