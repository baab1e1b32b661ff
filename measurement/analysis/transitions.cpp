#include "measurement/analysis/transitions.hpp"

#include <numeric>

#include "base/assert.hpp"

namespace prophecy::measurement {

std::uint64_t UrlFigures::all_answers() const {
  return std::accumulate(answers.begin(), answers.end(), std::uint64_t{0});
}

void TransitionCounter::pair(Previous& previous, const sketch::Sketch& sketch, Pairs& pairs) {
  if (previous.known) {
    ++pairs.pairs;
    if (previous.sketch != sketch) ++pairs.transitions;
  }
  previous = {true, sketch};
}

void TransitionCounter::add(const Observation& observation) {
  if (figures_.empty() || figures_.back().url != observation.url) {
    ASSERT(figures_.empty() || figures_.back().url < observation.url);
    figures_.emplace_back();
    figures_.back().url = observation.url;
    sketched_ = {};
    strong_ = {};
    weak_ = {};
  }
  UrlFigures& figures = figures_.back();
  ++figures.answers[static_cast<std::size_t>(observation.kind)];
  figures.body_bytes += observation.body_bytes;
  if (observation.kind == AnswerKind::weak) {
    pair(weak_, observation.sketch, figures.weak);
    return;
  }
  if (observation.kind == AnswerKind::weak_transient) return;
  pair(strong_, observation.sketch, figures.strong);
  if (observation.kind == AnswerKind::sketched) {
    pair(sketched_, observation.sketch, figures.sketched);
  }
}

}  // namespace prophecy::measurement
