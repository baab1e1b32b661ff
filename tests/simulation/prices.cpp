#include "simulation/prices.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "pbft/core/state/payments.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/frame_header.hpp"
#include "simulation/hash_work.hpp"

namespace prophecy::simulation {
namespace {

constexpr Duration kGrowthEvery = std::chrono::minutes(10);

}  // namespace

Prices::Prices(const Scenario& scenario, Checker& checker, NodeId replica)
    : scenario_(scenario),
      checker_(checker),
      replica_(replica),
      account_(next_account()),
      others_bytes_(bytes_in_use(account_)) {
  if (scenario.bounds == nullptr) return;
  for (std::size_t i = 0; i < kPrices; ++i)
    bounds_.at(i) = scenario.bounds->at(kPriceNames.at(i));
}

void Prices::forget() {
  replies_.clear();
  looks_before_ = 0;
  least_early_ = least_late_ = UINT64_MAX;
  late_since_ = {};
}

void Prices::check(Price price, std::uint64_t number) {
  const auto place = static_cast<std::size_t>(price);
  peaks_.at(place) = std::max(peaks_.at(place), number);
  const std::uint64_t bound = bounds_.at(place);
  if (number <= bound) return;
  checker_.fail("replica " + std::to_string(replica_) + " pays " + std::to_string(number) +
                " where the bound " + std::string(kPriceNames.at(place)) + " is " +
                std::to_string(bound));
}

void Prices::begin_step(Cause cause) {
  cause_ = cause;
  before_ = key_work();
  hashed_before_ = hashed_bytes();
  ++steps_;
}

void Prices::end_step(const pbft::ReplicaActions& actions, std::uint64_t looks, TimePoint now,
                      const Asked& before) {
  if (scenario_.bounds == nullptr) return;
  const MemoryUser nobody(0);
  const std::uint64_t checked = key_work().signatures_checked - before_.signatures_checked;
  const std::uint64_t hashed = hashed_bytes() - hashed_before_;
  const std::size_t first = before.sends;
  const std::uint64_t frames = actions.sends.size() - first;
  check(Price::frames_per_step, frames);
  check(Price::executions_per_step, actions.executions.size() - before.executions);
  std::uint64_t written = 0;
  for (std::size_t i = before.writes; i < actions.writes.size(); ++i) {
    const pbft::DurableWrite& write = actions.writes[i];
    written += write.key.size() + (write.value ? write.value->size() : 0);
  }
  check(Price::written_bytes_per_step, written);
  const std::uint64_t bytes = sent_bytes(actions, first);
  check(Price::signatures_per_step, checked);
  check(Price::signatures_made_per_step, key_work().signatures_made - before_.signatures_made);
  const std::uint64_t tags = key_work().tags - before_.tags;
  check(Price::tags_per_step, tags);
  for (std::size_t i = first; i < actions.sends.size(); ++i) {
    if (is_client(actions.sends[i].to)) count_reply(actions.sends[i], now);
  }
  // Real keys hash besides.
  if (!scenario_.has_real_keys()) check(Price::hashed_bytes_per_step, hashed);
  const std::uint64_t looked = looks - std::exchange(looks_before_, looks);
  check(Price::looks_per_step, looked);
  check_second(now, {now, frames, bytes, tags, checked, hashed, looked});
  check_memory(now);
  if (cause_ != Cause::stranger) return;
  if (now - strangers_since_ >= pbft::Payments::kInterval) {
    strangers_since_ = now;
    strangers_signatures_ = 0;
  }
  strangers_signatures_ += checked;
  // Two intervals of the replica's own may meet in one of these.
  check(Price::signatures_of_strangers, (strangers_signatures_ + 1) / 2);
}

// Parts are served at a rate of their own, to each replica.
std::uint64_t Prices::sent_bytes(const pbft::ReplicaActions& actions, std::size_t first) {
  std::map<NodeId, std::uint64_t> parts;
  std::uint64_t bytes = 0;
  for (std::size_t i = first; i < actions.sends.size(); ++i) {
    const pbft::Outgoing& outgoing = actions.sends[i];
    const auto header = pbft::peek_header(*outgoing.frame);
    const bool is_part = header && header->type == pbft::MessageType::part;
    (is_part ? parts[outgoing.to] : bytes) += outgoing.frame->size();
  }
  check(Price::bytes_per_step, bytes);
  for (const auto& [to, served] : parts)
    check(Price::part_bytes_per_step, served);
  return bytes;
}

void Prices::check_second(TimePoint now, const Second& cost) {
  if (now - second_.since >= seconds(1)) second_ = Second{now};
  second_.frames += cost.frames;
  second_.bytes += cost.bytes;
  second_.tags += cost.tags;
  second_.signatures += cost.signatures;
  second_.hashed += cost.hashed;
  second_.looks += cost.looks;
  check(Price::frames_per_second, second_.frames);
  check(Price::tags_per_second, second_.tags);
  check(Price::bytes_per_second, second_.bytes);
  check(Price::signatures_per_second, second_.signatures);
  check(Price::looks_per_second, second_.looks);
  if (!scenario_.has_real_keys()) check(Price::hashed_bytes_per_second, second_.hashed);
}

// Between two loads a replica holds what it needs in any case. That is the same after an hour.
void Prices::check_memory(TimePoint now) {
  const std::uint64_t now_in_use = bytes_in_use(account_);
  const std::uint64_t in_use = now_in_use - std::min(now_in_use, others_bytes_);
  check(Price::replica_bytes, in_use);
  if (!scenario_.is_long) return;
  if (now - late_since_ >= kGrowthEvery) {
    // The first part is the one in which the log fills up.
    const bool has_begun = late_since_ != TimePoint{};
    if (has_begun && least_early_ == UINT64_MAX) {
      least_early_ = least_late_;
    } else if (has_begun) {
      check(Price::growth_bytes, least_late_ - std::min(least_late_, least_early_));
    }
    late_since_ = now;
    least_late_ = UINT64_MAX;
  }
  least_late_ = std::min(least_late_, in_use);
}

void Prices::count_reply(const pbft::Outgoing& outgoing, TimePoint now) {
  const auto reply = pbft::decode_reply(*outgoing.frame);
  if (!reply) return;
  Replies& replies = replies_[{reply->client, reply->session, reply->timestamp, reply->sigma == 0}];
  if (now - replies.since >= seconds(1)) {
    replies.since = now;
    replies.in_second = 0;
  }
  if (replies.step != steps_) replies.in_step = 0;
  replies.step = steps_;
  check(Price::replies_per_second, ++replies.in_second);
  check(Price::replies_per_step, ++replies.in_step);
}

}  // namespace prophecy::simulation
