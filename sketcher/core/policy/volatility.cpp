#include "sketcher/core/policy/volatility.hpp"

#include <algorithm>
#include <cmath>

namespace prophecy::sketcher {
namespace {

// packed = share in units of 2^-31 << 32 | weight in units of 2^-24 << 1 | blacklisted
constexpr double kShareUnits = 1U << 31;
constexpr double kWeightUnits = 1U << 24;
static_assert(Volatility::kWeightMax * kWeightUnits < (1U << 31));

// Reads some seconds ago weigh a little less than one.
constexpr float kWeightMin = Volatility::kReadsMin - 0.5F;

std::uint64_t rounded(double value) {
  return static_cast<std::uint64_t>(std::llround(value));
}

}  // namespace

void Volatility::age(std::uint32_t elapsed_seconds) {
  if (elapsed_seconds != 0) weight_ = weight_after(elapsed_seconds);
}

Volatility::Change Volatility::on_read(bool transition, const VolatilityLimits& limits,
                                       bool may_enter) {
  weight_ = std::min(weight_ + 1, kWeightMax);
  share_ += ((transition ? 1.0F : 0.0F) - share_) / weight_;
  if (blacklisted_) {
    blacklisted_ = share_ >= limits.until() && weight_ >= kWeightKept;
    return blacklisted_ ? Change::none : Change::released;
  }
  blacklisted_ = may_enter && weight_ >= kWeightMin && share_ >= limits.from;
  return blacklisted_ ? Change::blacklisted : Change::none;
}

float Volatility::weight_after(std::uint32_t elapsed_seconds) const {
  return weight_ *
         std::exp2(-static_cast<float>(elapsed_seconds) / static_cast<float>(kHalfLifeSeconds));
}

std::uint64_t Volatility::packed() const {
  const auto share = rounded(double{share_} * kShareUnits);
  const auto weight = rounded(double{weight_} * kWeightUnits);
  return share << 32 | weight << 1 | static_cast<std::uint64_t>(blacklisted_);
}

Volatility Volatility::unpack(std::uint64_t word) {
  Volatility value;
  value.share_ = static_cast<float>(std::min(1.0, static_cast<double>(word >> 32) / kShareUnits));
  value.weight_ =
      std::min(kWeightMax,
               static_cast<float>(static_cast<double>((word >> 1) & 0x7FFF'FFFF) / kWeightUnits));
  value.blacklisted_ = (word & 1) != 0;
  return value;
}

}  // namespace prophecy::sketcher
