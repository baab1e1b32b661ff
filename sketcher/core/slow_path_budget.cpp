#include "sketcher/core/slow_path_budget.hpp"

#include <algorithm>

#include <xxhash.h>

namespace prophecy::sketcher {
namespace {

Duration time_for(double reads, double per_second) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(reads / per_second));
}

}  // namespace

SlowPathBudget::SlowPathBudget(const SlowPathLimits& limits, std::uint64_t seed)
    : limits_(limits), seed_(seed) {}

void SlowPathBudget::on_read() {
  tokens_ = std::min(kBurst, tokens_ + limits_.share);
}

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

bool SlowPathBudget::take_of_client(std::string_view client, TimePoint now) {
  const std::uint64_t hash = XXH3_64bits_withSeed(client.data(), client.size(), seed_);
  TimePoint& paid_until = paid_until_[hash % kClientSlots];
  paid_until = std::max(paid_until, now);
  const Duration interval = time_for(1, limits_.per_client_second);
  if (paid_until + interval - now > time_for(kClientBurst, limits_.per_client_second)) return false;
  paid_until += interval;
  return true;
}

}  // namespace prophecy::sketcher
