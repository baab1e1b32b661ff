// `AnswerSink` takes what readers of inputs find: answers, damage, and records that are neither.
#pragma once

#include "measurement/analysis/answer.hpp"
#include "measurement/input/damage.hpp"

namespace prophecy::measurement {

class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  // The URL's text is valid for this call alone.
  virtual void on_answer(const Answer& answer) = 0;
  virtual void on_damage(Damage damage) = 0;
  // An answer to a method that the history does not serve (POST, ...).
  virtual void on_other_method() = 0;
};

}  // namespace prophecy::measurement
