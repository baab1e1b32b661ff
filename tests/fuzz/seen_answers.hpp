// `SeenAnswers` writes down what a reader of captures finds, so that two readings can be compared.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "measurement/analysis/answer_sink.hpp"

namespace prophecy::fuzz {

struct SeenAnswers : measurement::AnswerSink {
  std::string text;
  bool names_problems = true;  // not where the first of several problems depends on the cut

  void on_answer(const measurement::Answer& answer) override {
    text.append(answer.url).append(as_text(answer.sketch)).append(answer.address).push_back('\n');
  }
  void on_damage(measurement::Damage damage) override {
    text.append("!").append(std::to_string(damage.offset));
    if (names_problems) text.append(damage.problem);
    text.push_back('\n');
  }
  void on_other_method() override { text += "?\n"; }
};

// The whole input, in pieces of that size.
template <class Answers>
void feed(Answers&& answers, std::string_view input, std::size_t piece) {
  for (std::size_t begin = 0; begin < input.size(); begin += piece)
    answers.on_bytes(input.substr(begin, piece), begin, true);
  answers.finish();
}

}  // namespace prophecy::fuzz
