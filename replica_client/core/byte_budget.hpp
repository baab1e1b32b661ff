// `ByteBudget` bounds how many bytes a second one origin may make its reader process: a bucket that
// holds one second's bytes. A debt is allowed, since bytes are counted when they are there, and is
// paid off before anything more is read. Deterministic.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.hpp"

namespace prophecy::replica_client {

class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t bytes_per_second)
      : per_second_(static_cast<std::int64_t>(bytes_per_second)), left_(per_second_) {}

  void take(std::uint64_t bytes, TimePoint now) {
    refill(now);
    left_ -= static_cast<std::int64_t>(bytes);
  }
  [[nodiscard]] bool has_some(TimePoint now) {
    refill(now);
    return left_ > 0;
  }

 private:
  void refill(TimePoint now) {
    const auto passed = std::chrono::duration_cast<std::chrono::microseconds>(now - refilled_);
    if (passed.count() <= 0) return;
    refilled_ += passed;
    const std::int64_t micros = std::min<std::int64_t>(passed.count(), kHour);
    left_ = std::min(per_second_, left_ + per_second_ / kSecond * micros +
                                      per_second_ % kSecond * micros / kSecond);
  }

  static constexpr std::int64_t kSecond = 1'000'000;
  static constexpr std::int64_t kHour = 3600 * kSecond;  // no overflow below a TiB a second
  std::int64_t per_second_;
  std::int64_t left_;
  TimePoint refilled_{};
};

}  // namespace prophecy::replica_client
