#include "measurement/readers/line_answers.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "http/message.hpp"
#include "http/text.hpp"
#include "measurement/analysis/weak_sketch.hpp"
#include "measurement/input/url.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kCdxHeader = " CDX ";

// Takes the text up to a separator, and that, off the line.
std::string_view take_until(std::string_view& line, char separator) {
  const std::size_t end = std::min(line.find(separator), line.size());
  const std::string_view taken = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return taken;
}

// 10/Oct/2000:13:55:36 -0700, as ISO 8601 has it.
std::optional<Microseconds> parse_log_time(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 26 || text[2] != '/' || text[6] != '/' || text[11] != ':' || text[20] != ' ') {
    return std::nullopt;
  }
  const auto month = std::find(kMonths.begin(), kMonths.end(), text.substr(3, 3));
  if (month == kMonths.end()) return std::nullopt;
  const auto number = month - kMonths.begin() + 1;
  std::string iso(text.substr(7, 4));
  iso.append(number < 10 ? "-0" : "-").append(std::to_string(number)).append("-");
  iso.append(text.substr(0, 2)).append("T").append(text.substr(12, 8)).append(text.substr(21));
  return parse_iso_time(iso);
}

// 10/Oct/2000:13:55:36.655, in HAProxy's own time zone, which a line does not name: taken as UTC.
std::optional<Microseconds> parse_haproxy_time(std::string_view text) {
  constexpr std::size_t kPoint = 20;
  if (text.size() != kPoint + 4 || text[kPoint] != '.') return std::nullopt;
  std::uint64_t milliseconds = 0;
  std::string with_zone(text.substr(0, kPoint));
  with_zone.append(" +0000");
  const auto time = parse_log_time(with_zone);
  if (!time || !http::parse_decimal(text.substr(kPoint + 1), milliseconds)) return std::nullopt;
  return *time + static_cast<Microseconds>(milliseconds) * 1000;
}

struct LogLine {
  std::string_view method;
  std::string_view target;
  Microseconds time = 0;
  std::uint64_t status = 0;
  std::uint64_t size = 0;
};

// METHOD TARGET VERSION, between quotes.
bool take_request(std::string_view& line, LogLine& parsed) {
  std::string_view request = take_until(line, '"');
  parsed.method = take_until(request, ' ');
  parsed.target = take_until(request, ' ');
  return http::is_token(parsed.method) && request.starts_with("HTTP/");
}

// FRONTEND BACKEND/SERVER TIMERS STATUS BYTES, ..., "METHOD TARGET VERSION", behind the time.
// HAProxy's bytes are those of head and body.
std::optional<LogLine> parse_haproxy_line(std::string_view line, Microseconds time) {
  LogLine parsed;
  parsed.time = time;
  if (!line.starts_with(' ')) return std::nullopt;
  line.remove_prefix(1);
  take_until(line, ' ');
  take_until(line, ' ');
  if (take_until(line, ' ').find('/') == std::string_view::npos) return std::nullopt;
  if (!http::parse_decimal(take_until(line, ' '), parsed.status)) return std::nullopt;
  if (!http::parse_decimal(take_until(line, ' '), parsed.size)) return std::nullopt;
  take_until(line, '"');
  if (!take_request(line, parsed)) return std::nullopt;
  return parsed;
}

// HOST IDENT USER [TIME] "METHOD TARGET VERSION" STATUS SIZE, and what follows.
std::optional<LogLine> parse_log_line(std::string_view line) {
  LogLine parsed;
  take_until(line, '[');
  std::string_view written = take_until(line, ']');
  // A syslog daemon's prefix may have the process id in brackets: "haproxy[123]: ".
  if (!parse_log_time(written) && !parse_haproxy_time(written) && line.starts_with(':')) {
    take_until(line, '[');
    written = take_until(line, ']');
  }
  if (const auto time = parse_haproxy_time(written)) return parse_haproxy_line(line, *time);
  const auto time = parse_log_time(written);
  if (!time || !line.starts_with(" \"")) return std::nullopt;
  parsed.time = *time;
  line.remove_prefix(2);
  if (!take_request(line, parsed) || !line.starts_with(' ')) return std::nullopt;
  line.remove_prefix(1);
  if (!http::parse_decimal(take_until(line, ' '), parsed.status)) return std::nullopt;
  const std::string_view size = take_until(line, ' ');
  if (size != "-" && !http::parse_decimal(size, parsed.size)) return std::nullopt;
  return parsed;
}

}  // namespace

bool begins_like_cdx(std::string_view beginning) {
  return beginning.starts_with(kCdxHeader);
}

bool begins_like_cdxj(std::string_view beginning) {
  std::string_view line = beginning.substr(0, beginning.find('\n'));
  if (line.starts_with('!'))
    return line.starts_with("!OpenWayback-CDXJ") || line.starts_with("!meta");
  take_until(line, ' ');
  return parse_digits_time(take_until(line, ' ')).has_value() && line.starts_with('{');
}

bool begins_like_log(std::string_view beginning) {
  const std::size_t end = beginning.find('\n');
  return end != std::string_view::npos && parse_log_line(beginning.substr(0, end));
}

LineAnswers::LineAnswers(LineFormat format, std::string origin, AnswerSink& sink)
    : format_(format), origin_(std::move(origin)), sink_(sink) {}

void LineAnswers::on_line(std::string_view line, std::uint64_t offset) {
  if (format_ == LineFormat::cdx && line.starts_with(kCdxHeader)) {
    // N urlkey, b time, a URL, m type, s status, k digest.
    const bool known = line.starts_with(" CDX N b a m s k ");
    if (!known) sink_.on_damage({offset, "CDX fields in an order that is not known"});
    header_seen_ = known;
    return;
  }
  // Some writers of CDXJ begin with lines about the index.
  if (format_ == LineFormat::cdxj && line.starts_with('!')) return;
  ++records_;
  std::string_view problem;
  switch (format_) {
    case LineFormat::cdx:
      problem = take_cdx(line);
      break;
    case LineFormat::cdxj:
      problem = take_cdxj(line);
      break;
    case LineFormat::access_log:
      problem = take_log(line);
      break;
  }
  if (!problem.empty()) sink_.on_damage({offset, std::string(problem)});
}

std::string_view LineAnswers::take_cdx(std::string_view line) {
  if (!header_seen_) return "a CDX line without a header";
  take_until(line, ' ');
  const std::string_view time = take_until(line, ' ');
  const std::string_view url = take_until(line, ' ');
  take_until(line, ' ');
  const std::string_view status = take_until(line, ' ');
  return take_indexed(time, url, status, take_until(line, ' '));
}

// URLKEY TIME {"url": ..., "status": ..., "digest": ...}.
std::string_view LineAnswers::take_cdxj(std::string_view line) {
  take_until(line, ' ');
  const std::string_view time = take_until(line, ' ');
  if (const std::string_view problem = object_.read(line); !problem.empty()) return problem;
  const std::string_view method = object_.text("method");
  if (!method.empty() && !http::is_read_method(method)) {
    sink_.on_other_method();
    return {};
  }
  return take_indexed(time, object_.text("url"), object_.text("status"), object_.text("digest"));
}

std::string_view LineAnswers::take_indexed(std::string_view time_text, std::string_view original,
                                           std::string_view status_text, std::string_view digest) {
  const auto time = parse_digits_time(time_text);
  std::uint64_t status = 0;
  // A revisit has none.
  if (!status_text.empty() && status_text != "-" && !http::parse_decimal(status_text, status)) {
    return "no line of an index";
  }
  if (!time || digest.size() < 8) return "no line of an index";
  const auto url = split_url(original);
  if (!url) return {};  // a DNS record
  url_ = "GET " + url->scheme + "://" + url->authority + url->target;
  Answer answer;
  answer.url = url_;
  answer.time = *time;
  answer.status = static_cast<std::uint16_t>(std::min<std::uint64_t>(status, 999));
  answer.kind = weak_kind_of(status);
  answer.sketch = weak_sketch_of_digest(digest);
  sink_.on_answer(answer);
  return {};
}

std::string_view LineAnswers::take_log(std::string_view line) {
  const auto parsed = parse_log_line(line);
  if (!parsed) return "no line of an access log";
  if (!http::is_read_method(parsed->method)) {
    sink_.on_other_method();
    return {};
  }
  if (!parsed->target.starts_with('/')) return "a target that is no path";
  url_.assign(parsed->method).append(" ").append(origin_).append(parsed->target);
  Answer answer;
  answer.url = url_;
  answer.time = parsed->time;
  answer.status = static_cast<std::uint16_t>(std::min<std::uint64_t>(parsed->status, 999));
  answer.kind = weak_kind_of(parsed->status);
  answer.body_bytes = parsed->size;
  answer.sketch = weak_sketch_of({.status = parsed->status, .body_bytes = parsed->size});
  sink_.on_answer(answer);
  return {};
}

}  // namespace prophecy::measurement
