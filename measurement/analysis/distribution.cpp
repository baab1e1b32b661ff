#include "measurement/analysis/distribution.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"

namespace prophecy::measurement {
namespace {

double weight_of(const RatioPoint& point, Weight weight) {
  switch (weight) {
    case Weight::url:
      return 1;
    case Weight::request:
      return static_cast<double>(point.requests);
    case Weight::bytes:
      return static_cast<double>(point.body_bytes);
  }
  UNREACHABLE();
}

template <class Counts>
double share_where(const std::vector<RatioPoint>& points, std::uint64_t minimum, Weight weight,
                   Counts counts) {
  double all = 0;
  double some = 0;
  for (const RatioPoint& point : points) {
    if (point.requests < minimum) continue;
    all += weight_of(point, weight);
    if (counts(point)) some += weight_of(point, weight);
  }
  return all == 0 ? 0 : some / all;
}

}  // namespace

std::string_view name_of(Weight weight) {
  switch (weight) {
    case Weight::url:
      return "url";
    case Weight::request:
      return "request";
    case Weight::bytes:
      return "bytes";
  }
  UNREACHABLE();
}

std::vector<RatioPoint> points_of(const std::vector<const UrlFigures*>& figures) {
  std::vector<RatioPoint> points;
  for (const UrlFigures* each : figures) {
    if (each->sketched.pairs == 0) continue;
    points.push_back(
        {each->sketched.ratio(), each->answers_of(AnswerKind::sketched), each->body_bytes});
  }
  return points;
}

Curve curve_of(const std::vector<RatioPoint>& points, std::uint64_t minimum, Weight weight) {
  Curve curve;
  curve.minimum = minimum;
  curve.weight = weight;
  double all = 0;
  for (const RatioPoint& point : points) {
    if (point.requests < minimum) continue;
    ++curve.urls;
    // A ratio is a quotient of integers: what is a whole percentage may come out a little above it.
    const auto step = static_cast<std::size_t>(
        std::ceil(point.ratio * static_cast<double>(kCurveSteps - 1) - 1e-9));
    curve.shares[std::min(step, kCurveSteps - 1)] += weight_of(point, weight);
    all += weight_of(point, weight);
  }
  double sum = 0;
  for (double& share : curve.shares) {
    sum += share;
    share = all == 0 ? 0 : sum / all;
  }
  return curve;
}

double share_below(const std::vector<RatioPoint>& points, std::uint64_t minimum, Weight weight,
                   double ratio) {
  return share_where(points, minimum, weight,
                     [&](const RatioPoint& point) { return point.ratio < ratio; });
}

double share_static(const std::vector<RatioPoint>& points, std::uint64_t minimum, Weight weight) {
  return share_where(points, minimum, weight,
                     [](const RatioPoint& point) { return point.ratio == 0; });
}

}  // namespace prophecy::measurement
