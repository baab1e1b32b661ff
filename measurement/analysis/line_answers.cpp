#include "measurement/analysis/line_answers.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "canonical/answer_form.hpp"
#include "http/message.hpp"
#include "http/text.hpp"
#include "measurement/input/url.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kCdxHeader = " CDX ";
constexpr std::size_t kLineBytesMax = 64 << 10;

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

struct LogLine {
  std::string_view method;
  std::string_view target;
  Microseconds time = 0;
  std::uint64_t status = 0;
  std::uint64_t size = 0;
};

// HOST IDENT USER [TIME] "METHOD TARGET VERSION" STATUS SIZE, and what follows.
std::optional<LogLine> parse_log_line(std::string_view line) {
  LogLine parsed;
  take_until(line, '[');
  const auto time = parse_log_time(take_until(line, ']'));
  if (!time || !line.starts_with(" \"")) return std::nullopt;
  parsed.time = *time;
  line.remove_prefix(2);
  std::string_view request = take_until(line, '"');
  parsed.method = take_until(request, ' ');
  parsed.target = take_until(request, ' ');
  if (!http::is_token(parsed.method) || !request.starts_with("HTTP/")) return std::nullopt;
  if (!line.starts_with(' ')) return std::nullopt;
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

bool begins_like_log(std::string_view beginning) {
  const std::size_t end = beginning.find('\n');
  return end != std::string_view::npos && parse_log_line(beginning.substr(0, end));
}

LineAnswers::LineAnswers(LineFormat format, std::string origin, AnswerSink& sink)
    : format_(format), origin_(std::move(origin)), sink_(sink) {}

void LineAnswers::on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) {
  const std::string_view all = bytes;
  while (!bytes.empty()) {
    const auto taken = static_cast<std::uint64_t>(bytes.data() - all.data());
    if (line_.empty() && !skipping_) line_offset_ = offset + (moves ? taken : 0);
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (!skipping_ && line_.size() + piece.size() > kLineBytesMax) {
      sink_.on_damage({line_offset_, "a line has more than 64 KiB"});
      line_.clear();
      skipping_ = true;
    }
    if (!skipping_) line_.append(piece);
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    if (!skipping_) on_line();
    line_.clear();
    skipping_ = false;
  }
}

void LineAnswers::on_gap(Damage damage) {
  sink_.on_damage(std::move(damage));
  line_.clear();
  skipping_ = true;
}

void LineAnswers::finish() {
  // A line without an end may be cut anywhere, in the middle of its size too.
  if (!line_.empty()) sink_.on_damage({line_offset_, "the last line has no end"});
  line_.clear();
}

void LineAnswers::on_line() {
  std::string_view line = line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return;
  if (format_ == LineFormat::cdx && line.starts_with(kCdxHeader)) {
    // N urlkey, b time, a URL, m type, s status, k digest.
    const bool known = line.starts_with(" CDX N b a m s k ");
    if (!known) sink_.on_damage({line_offset_, "CDX fields in an order that is not known"});
    header_seen_ = known;
    return;
  }
  ++records_;
  const std::string_view problem = format_ == LineFormat::cdx ? take_cdx(line) : take_log(line);
  if (!problem.empty()) sink_.on_damage({line_offset_, std::string(problem)});
}

std::string_view LineAnswers::take_cdx(std::string_view line) {
  if (!header_seen_) return "a CDX line without a header";
  take_until(line, ' ');
  const auto time = parse_digits_time(take_until(line, ' '));
  const std::string_view original = take_until(line, ' ');
  take_until(line, ' ');
  const std::string_view status_text = take_until(line, ' ');
  const std::string_view digest = take_until(line, ' ');
  std::uint64_t status = 0;
  // A revisit's status is "-".
  if (status_text != "-" && !http::parse_decimal(status_text, status)) return "no CDX line";
  if (!time || digest.size() < 8) return "no CDX line";
  const auto url = split_url(original);
  if (!url) return {};  // a DNS record
  url_ = "GET " + url->scheme + "://" + url->authority + url->target;
  hand_on(url_, *time, status, 0, digest);
  return {};
}

std::string_view LineAnswers::take_log(std::string_view line) {
  const auto parsed = parse_log_line(line);
  if (!parsed) return "no line of an access log in the combined format";
  if (!http::is_read_method(parsed->method)) {
    sink_.on_other_method();
    return {};
  }
  if (!parsed->target.starts_with('/')) return "a target that is no path";
  url_.assign(parsed->method).append(" ").append(origin_).append(parsed->target);
  const std::string sketched = std::to_string(parsed->status) + ' ' + std::to_string(parsed->size);
  hand_on(url_, parsed->time, parsed->status, parsed->size, sketched);
  return {};
}

void LineAnswers::hand_on(std::string_view url, Microseconds time, std::uint64_t status,
                          std::uint64_t size, std::string_view sketched) {
  Answer answer;
  answer.url = url;
  answer.time = time;
  answer.status = static_cast<std::uint16_t>(std::min<std::uint64_t>(status, 999));
  answer.body_bytes = size;
  sketch::AnswerForm form;
  form.status = answer.status;
  answer.kind = sketch::has_sketchable_status(form) ? AnswerKind::weak : AnswerKind::weak_transient;
  Sha1 hash;
  hash.update(as_bytes(sketched));
  answer.sketch = hash.finish();
  sink_.on_answer(answer);
}

}  // namespace prophecy::measurement
