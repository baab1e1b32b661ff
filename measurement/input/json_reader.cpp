#include "measurement/input/json_reader.hpp"

#include <algorithm>
#include <cctype>

#include "http/text.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kMark = "\xef\xbb\xbf";

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_scalar_byte(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '+' || c == '.' || c == 'E';
}

bool take_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count > 0;
}

bool is_scalar(std::string_view text) {
  if (text == "true" || text == "false" || text == "null") return true;
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.size() > 1 && text[0] == '0' && is_digit(text[1])) return false;
  if (!take_digits(text)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!take_digits(text)) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    if (!take_digits(text)) return false;
  }
  return text.empty();
}

bool is_high_surrogate(std::uint32_t code) {
  return code >= 0xd800 && code < 0xdc00;
}

bool is_low_surrogate(std::uint32_t code) {
  return code >= 0xdc00 && code < 0xe000;
}

}  // namespace

JsonReader::JsonReader(JsonHandler& handler) : handler_(handler) {}

void JsonReader::reset() {
  state_ = State::mark;
  open_.clear();
  surrogate_ = 0;
  mark_bytes_ = 0;
  problem_ = {};
}

void JsonReader::fail(std::string_view problem) {
  if (problem_.empty()) problem_ = problem;
}

void JsonReader::feed(std::string_view bytes) {
  input_ = bytes;
  position_ = 0;
  while (position_ < input_.size() && problem_.empty()) {
    if (state_ == State::text) {
      take_text();
    } else if (state_ == State::scalar) {
      take_scalar();
    } else {
      step(input_[position_++]);
    }
  }
}

void JsonReader::finish() {
  input_ = {};
  position_ = 0;
  if (problem_.empty() && state_ == State::scalar) end_scalar();
  if (state_ != State::done) fail("the JSON text is cut short");
}

void JsonReader::step(char c) {
  if (state_ == State::escape) return take_escape(c);
  if (state_ == State::unicode) return take_unicode(c);
  if (state_ == State::mark) {
    if (c == kMark[static_cast<std::size_t>(mark_bytes_)]) {
      if (++mark_bytes_ == 3) state_ = State::value;
      return;
    }
    if (mark_bytes_ > 0) return fail("no JSON");
    state_ = State::value;
  }
  if (is_space(c)) return;
  switch (state_) {
    case State::value_or_end:
      if (c == ']') return end(false);
      return begin_value(c);
    case State::value:
      return begin_value(c);
    case State::key_or_end:
      if (c == '}') return end(true);
      [[fallthrough]];
    case State::key:
      if (c != '"') return fail("a key is missing in the JSON text");
      return begin_text(true);
    case State::colon:
      if (c != ':') return fail("a colon is missing in the JSON text");
      state_ = State::value;
      return;
    case State::comma_or_end:
      if (c == ',') {
        state_ = open_.back() ? State::key : State::value;
      } else if (c == '}' || c == ']') {
        end(c == '}');
      } else {
        fail("a comma is missing in the JSON text");
      }
      return;
    case State::done:
    default:
      return fail("bytes behind the JSON text");
  }
}

void JsonReader::begin_value(char c) {
  if (c == '{' || c == '[') return begin(c == '{');
  if (c == '"') return begin_text(false);
  if (!is_scalar_byte(c)) return fail("no JSON");
  scalar_.assign(1, c);
  state_ = State::scalar;
}

void JsonReader::begin(bool object) {
  if (open_.size() == kJsonDepthMax) return fail("the JSON text is nested too deeply");
  open_.push_back(object);
  state_ = object ? State::key_or_end : State::value_or_end;
  handler_.on_begin(object);
}

void JsonReader::end(bool object) {
  if (open_.back() != object) return fail("brackets of the JSON text do not match");
  open_.pop_back();
  handler_.on_end(object);
  value_ended();
}

void JsonReader::value_ended() {
  state_ = open_.empty() ? State::done : State::comma_or_end;
}

void JsonReader::begin_text(bool is_key) {
  is_key_ = is_key;
  key_.clear();
  state_ = State::text;
}

void JsonReader::take_text() {
  const std::string_view rest = input_.substr(position_);
  std::size_t size = 0;
  while (size < rest.size() && rest[size] != '"' && rest[size] != '\\' &&
         static_cast<unsigned char>(rest[size]) >= 0x20) {
    ++size;
  }
  if (is_key_ && key_.size() + size > kJsonKeyBytesMax) {
    // At the same byte, however the input is cut.
    position_ += kJsonKeyBytesMax - std::min(key_.size(), kJsonKeyBytesMax) + 1;
    return fail("a key of the JSON text is too long");
  }
  if (size > 0) {
    flush_surrogate();
    add_text(rest.substr(0, size));
  }
  position_ += size;
  if (size == rest.size() || !problem_.empty()) return;
  ++position_;
  switch (rest[size]) {
    case '"':
      return end_text();
    case '\\':
      state_ = State::escape;
      return;
    default:
      return fail("a control character in the JSON text");
  }
}

void JsonReader::add_text(std::string_view piece) {
  if (!is_key_) return handler_.on_text(piece);
  if (key_.size() + piece.size() > kJsonKeyBytesMax)
    return fail("a key of the JSON text is too long");
  key_.append(piece);
}

void JsonReader::end_text() {
  flush_surrogate();
  if (!problem_.empty()) return;
  if (is_key_) {
    state_ = State::colon;
    return handler_.on_key(key_);
  }
  handler_.on_text_end();
  value_ended();
}

void JsonReader::take_escape(char c) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kBytes = "\"\\/\b\f\n\r\t";
  if (c == 'u') {
    code_ = 0;
    digits_ = 0;
    state_ = State::unicode;
    return;
  }
  const std::size_t found = kNames.find(c);
  if (found == std::string_view::npos) return fail("an escape that JSON does not have");
  flush_surrogate();
  state_ = State::text;
  add_text(kBytes.substr(found, 1));
}

void JsonReader::take_unicode(char c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::size_t digit =
      kDigits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  if (digit == std::string_view::npos) return fail("an escape that JSON does not have");
  code_ = code_ << 4 | static_cast<std::uint32_t>(digit);
  if (++digits_ < 4) return;
  state_ = State::text;
  if (surrogate_ != 0 && is_low_surrogate(code_)) {
    const std::uint32_t high = surrogate_;
    surrogate_ = 0;
    return add_code_point(0x10000 + ((high - 0xd800) << 10) + (code_ - 0xdc00));
  }
  flush_surrogate();
  if (is_high_surrogate(code_)) {
    surrogate_ = code_;
    return;
  }
  add_code_point(code_);
}

void JsonReader::flush_surrogate() {
  if (surrogate_ == 0) return;
  const std::uint32_t code = surrogate_;
  surrogate_ = 0;
  add_code_point(code);
}

void JsonReader::add_code_point(std::uint32_t code) {
  std::string bytes;
  const auto tail = [&](unsigned shift) {
    bytes.push_back(static_cast<char>(0x80 | (code >> shift & 0x3f)));
  };
  if (code < 0x80) {
    bytes.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    bytes.push_back(static_cast<char>(0xc0 | code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    bytes.push_back(static_cast<char>(0xe0 | code >> 12));
    tail(6);
    tail(0);
  } else {
    bytes.push_back(static_cast<char>(0xf0 | code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
  add_text(bytes);
}

void JsonReader::take_scalar() {
  const char c = input_[position_];
  if (!is_scalar_byte(c)) return end_scalar();
  ++position_;
  scalar_.push_back(c);
  if (scalar_.size() > kJsonScalarBytesMax) fail("a number of the JSON text is too long");
}

void JsonReader::end_scalar() {
  if (!is_scalar(scalar_)) return fail("no JSON");
  handler_.on_scalar(scalar_);
  value_ended();
}

}  // namespace prophecy::measurement
