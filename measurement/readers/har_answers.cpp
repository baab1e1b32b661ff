#include "measurement/readers/har_answers.hpp"

#include <algorithm>
#include <utility>

#include "http/message.hpp"
#include "http/text.hpp"
#include "measurement/analysis/weak_sketch.hpp"
#include "measurement/input/base64.hpp"
#include "measurement/input/url.hpp"

namespace prophecy::measurement {
namespace {

// A value that is no body.
constexpr std::size_t kValueBytesMax = 1 << 20;
constexpr std::size_t kFieldsMax = 4096;

// Fields that the bodies of a HAR have left behind, and those that HTTP/2 has in place of a status
// line.
bool is_left_out(std::string_view name) {
  return name.empty() || name.front() == ':' || http::equal_ignoring_case(name, "content-length") ||
         http::equal_ignoring_case(name, "content-encoding") ||
         http::equal_ignoring_case(name, "transfer-encoding");
}

bool has_no_body(std::uint64_t status) {
  return status < 200 || status == 204 || status == 304;
}

}  // namespace

HarAnswers::HarAnswers(const sketch::Profile& profile, AnswerSink& sink, std::size_t text_bytes_max)
    : sink_(sink), sketcher_(profile), text_bytes_max_(text_bytes_max), json_(*this) {}

void HarAnswers::on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) {
  if (stopped_) return;
  piece_offset_ = offset;
  piece_moves_ = moves;
  end_offset_ = offset + (moves ? bytes.size() : 0);
  json_.feed(bytes);
  if (!json_.problem().empty()) {
    stop({offset + (moves ? json_.taken() : 0),
          std::string(json_.problem()) + "; what follows it is not read"});
  }
}

void HarAnswers::on_gap(Damage damage) {
  if (stopped_) return;
  damage.problem += "; what follows it is not read";
  stop(std::move(damage));
}

void HarAnswers::stop(Damage damage) {
  stopped_ = true;
  sink_.on_damage(std::move(damage));
}

void HarAnswers::finish() {
  if (stopped_) return;
  json_.finish();
  if (!json_.problem().empty()) return stop({end_offset_, std::string(json_.problem())});
  if (!has_entries_) stop({0, "a HAR without log.entries"});
}

HarAnswers::Place HarAnswers::place_of_child(bool object) const {
  if (places_.empty()) return object ? Place::root : Place::other;
  switch (places_.back()) {
    case Place::root:
      return key_ == "log" && object ? Place::log : Place::other;
    case Place::log:
      return key_ == "entries" && !object ? Place::entries : Place::other;
    case Place::entries:
      return object ? Place::entry : Place::other;
    case Place::entry:
      if (key_ == "request" && object) return Place::request;
      return key_ == "response" && object ? Place::response : Place::other;
    case Place::response:
      if (key_ == "headers" && !object) return Place::fields;
      return key_ == "content" && object ? Place::content : Place::other;
    case Place::fields:
      return object ? Place::field : Place::other;
    default:
      return Place::other;
  }
}

void HarAnswers::on_begin(bool object) {
  const Place place = place_of_child(object);
  places_.push_back(place);
  value_ = nullptr;
  if (place == Place::entries) has_entries_ = true;
  if (place == Place::response) entry_.has_response = true;
  if (place == Place::field && entry_.fields.size() <= kFieldsMax) entry_.fields.emplace_back();
  if (place == Place::entry) {
    std::string text = std::move(entry_.text);
    text.clear();
    entry_ = {};
    entry_.text = std::move(text);
    entry_.offset = piece_offset_ + (piece_moves_ ? json_.taken() - 1 : 0);
  }
}

void HarAnswers::on_end(bool /*object*/) {
  const Place place = places_.back();
  places_.pop_back();
  if (place == Place::entry) end_entry();
}

void HarAnswers::on_key(std::string_view key) {
  key_.assign(key);
  value_ = value_of(key);
  if (value_ == nullptr) return;
  // The last one of several members with one name counts.
  value_->clear();
  if (value_ == &entry_.text) entry_.text_too_large = false;
}

std::string* HarAnswers::value_of(std::string_view key) {
  switch (places_.back()) {
    case Place::entry:
      return entry_value_of(key);
    case Place::request:
      if (key == "method") return &entry_.method;
      return key == "url" ? &entry_.url : nullptr;
    case Place::response:
      return key == "status" ? &entry_.status : nullptr;
    case Place::field:
      if (key == "name") return &entry_.fields.back().name;
      return key == "value" ? &entry_.fields.back().value : nullptr;
    case Place::content:
      if (key == "size") return &entry_.size;
      if (key == "encoding") return &entry_.encoding;
      return key == "text" ? &entry_.text : nullptr;
    default:
      return nullptr;
  }
}

std::string* HarAnswers::entry_value_of(std::string_view key) {
  if (key == "startedDateTime") return &entry_.time;
  if (key == "serverIPAddress") return &entry_.address;
  return key == "_fromCache" ? &entry_.from_cache : nullptr;
}

void HarAnswers::on_text(std::string_view piece) {
  if (value_ == nullptr) return;
  const bool is_body = value_ == &entry_.text;
  const std::size_t room = (is_body ? text_bytes_max_ : kValueBytesMax) - value_->size();
  if (is_body && piece.size() > room) entry_.text_too_large = true;
  value_->append(piece.substr(0, room));
}

void HarAnswers::on_text_end() {
  if (value_ == &entry_.text) entry_.has_text = true;
  value_ = nullptr;
}

void HarAnswers::on_scalar(std::string_view text) {
  if (value_ != nullptr && value_ != &entry_.text && text != "null") value_->assign(text);
  value_ = nullptr;
}

std::string_view HarAnswers::field(std::string_view name) const {
  for (const Field& each : entry_.fields) {
    if (http::equal_ignoring_case(each.name, name)) return each.value;
  }
  return {};
}

void HarAnswers::end_entry() {
  ++records_;
  std::uint64_t status = 0;
  // Chrome writes 0 where no answer came.
  if (!entry_.has_response || !http::parse_decimal(entry_.status, status) || status == 0) return;
  if (!entry_.from_cache.empty()) return;
  const auto url = split_url(entry_.url);
  if (!url) return;  // data:, blob:, chrome-extension:
  if (!http::is_read_method(entry_.method)) return sink_.on_other_method();
  const auto time = parse_iso_time(entry_.time);
  if (!time) return sink_.on_damage({entry_.offset, "startedDateTime is no time"});
  if (status > 999) return sink_.on_damage({entry_.offset, "a status that is none"});
  url_ = entry_.method + ' ' + url->scheme + "://" + url->authority + url->target;
  Answer answer;
  answer.url = url_;
  answer.time = *time;
  answer.status = static_cast<std::uint16_t>(status);
  answer.address = entry_.address;
  const std::string_view problem = sketch(answer, status);
  if (!problem.empty()) return sink_.on_damage({entry_.offset, std::string(problem)});
  sink_.on_answer(answer);
}

std::string_view HarAnswers::sketch(Answer& answer, std::uint64_t status) {
  std::uint64_t size = 0;
  const bool sized = http::parse_decimal(entry_.size, size);
  const bool to_head = entry_.method == "HEAD";
  const bool no_body = to_head || has_no_body(status);
  const bool is_missing = !entry_.has_text && (!sized || size > 0);
  if (!no_body && (is_missing || entry_.text_too_large)) {
    hand_on_weak(answer, status);
    answer.body_bytes = size;
    return {};
  }
  body_.clear();
  if (!no_body) {
    if (const std::string_view problem = take_body(); !problem.empty()) return problem;
  }
  write_head(status, !no_body);
  sketcher_.begin(to_head ? AnswerPart::to_head : AnswerPart::whole);
  sketcher_.feed(head_);
  if (!body_.empty()) sketcher_.feed(body_);
  if (const std::string_view problem = sketcher_.finish(); !problem.empty()) return problem;
  std::string_view problem;
  const auto made = sketcher_.sketch(problem);
  if (!made) return problem;
  answer.kind = made->kind;
  answer.sketch = made->sketch;
  answer.body_bytes = made->payload.bytes;
  answer.body_state = sketcher_.body_state();
  answer.body = sketcher_.body();
  answer.fields = sketcher_.fields();
  return {};
}

void HarAnswers::hand_on_weak(Answer& answer, std::uint64_t status) {
  std::uint64_t size = 0;
  static_cast<void>(http::parse_decimal(entry_.size, size));
  answer.kind = weak_kind_of(status);
  answer.sketch = weak_sketch_of({.status = status,
                                  .body_bytes = size,
                                  .etag = field("etag"),
                                  .last_modified = field("last-modified")});
}

std::string_view HarAnswers::take_body() {
  if (entry_.encoding.empty()) {
    // Taken, not copied; the entry gets the memory back.
    std::swap(body_, entry_.text);
    return {};
  }
  if (entry_.encoding != "base64") return "a body in an encoding that is not base64";
  Base64Decoder decoder;
  body_.reserve(entry_.text.size() / 4 * 3);
  if (!decoder.decode(entry_.text, body_) || !decoder.finish()) return "a body that is not base64";
  return {};
}

void HarAnswers::write_head(std::uint64_t status, bool has_body) {
  head_ = "HTTP/1.1 " + std::to_string(status) + " \r\n";
  for (const Field& each : entry_.fields) {
    if (is_left_out(each.name)) continue;
    // Chrome puts fields of one name into one value, a line each.
    std::string_view rest = each.value;
    for (bool more = true; more;) {
      const std::size_t end = rest.find('\n');
      std::string_view line = rest.substr(0, end);
      more = end != std::string_view::npos;
      rest.remove_prefix(more ? end + 1 : rest.size());
      head_.append(each.name).append(": ").append(http::trim(line)).append("\r\n");
    }
  }
  if (has_body) head_ += "Content-Length: " + std::to_string(body_.size()) + "\r\n";
  head_ += "\r\n";
}

}  // namespace prophecy::measurement
