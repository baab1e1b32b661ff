// `AccessLogAnswers` reads the access log of prophecy-sketcher: a line of JSON for each answer. The
// sketches in it are keyed with the installation's secret, so they equal no sketch of a capture.
// A URL of this log is one with the variant: the last bytes of s(q), behind a "#".
//
// No I/O. For one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "measurement/analysis/answer_sink.hpp"
#include "measurement/input/flat_object.hpp"
#include "measurement/input/line_reader.hpp"

namespace prophecy::measurement {

[[nodiscard]] bool begins_like_access_log(std::string_view beginning);

class AccessLogAnswers : public LineReader {
 public:
  // The sink must outlive it.
  explicit AccessLogAnswers(AnswerSink& sink) : sink_(sink) {}
  [[nodiscard]] std::uint64_t records() const override { return records_; }

 private:
  void on_line(std::string_view line, std::uint64_t offset) override;
  void on_line_damage(Damage damage) override { sink_.on_damage(std::move(damage)); }
  // Empty, or what is wrong with the line.
  [[nodiscard]] std::string_view take(std::string_view line);

  AnswerSink& sink_;
  FlatObject object_;
  std::string url_;
  std::uint64_t records_ = 0;
};

}  // namespace prophecy::measurement
