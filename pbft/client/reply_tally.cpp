#include "pbft/client/reply_tally.hpp"

#include <algorithm>
#include <utility>

#include "pbft/core/state/always_full.hpp"

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
    reply.tentative = false;
    reply.has_result = false;
    reply.result = Bytes();
  }
}

bool ReplyTally::add(NodeId replica, const ReplyMessage& message, bool wanted) {
  Reply& reply = replies_[replica];
  const bool news = reply.vote == Vote::none ||
                    (reply.tentative && (!message.tentative || message.view > reply.view));
  if (news) {
    reply.vote = message.status == ReplyStatus::done ? Vote::done : Vote::unavailable;
    reply.tentative = message.tentative;
    reply.view = message.view;
    if (reply.digest != message.result_digest) {
      reply.has_result = false;
      reply.result = Bytes();
    }
    reply.digest = message.result_digest;
    reply.sigma = message.sigma;
  }
  if (!message.full || reply.vote != Vote::done || reply.digest != message.result_digest) {
    return news;
  }
  if (!wanted && message.result.size() > kAlwaysFullBytes) return news;
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
  return count_if([&](const Reply& other) { return !other.tentative && alike(reply, other); });
}

// One that is committed counts in every view: that a correct replica says so is enough, and that a
// faulty one does is no more than if it lied about the view.
std::uint32_t ReplyTally::count_prepared(const Reply& reply) const {
  return count_if([&](const Reply& other) {
    return alike(reply, other) && (!other.tentative || other.view == reply.view);
  });
}

// Of 2f+1 that have prepared it in one view, f+1 are correct. So every later view begins with it,
// as if they had committed it.
const ReplyTally::Reply* ReplyTally::agreed(const Need& need) const {
  const bool is_decided = undecided() + need.decided <= replies_.size();
  for (const Reply& reply : replies_) {
    if (reply.vote != Vote::done) continue;
    if (is_decided && count(reply) >= need.alike) return &reply;
    if (reply.tentative && count_prepared(reply) >= tentative_quorum_) return &reply;
  }
  return nullptr;
}

std::optional<std::uint64_t> ReplyTally::view_of(const Reply& agreed) const {
  for (const Reply& reply : replies_) {
    if (!reply.tentative || !alike(reply, agreed)) continue;
    const std::uint32_t witnesses = count_if([&](const Reply& other) {
      return other.tentative && other.view == reply.view && alike(other, agreed);
    });
    if (witnesses >= weak_quorum_) return reply.view;
  }
  return std::nullopt;
}

bool ReplyTally::possible(const Need& need) const {
  return largest() + undecided() >= need.alike;
}

bool ReplyTally::lacks_only_available(const Need& need) const {
  return largest() + undecided() + unavailable() >= need.alike;
}

std::uint32_t ReplyTally::largest() const {
  std::uint32_t largest = 0;
  for (const Reply& reply : replies_)
    largest = std::max(largest, count(reply));
  return largest;
}

std::uint32_t ReplyTally::undecided() const {
  return count_if([](const Reply& reply) { return reply.vote == Vote::none || reply.tentative; });
}

std::uint32_t ReplyTally::unavailable() const {
  return count_if(
      [](const Reply& reply) { return reply.vote == Vote::unavailable && !reply.tentative; });
}

std::uint64_t ReplyTally::result_bytes() const {
  std::uint64_t bytes = 0;
  for (const Reply& reply : replies_)
    bytes += reply.has_result ? reply.result.size() : 0;
  return bytes;
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
