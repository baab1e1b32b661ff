#include "measurement/analysis/transitions.hpp"

#include <numeric>

#include "base/assert.hpp"

namespace prophecy::measurement {

std::uint64_t UrlFigures::all_answers() const {
  return std::accumulate(answers.begin(), answers.end(), std::uint64_t{0});
}

void UrlCounter::pair(Previous& previous, const sketch::Sketch& sketch, Pairs& pairs) {
  if (previous.known) {
    ++pairs.pairs;
    if (previous.sketch != sketch) ++pairs.transitions;
  }
  previous = {true, sketch};
}

void UrlCounter::add(const Observation& observation, UrlFigures& figures) {
  ++figures.answers[static_cast<std::size_t>(observation.kind)];
  figures.body_bytes += observation.body_bytes;
  switch (observation.kind) {
    case AnswerKind::weak:
      return pair(weak_, observation.sketch, figures.weak);
    case AnswerKind::weak_transient:
    case AnswerKind::for_one_client:
      return;
    case AnswerKind::sketched:
      pair(sketched_, observation.sketch, figures.sketched);
      [[fallthrough]];
    case AnswerKind::transient:
    case AnswerKind::sets_cookie:
    case AnswerKind::varies:
      return pair(strong_, observation.sketch, figures.strong);
  }
  UNREACHABLE();
}

void TransitionCounter::add(const Observation& observation) {
  if (figures_.empty() || figures_.back().url != observation.url) {
    ASSERT(figures_.empty() || figures_.back().url < observation.url);
    figures_.emplace_back();
    figures_.back().url = observation.url;
    counter_ = {};
  }
  counter_.add(observation, figures_.back());
}

}  // namespace prophecy::measurement
