#include "measurement/live/live_figures.hpp"

#include <algorithm>

namespace prophecy::measurement {

void LiveFigures::on_answer(const Answer& answer) {
  Observation observation;
  observation.time = answer.time;
  observation.sequence = sequence_++;
  observation.body_bytes = answer.body_bytes;
  observation.url = result_.urls.number_of(answer.url);
  observation.sketch = answer.sketch;
  observation.kind = answer.kind;
  ++input_->answers;
  if (observation.url >= result_.figures.size()) {
    result_.figures.emplace_back();
    result_.figures.back().url = observation.url;
    counters_.emplace_back();
  }
  if (observation.time < counted_) {
    ++late_;
    UrlFigures& figures = result_.figures[observation.url];
    ++figures.answers[static_cast<std::size_t>(observation.kind)];
    figures.body_bytes += observation.body_bytes;
    return;
  }
  newest_ = std::max(newest_, observation.time);
  waiting_.push(observation);
  while (!waiting_.empty() && waiting_.top().time <= newest_ - kReorder) {
    count(waiting_.top());
    waiting_.pop();
  }
}

void LiveFigures::on_damage(Damage damage) {
  ++input_->damage_count;
  if (input_->damage.size() < kDamageListedMax) input_->damage.push_back(std::move(damage));
}

void LiveFigures::finish() {
  for (; !waiting_.empty(); waiting_.pop())
    count(waiting_.top());
}

void LiveFigures::count(const Observation& observation) {
  counted_ = observation.time;
  counters_[observation.url].add(observation, result_.figures[observation.url]);
}

}  // namespace prophecy::measurement
