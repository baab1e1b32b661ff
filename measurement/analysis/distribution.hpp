// Distributions of URLs over their transition ratios: the curves of figures 14 and 15 of the paper.
//
// No I/O. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "measurement/analysis/transitions.hpp"

namespace prophecy::measurement {

enum class Weight : std::uint8_t { url, request, bytes };
inline constexpr std::array kWeights = {Weight::url, Weight::request, Weight::bytes};
[[nodiscard]] std::string_view name_of(Weight weight);

// A URL with at least one pair.
struct RatioPoint {
  double ratio = 0;
  std::uint64_t requests = 0;    // its sketched answers
  std::uint64_t body_bytes = 0;  // of all its answers
};
[[nodiscard]] std::vector<RatioPoint> points_of(const std::vector<const UrlFigures*>& figures);

// How many requests a URL must have had to be part of a curve. The paper draws several curves, and
// uses 25 where it does not say.
inline constexpr std::array<std::uint64_t, 6> kMinimums = {2, 5, 10, 25, 50, 100};
constexpr std::uint64_t kPaperMinimum = 25;

// The share of the weight that lies at ratios of at most 0 %, 1 %, ... 100 %.
constexpr std::size_t kCurveSteps = 101;
struct Curve {
  std::uint64_t minimum = 0;
  Weight weight = Weight::url;
  std::uint64_t urls = 0;  // that have so many requests; none: the shares are zeros
  std::array<double, kCurveSteps> shares{};
};

[[nodiscard]] Curve curve_of(const std::vector<RatioPoint>& points, std::uint64_t minimum,
                             Weight weight);
// The share below a ratio, or of ratio 0 alone. 0 if there are no such URLs.
[[nodiscard]] double share_below(const std::vector<RatioPoint>& points, std::uint64_t minimum,
                                 Weight weight, double ratio);
[[nodiscard]] double share_static(const std::vector<RatioPoint>& points, std::uint64_t minimum,
                                  Weight weight);

}  // namespace prophecy::measurement
