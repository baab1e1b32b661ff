#include "pbft/core/reply_tally.hpp"

#include <algorithm>
#include <utility>

namespace prophecy::pbft {
namespace {

bool alike(const ReplyTally::Reply& a, const ReplyTally::Reply& b) {
  return a.vote == ReplyTally::Vote::done && b.vote == ReplyTally::Vote::done &&
         a.sigma == b.sigma && a.digest == b.digest;
}

}  // namespace

void ReplyTally::clear() {
  for (Reply& reply : replies_) {
    reply.vote = Vote::none;
    reply.has_result = false;
    reply.result = Bytes();
  }
}

bool ReplyTally::add(NodeId replica, const ReplyMessage& message) {
  Reply& reply = replies_[replica];
  const bool news = reply.vote == Vote::none;
  if (news) {
    reply.vote = message.status == ReplyStatus::done ? Vote::done : Vote::unavailable;
    reply.digest = message.result_digest;
    reply.sigma = message.sigma;
  }
  if (!message.full || reply.vote != Vote::done || reply.digest != message.result_digest) {
    return news;
  }
  // Of equal replies, one result is enough to keep.
  const bool known = std::any_of(replies_.begin(), replies_.end(), [&](const Reply& other) {
    return other.has_result && other.digest == reply.digest;
  });
  if (known || sha256(message.result) != reply.digest) return news;
  reply.has_result = true;
  reply.result.assign(message.result.begin(), message.result.end());
  return true;
}

std::uint32_t ReplyTally::count(const Reply& reply) const {
  return static_cast<std::uint32_t>(std::count_if(
      replies_.begin(), replies_.end(), [&](const Reply& other) { return alike(reply, other); }));
}

const ReplyTally::Reply* ReplyTally::agreed(std::uint32_t quorum) const {
  for (const Reply& reply : replies_) {
    if (reply.vote == Vote::done && count(reply) >= quorum) return &reply;
  }
  return nullptr;
}

bool ReplyTally::possible(std::uint32_t quorum) const {
  return largest() + votes(Vote::none) >= quorum;
}

bool ReplyTally::lacks_only_available(std::uint32_t quorum) const {
  return largest() + votes(Vote::none) + votes(Vote::unavailable) >= quorum;
}

std::uint32_t ReplyTally::largest() const {
  std::uint32_t largest = 0;
  for (const Reply& reply : replies_)
    largest = std::max(largest, count(reply));
  return largest;
}

std::uint32_t ReplyTally::votes(Vote vote) const {
  return static_cast<std::uint32_t>(std::count_if(
      replies_.begin(), replies_.end(), [&](const Reply& reply) { return reply.vote == vote; }));
}

std::optional<Bytes> ReplyTally::take_result(const Reply& reply) {
  for (Reply& other : replies_) {
    if (!other.has_result || other.digest != reply.digest) continue;
    other.has_result = false;
    return std::move(other.result);
  }
  return std::nullopt;
}

}  // namespace prophecy::pbft
