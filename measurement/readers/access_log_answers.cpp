#include "measurement/readers/access_log_answers.hpp"

#include <optional>

#include "base/bytes.hpp"
#include "http/message.hpp"
#include "http/text.hpp"
#include "measurement/analysis/weak_sketch.hpp"
#include "measurement/input/url.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kBeginning = "{\"prophecy_access\":1,";
constexpr std::uint64_t kLogSecondsMax = 253'402'300'799;  // the end of the year 9999

// SECONDS.MICROSECONDS, the latter of six digits.
std::optional<Microseconds> parse_seconds(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos || text.size() != point + 7) return std::nullopt;
  std::uint64_t seconds = 0;
  std::uint64_t micros = 0;
  if (!http::parse_decimal(text.substr(0, point), seconds) || seconds > kLogSecondsMax ||
      !http::parse_decimal(text.substr(point + 1), micros)) {
    return std::nullopt;
  }
  return static_cast<Microseconds>(seconds * 1'000'000 + micros);
}

}  // namespace

bool begins_like_access_log(std::string_view beginning) {
  return beginning.starts_with(kBeginning);
}

void AccessLogAnswers::on_line(std::string_view line, std::uint64_t offset) {
  ++records_;
  const std::string_view problem =
      line.starts_with(kBeginning) ? take(line) : "no line of a sketcher's access log";
  if (!problem.empty()) sink_.on_damage({offset, std::string(problem)});
}

std::string_view AccessLogAnswers::take(std::string_view line) {
  if (const std::string_view problem = object_.read(line); !problem.empty()) return problem;
  const std::string_view method = object_.text("method");
  if (!http::is_token(method)) return "a line without a method";
  if (!http::is_read_method(method)) {
    sink_.on_other_method();
    return {};
  }
  // An answer of the sketcher's own is none of the site, and one of another member is in its log.
  const std::string_view by = object_.text("by");
  if (by == "sketcher" || by == "member") return {};
  const auto time = parse_seconds(object_.text("time"));
  const auto url = split_url(object_.text("url"));
  Answer answer;
  std::uint64_t status = 0;
  if (!time || !url) return "a line without time or URL";
  if (!http::parse_decimal(object_.text("status"), status) || status < 100 || status > 999 ||
      !http::parse_decimal(object_.text("bytes"), answer.body_bytes)) {
    return "a line without status or size";
  }
  url_.assign(method).append(" ").append(url->scheme).append("://");
  url_.append(url->authority).append(url->target);
  const std::string_view variant = object_.text("variant");
  if (!variant.empty()) url_.append("#").append(variant);
  answer.url = url_;
  answer.time = *time;
  answer.status = static_cast<std::uint16_t>(status);
  const std::string_view sketch = object_.text("sketch");
  if (!sketch.empty()) {
    if (!from_hex(sketch, answer.sketch)) return "a line whose sketch is none";
  } else {
    answer.kind = weak_kind_of(status);
    // With a key and without a sketch: the history could not hold it.
    if (answer.kind == AnswerKind::weak && !variant.empty()) {
      answer.kind = AnswerKind::for_one_client;
    }
    answer.sketch = weak_sketch_of({.status = status, .body_bytes = answer.body_bytes});
  }
  sink_.on_answer(answer);
  return {};
}

}  // namespace prophecy::measurement
