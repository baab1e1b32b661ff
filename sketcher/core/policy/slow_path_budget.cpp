#include "sketcher/core/policy/slow_path_budget.hpp"

#include <xxhash.h>

#include "base/ip_address.hpp"

namespace prophecy::sketcher {
namespace {

Duration time_for(double reads, double per_second) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(reads / per_second));
}

}  // namespace

SlowPathBudget::SlowPathBudget(const SlowPathLimits& limits, unsigned ipv6_prefix_bits,
                               std::uint64_t seed)
    : limits_(limits), ipv6_prefix_bits_(ipv6_prefix_bits), seed_(seed) {}

bool SlowPathBudget::take(std::string_view client, TimePoint now) {
  refill(now);
  const bool bounded = limits_.share < 1;
  if (bounded && tokens_ < 1) return false;
  if (limits_.per_client_second > 0 && !take_of_client(client, now)) return false;
  if (bounded) tokens_ -= 1;
  return true;
}

void SlowPathBudget::refill(TimePoint now) {
  if (refilled_ != TimePoint{} && now > refilled_) {
    const std::chrono::duration<double> passed = now - refilled_;
    tokens_ = std::min(kBurst, tokens_ + passed.count() * limits_.per_second);
  }
  refilled_ = std::max(refilled_, now);
}

std::size_t SlowPathBudget::slot_of(std::string_view client) const {
  const auto address = IpAddress::parse(client);
  if (!address) return XXH3_64bits_withSeed(client.data(), client.size(), seed_) % kClientSlots;
  const IpAddress network = address->network(ipv6_prefix_bits_);
  return XXH3_64bits_withSeed(network.bytes().data(), network.bytes().size(), seed_) % kClientSlots;
}

bool SlowPathBudget::take_of_client(std::string_view client, TimePoint now) {
  TimePoint& paid_until = paid_until_[slot_of(client)];
  paid_until = std::max(paid_until, now);
  const Duration interval = time_for(1, limits_.per_client_second);
  if (paid_until + interval - now > time_for(limits_.client_burst(), limits_.per_client_second)) {
    return false;
  }
  paid_until += interval;
  return true;
}

}  // namespace prophecy::sketcher
