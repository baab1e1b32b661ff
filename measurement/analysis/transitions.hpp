// `TransitionCounter` counts the transitions of each URL from its answers in time order. A
// transition is a pair of consecutive sketched answers of one URL whose sketches differ;
// docs/measurement.md has the definition, and how other answers count.
//
// No I/O. For one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "measurement/analysis/answer.hpp"
#include "measurement/analysis/url_table.hpp"

namespace prophecy::measurement {

// An answer as it is sorted and counted.
struct Observation {
  Microseconds time = 0;
  std::uint64_t sequence = 0;  // its place in the inputs, which decides between equal times
  std::uint64_t body_bytes = 0;
  UrlNumber url = 0;
  sketch::Sketch sketch{};
  AnswerKind kind = AnswerKind::sketched;

  [[nodiscard]] bool before(const Observation& other) const {
    if (url != other.url) return url < other.url;
    if (time != other.time) return time < other.time;
    return sequence < other.sequence;
  }
};

// Pairs of consecutive answers, and how many of them differ.
struct Pairs {
  std::uint64_t pairs = 0;
  std::uint64_t transitions = 0;
  [[nodiscard]] double ratio() const {
    return pairs == 0 ? 0 : static_cast<double>(transitions) / static_cast<double>(pairs);
  }
  Pairs& operator+=(const Pairs& other) {
    pairs += other.pairs;
    transitions += other.transitions;
    return *this;
  }
};

struct UrlFigures {
  UrlNumber url = 0;
  std::array<std::uint64_t, kAnswerKinds> answers{};  // by kind
  std::uint64_t body_bytes = 0;                       // of all answers
  Pairs sketched;  // of the answers that the history could hold: the figure
  Pairs strong;    // of all answers with their bodies, also those that it could not hold
  Pairs weak;      // of the weak ones

  [[nodiscard]] std::uint64_t all_answers() const;
  [[nodiscard]] std::uint64_t answers_of(AnswerKind kind) const {
    return answers[static_cast<std::size_t>(kind)];
  }
};

// `UrlCounter` compares the answers of one URL with each other as they come, in the order of time.
class UrlCounter {
 public:
  void add(const Observation& observation, UrlFigures& figures);

 private:
  struct Previous {
    bool known = false;
    sketch::Sketch sketch{};
  };
  static void pair(Previous& previous, const sketch::Sketch& sketch, Pairs& pairs);

  Previous sketched_;
  Previous strong_;
  Previous weak_;
};

class TransitionCounter {
 public:
  // `urls` is how many there are, to take memory once.
  explicit TransitionCounter(std::size_t urls = 0) { figures_.reserve(urls); }
  // Requires the order of Observation::before().
  void add(const Observation& observation);
  // The URLs in the order of their numbers. Ends the counting.
  [[nodiscard]] std::vector<UrlFigures> finish() { return std::move(figures_); }

 private:
  std::vector<UrlFigures> figures_;
  UrlCounter counter_;  // of the last one
};

}  // namespace prophecy::measurement
