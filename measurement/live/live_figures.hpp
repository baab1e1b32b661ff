// `LiveFigures` counts transitions while answers come in, from a log that is still being written.
// Several workers write one log, each its own lines together, so the lines of some seconds are out
// of order: an answer is counted once the log has one that is `kReorder` later, or by finish().
// Answers that come later than that are `late`, and in no pair.
//
// For one thread at a time.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "measurement/analysis/answer_sink.hpp"
#include "measurement/measurement_result.hpp"

namespace prophecy::measurement {

class LiveFigures : public AnswerSink {
 public:
  static constexpr Microseconds kReorder = 3'000'000;

  // Fills in the result, which must outlive it.
  explicit LiveFigures(MeasurementResult& result) : result_(result) {}

  // The answers that come next are of this input.
  void begin(InputFigures& input) { input_ = &input; }
  void on_answer(const Answer& answer) override;
  void on_damage(Damage damage) override;
  void on_other_method() override { ++input_->other_methods; }
  // Counts what waits.
  void finish();

  [[nodiscard]] std::uint64_t late() const { return late_; }

 private:
  struct Later {
    bool operator()(const Observation& one, const Observation& other) const {
      if (one.time != other.time) return one.time > other.time;
      return one.sequence > other.sequence;
    }
  };
  void count(const Observation& observation);

  MeasurementResult& result_;
  InputFigures* input_ = nullptr;
  std::priority_queue<Observation, std::vector<Observation>, Later> waiting_;
  std::vector<UrlCounter> counters_;  // by URL
  Microseconds newest_ = 0;
  Microseconds counted_ = 0;  // the time of the last one
  std::uint64_t sequence_ = 0;
  std::uint64_t late_ = 0;
};

}  // namespace prophecy::measurement
