// `LineAnswers` turns inputs without bodies into weak answers, a line each: CDX and CDXJ indexes,
// and access logs in the combined format of Apache and nginx, or in HAProxy's HTTP format. A weak
// answer's sketch covers the digest of the payload in a line of an index, and status and size in a
// line of a log.
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

enum class LineFormat : std::uint8_t { cdx, cdxj, access_log };

// Whether an input begins like a CDX index, or with a whole line of a CDXJ index or an access log.
[[nodiscard]] bool begins_like_cdx(std::string_view beginning);
[[nodiscard]] bool begins_like_cdxj(std::string_view beginning);
[[nodiscard]] bool begins_like_log(std::string_view beginning);

class LineAnswers : public LineReader {
 public:
  // `origin` is the scheme and authority that a log's targets belong to, such as
  // "https://www.example.org". The sink must outlive it.
  LineAnswers(LineFormat format, std::string origin, AnswerSink& sink);

  [[nodiscard]] std::uint64_t records() const override { return records_; }

 private:
  void on_line(std::string_view line, std::uint64_t offset) override;
  void on_line_damage(Damage damage) override { sink_.on_damage(std::move(damage)); }
  // Empty, or what is wrong with the line.
  [[nodiscard]] std::string_view take_cdx(std::string_view line);
  [[nodiscard]] std::string_view take_cdxj(std::string_view line);
  [[nodiscard]] std::string_view take_log(std::string_view line);
  [[nodiscard]] std::string_view take_indexed(std::string_view time, std::string_view url,
                                              std::string_view status, std::string_view digest);

  LineFormat format_;
  std::string origin_;
  AnswerSink& sink_;
  FlatObject object_;
  bool header_seen_ = false;
  std::uint64_t records_ = 0;
  std::string url_;
};

}  // namespace prophecy::measurement
