#include "measurement/input/warc_reader.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "http/text.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kVersion = "WARC/1.";
constexpr std::string_view kLineAndVersion = "\nWARC/1.";
constexpr std::string_view kTail = "\r\n\r\n";
constexpr std::size_t kHeadBytesMax = 64 << 10;

std::string_view without_brackets(std::string_view value) {
  if (value.size() >= 2 && value.front() == '<' && value.back() == '>') {
    return value.substr(1, value.size() - 2);
  }
  return value;
}

// Takes a line with its end off the text; false at its end.
bool next_line(std::string_view& text, std::string_view& line) {
  if (text.empty()) return false;
  const std::size_t end = std::min(text.find('\n'), text.size());
  line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

// Empty, or what is wrong with it.
std::string_view parse_head(std::string_view text, WarcHead& head) {
  std::string_view line;
  bool has_length = false;
  if (!next_line(text, line) || !line.starts_with(kVersion)) return "no WARC/1 record";
  while (next_line(text, line)) {
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      if (line.front() == ' ' || line.front() == '\t') continue;  // folded: none that matters is
      return "a record's head has a line without a colon";
    }
    const std::string_view name = http::trim(line.substr(0, colon));
    const std::string_view value = http::trim(line.substr(colon + 1));
    if (http::equal_ignoring_case(name, "Content-Length")) {
      if (has_length || !http::parse_decimal(value, head.length)) {
        return "a record's Content-Length is no number, or there are two";
      }
      has_length = true;
      continue;
    }
    for (const auto& [known, into] : {std::pair{"WARC-Type", &head.type},
                                      {"WARC-Record-ID", &head.id},
                                      {"WARC-Concurrent-To", &head.concurrent_to},
                                      {"WARC-Target-URI", &head.target_uri},
                                      {"WARC-Date", &head.date},
                                      {"Content-Type", &head.content_type},
                                      {"WARC-Payload-Digest", &head.payload_digest},
                                      {"WARC-Profile", &head.profile},
                                      {"WARC-Truncated", &head.truncated},
                                      {"WARC-IP-Address", &head.address}}) {
      if (http::equal_ignoring_case(name, known)) into->assign(without_brackets(value));
    }
  }
  return has_length ? "" : "a record has no Content-Length";
}

}  // namespace

WarcReader::WarcReader(WarcHandler& handler) : handler_(handler) {}

void WarcReader::on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) {
  piece_offset_ = offset;
  piece_moves_ = moves;
  if (!moves && offset != member_) {
    member_ = offset;
    member_unsettled_ = state_ == State::head || state_ == State::block || state_ == State::tail;
  }
  if (!member_unsettled_) return take(bytes);
  member_text_.append(bytes);
  if (settle_member()) take(std::exchange(member_text_, {}));
}

bool WarcReader::settle_member() {
  const std::size_t size = std::min(member_text_.size(), kVersion.size());
  const bool alike = member_text_.compare(0, size, kVersion, 0, size) == 0;
  if (alike && size < kVersion.size()) return false;
  member_unsettled_ = false;
  // Compressors that know nothing of records may begin a member inside one.
  if (alike && state_ == State::tail) {
    // Nothing is missing but empty lines.
    if (wanted_) handler_.on_end();
    state_ = State::between;
  } else if (alike) {
    fail("a record's length is wrong: its gzip member ends before");
    state_ = State::between;
  }
  return true;
}

void WarcReader::take(std::string_view bytes) {
  piece_ = bytes;
  while (!bytes.empty()) {
    switch (state_) {
      case State::between:
        pass_line_ends(bytes);
        break;
      case State::head:
        take_head(bytes);
        break;
      case State::block:
        take_block(bytes);
        break;
      case State::tail:
        take_tail(bytes);
        break;
      case State::searching:
        search(bytes);
        break;
    }
  }
}

void WarcReader::on_gap(Damage damage) {
  member_unsettled_ = false;
  member_text_.clear();
  handler_.on_damage(std::move(damage));
  start_search();
}

void WarcReader::finish() {
  if (member_unsettled_) take(std::exchange(member_text_, {}));
  member_unsettled_ = false;
  if (state_ == State::head || state_ == State::block) {
    fail("the file ends inside a record");
  } else if (state_ == State::tail && wanted_) {
    // Nothing is missing but the empty lines behind the last record.
    handler_.on_end();
  }
  state_ = State::between;
}

void WarcReader::start_search() {
  state_ = State::searching;
  // The next byte may be the first of a record.
  text_ = "\n";
}

std::uint64_t WarcReader::offset_of(std::string_view input) const {
  const auto taken = static_cast<std::uint64_t>(input.data() - piece_.data());
  return piece_offset_ + (piece_moves_ ? taken : 0);
}

void WarcReader::fail(std::string problem) {
  handler_.on_damage({head_.offset, std::move(problem)});
  start_search();
}

void WarcReader::pass_line_ends(std::string_view& input) {
  const std::size_t begin = std::min(input.find_first_not_of("\r\n"), input.size());
  input.remove_prefix(begin);
  if (input.empty()) return;
  head_.clear();
  head_.offset = offset_of(input);
  text_.clear();
  state_ = State::head;
}

void WarcReader::take_head(std::string_view& input) {
  const std::size_t before = text_.size();
  const std::size_t room = kHeadBytesMax + 1 - before;
  std::string_view part = input.substr(0, room);
  if (before == 0) {
    // What follows the head may be large, and is not copied.
    const std::size_t tail = part.find(kTail);
    if (tail != std::string_view::npos) part = part.substr(0, tail + kTail.size());
  }
  text_.append(part);
  // The end may have begun in the last piece.
  const std::size_t from = before < 3 ? 0 : before - 3;
  std::size_t end = text_.find(kTail, from);
  const auto differs =
      std::mismatch(kVersion.begin(), kVersion.end(), text_.begin(), text_.end()).first;
  const auto common = static_cast<std::size_t>(differs - kVersion.begin());
  if (common < std::min(text_.size(), kVersion.size())) {
    input.remove_prefix(common + 1 - before);
    return fail("bytes that are no WARC/1 record, or the record before has a wrong length");
  }
  if (end == std::string::npos) {
    if (text_.size() > kHeadBytesMax) {
      input.remove_prefix(std::min(input.size(), room));
      return fail("a record's head has more than 64 KiB");
    }
    input = {};
    return;
  }
  end += kTail.size();
  input.remove_prefix(end - before);
  text_.resize(end);
  const std::string_view problem = parse_head(text_, head_);
  if (!problem.empty()) return fail(std::string(problem));
  begin_record();
}

void WarcReader::begin_record() {
  ++records_;
  wanted_ = handler_.on_head(head_);
  remaining_ = head_.length;
  tail_ = 0;
  state_ = remaining_ > 0 ? State::block : State::tail;
}

void WarcReader::take_block(std::string_view& input) {
  const std::size_t size = std::min<std::uint64_t>(remaining_, input.size());
  if (wanted_) handler_.on_block(input.substr(0, size));
  input.remove_prefix(size);
  remaining_ -= size;
  if (remaining_ == 0) state_ = State::tail;
}

void WarcReader::take_tail(std::string_view& input) {
  while (tail_ < kTail.size() && !input.empty()) {
    if (input.front() != kTail[tail_]) {
      return fail("a record's length is wrong: its block is not followed by two line ends");
    }
    input.remove_prefix(1);
    ++tail_;
  }
  if (tail_ < kTail.size()) return;
  if (wanted_) handler_.on_end();
  state_ = State::between;
}

void WarcReader::search(std::string_view& input) {
  // text_ ends with what came before, in which a record may have begun.
  std::string joined = text_;
  joined.append(input);
  const std::size_t found = joined.find(kLineAndVersion);
  if (found == std::string::npos) {
    const std::size_t kept = std::min(joined.size(), kLineAndVersion.size() - 1);
    text_ = joined.substr(joined.size() - kept);
    input = {};
    return;
  }
  const std::size_t begin = found + 1;
  const std::size_t carried = text_.size() - std::min(begin, text_.size());
  text_ = text_.substr(text_.size() - carried);
  input.remove_prefix(carried > 0 ? 0 : begin - (joined.size() - input.size()));
  head_.clear();
  head_.offset = offset_of(input) - (piece_moves_ ? carried : 0);
  state_ = State::head;
}

}  // namespace prophecy::measurement
