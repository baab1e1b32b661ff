#include "consistency/origins/operator.hpp"

#include <utility>
#include <vector>

#include "consistency/variant.hpp"

namespace prophecy::consistency {

using replica_client::Administration;
using replica_client::GroupHealth;
using replica_client::ReplicaSet;

namespace {

constexpr std::uint64_t kChangePercent = 4;  // of the events
constexpr std::uint64_t kWeightPercent = 50;
constexpr std::uint64_t kWeightMax = 9;
constexpr std::uint64_t kSlowStartMsMax = 300;
constexpr std::uint64_t kDrainMsMax = 300;

}  // namespace

Operator::Operator(const RunSettings& settings, std::uint64_t seed, Breach& breach, Tally& tally)
    : random_(seed), breach_(breach), tally_(tally) {
  if (!settings.has_weights) return;
  std::vector<std::uint32_t> weights;
  for (std::size_t i = 0; i < settings.origins; ++i)
    weights.push_back(static_cast<std::uint32_t>(random_.between(1, kWeightMax)));
  replica_client::HealthRules rules;
  rules.faults = static_cast<std::uint32_t>(settings.faults);
  rules.drawable_min = rules.faults + 1;
  rules.slow_start = milliseconds(random_.below(kSlowStartMsMax));
  health_.emplace(std::move(weights), rules, TimePoint{});
  publish(TimePoint{});
}

void Operator::publish(TimePoint now) {
  view_.publish_shares(health_->shares(now), health_->size());
  view_.publish(health_->drawable(), health_->unchecked(), health_->cut());
}

void Operator::advance(TimePoint now) {
  if (!health_) return;
  health_->on_time(now);
  if (random_.chance(kChangePercent)) change(now);
  publish(now);
}

void Operator::change(TimePoint now) {
  const auto replica = static_cast<NodeId>(random_.below(health_->size()));
  replica_client::OriginChange change;
  if (random_.chance(kWeightPercent)) {
    change.weight = static_cast<std::uint32_t>(random_.between(1, kWeightMax));
  } else {
    change.administration = static_cast<Administration>(random_.below(3));
    const bool has_time = change.administration == Administration::drain && random_.chance(60);
    if (has_time) change.within = milliseconds(random_.below(kDrainMsMax));
  }
  const bool is_weight = change.weight.has_value();
  // It may be one too many.
  if (health_->set(replica, std::move(change), now)) {
    tally_.add(is_weight ? Met::weights_set : Met::origin_states_set);
  }
}

void Operator::settle() {
  if (!std::exchange(health_, std::nullopt)) return;
  view_.publish(~ReplicaSet{0}, 0);
  replica_client::OriginShares shares{};
  shares.fill(1);
  view_.publish_shares(shares, kReplicasMax);
}

void Operator::check_ask(NodeId replica, ReplicaSet asked) {
  if (!health_) return;
  const ReplicaSet drawable = view_.drawable();
  const ReplicaSet bit = replica_client::bit_of(replica);
  if (((drawable | asked) & bit) != 0) return;
  tally_.add(Met::asked_out_of_the_draw);
  if ((drawable & ~asked) == 0) return;
  breach_.note(std::string(kDraw) + ": origin " + std::to_string(replica) +
               " was asked, which is out, before others that are not");
}

}  // namespace prophecy::consistency
