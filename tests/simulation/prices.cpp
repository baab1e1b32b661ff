#include "simulation/prices.hpp"

#include <string>

#include "pbft/core/state/payments.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/frame_header.hpp"

namespace prophecy::simulation {

void Prices::check(std::string_view bound, std::uint64_t number) {
  if (number <= bounds_->at(bound)) return;
  checker_.fail("replica " + std::to_string(replica_) + " pays " + std::to_string(number) +
                " where the bound " + std::string(bound) + " is " +
                std::to_string(bounds_->at(bound)));
}

void Prices::begin_step(Cause cause) {
  cause_ = cause;
  before_ = key_work();
  ++steps_;
}

void Prices::end_step(const pbft::ReplicaActions& actions, TimePoint now, std::size_t first) {
  if (bounds_ == nullptr) return;
  const std::uint64_t checked = key_work().signatures_checked - before_.signatures_checked;
  check("frames-per-step", actions.sends.size() - first);
  check_bytes(actions, first);
  check("signatures-per-step", checked);
  check("signatures-made-per-step", key_work().signatures_made - before_.signatures_made);
  check("tags-per-step", key_work().tags - before_.tags);
  for (std::size_t i = first; i < actions.sends.size(); ++i) {
    if (is_client(actions.sends[i].to)) count_reply(actions.sends[i], now);
  }
  if (cause_ != Cause::stranger) return;
  if (now - strangers_since_ >= pbft::Payments::kInterval) {
    strangers_since_ = now;
    strangers_signatures_ = 0;
  }
  strangers_signatures_ += checked;
  // Two intervals of the replica's own may meet in one of these.
  check("signatures-of-strangers", (strangers_signatures_ + 1) / 2);
}

// Parts are served at a rate of their own, to each replica.
void Prices::check_bytes(const pbft::ReplicaActions& actions, std::size_t first) {
  std::map<NodeId, std::uint64_t> parts;
  std::uint64_t bytes = 0;
  for (std::size_t i = first; i < actions.sends.size(); ++i) {
    const pbft::Outgoing& outgoing = actions.sends[i];
    const auto header = pbft::peek_header(*outgoing.frame);
    const bool is_part = header && header->type == pbft::MessageType::part;
    (is_part ? parts[outgoing.to] : bytes) += outgoing.frame->size();
  }
  check("bytes-per-step", bytes);
  for (const auto& [to, served] : parts)
    check("part-bytes-per-step", served);
}

void Prices::count_reply(const pbft::Outgoing& outgoing, TimePoint now) {
  const auto reply = pbft::decode_reply(*outgoing.frame);
  if (!reply) return;
  Replies& replies = replies_[{reply->client, reply->session, reply->timestamp}];
  if (now - replies.since >= seconds(1)) {
    replies.since = now;
    replies.in_second = 0;
  }
  if (replies.step != steps_) replies.in_step = 0;
  replies.step = steps_;
  check("replies-per-second", ++replies.in_second);
  check("replies-per-step", ++replies.in_step);
}

}  // namespace prophecy::simulation
