// `LineAnswers` turns inputs without bodies into weak answers, a line each: CDX indexes, and access
// logs in the combined format of Apache and nginx. A weak answer's sketch is one of what the line
// says: of a CDX line the payload's digest, of a log line status and size.
//
// No I/O. For one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measurement/analysis/answer_sink.hpp"
#include "measurement/input/archive_bytes.hpp"

namespace prophecy::measurement {

enum class LineFormat : std::uint8_t { cdx, combined_log };

// Whether an input begins like a CDX index, or with a whole line of an access log.
[[nodiscard]] bool begins_like_cdx(std::string_view beginning);
[[nodiscard]] bool begins_like_log(std::string_view beginning);

class LineAnswers : public ArchiveSink {
 public:
  // `origin` is the scheme and authority that a log's targets belong to, such as
  // "https://www.example.org". The sink must outlive it.
  LineAnswers(LineFormat format, std::string origin, AnswerSink& sink);

  void on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) override;
  void on_gap(Damage damage) override;
  // The input is at its end.
  void finish();
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  void on_line();
  // Empty, or what is wrong with the line.
  [[nodiscard]] std::string_view take_cdx(std::string_view line);
  [[nodiscard]] std::string_view take_log(std::string_view line);
  void hand_on(std::string_view url, Microseconds time, std::uint64_t status, std::uint64_t size,
               std::string_view sketched);

  LineFormat format_;
  std::string origin_;
  AnswerSink& sink_;
  std::string line_;
  std::uint64_t line_offset_ = 0;
  bool skipping_ = false;  // the rest of a line that is too long, or cut
  bool header_seen_ = false;
  std::uint64_t records_ = 0;
  std::string url_;
};

}  // namespace prophecy::measurement
