// The sketch log: observed answers without their bodies, a line of JSON each, behind a line that
// names the canonical form. Analysing it gives the figures of the capture that it was made of, but
// for those that need bodies. docs/measurement.md describes the members.
//
// No I/O. For one thread at a time.
#pragma once

#include <string>
#include <string_view>

#include "canonical/profile.hpp"
#include "measurement/analysis/answer_sink.hpp"
#include "measurement/input/flat_object.hpp"
#include "measurement/input/line_reader.hpp"

namespace prophecy::measurement {

// The first line, with its end.
[[nodiscard]] std::string sketch_log_header(const sketch::Profile& profile);
// A line, with its end.
void append_sketch_line(const Answer& answer, std::string& out);

[[nodiscard]] bool begins_like_sketch_log(std::string_view beginning);

class SketchLogAnswers : public LineReader {
 public:
  // Both must outlive it. Sketches by another profile are damage: they equal none of ours.
  SketchLogAnswers(const sketch::Profile& profile, AnswerSink& sink);
  [[nodiscard]] std::uint64_t records() const override { return records_; }

 private:
  void on_line(std::string_view line, std::uint64_t offset) override;
  void on_line_damage(Damage damage) override { sink_.on_damage(std::move(damage)); }
  [[nodiscard]] std::string_view take(std::string_view line);

  AnswerSink& sink_;
  std::string header_;
  FlatObject object_;
  std::string sketch_;
  bool is_ours_ = false;
  std::uint64_t records_ = 0;
};

}  // namespace prophecy::measurement
