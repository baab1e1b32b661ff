#include "measurement/readers/sketch_log.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/bytes.hpp"
#include "base/json_text.hpp"
#include "http/text.hpp"
#include "measurement/input/base64.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kLogBeginning = "{\"prophecy_sketch_log\":";
constexpr std::array<std::string_view, kAnswerKinds> kKinds = {
    "sketched", "transient", "sets_cookie", "varies", "weak", "weak_transient", "for_one_client"};

void append_number(std::int64_t number, std::string& out) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec == std::errc{} && result.ptr == text.data() + text.size();
}

}  // namespace

std::string sketch_log_header(const sketch::Profile& profile) {
  std::string text(kLogBeginning);
  return text.append("1,\"form\":\"").append(to_hex(profile.id())).append("\"}\n");
}

void append_sketch_line(const Answer& answer, std::string& out) {
  out.append("{\"t\":");
  append_number(answer.time, out);
  out.append(",\"u\":\"");
  append_json_text(answer.url, out);
  out.append("\",\"c\":");
  append_number(answer.status, out);
  out.append(",\"n\":");
  append_number(static_cast<std::int64_t>(answer.body_bytes), out);
  out.append(",\"s\":\"");
  append_base64(as_text(answer.sketch), out);
  out.push_back('"');
  if (answer.kind != AnswerKind::sketched) {
    out.append(",\"k\":\"").append(kKinds[static_cast<std::size_t>(answer.kind)]).append("\"");
  }
  if (!answer.address.empty()) {
    out.append(",\"a\":\"");
    append_json_text(answer.address, out);
    out.push_back('"');
  }
  out.append("}\n");
}

bool begins_like_sketch_log(std::string_view beginning) {
  return beginning.starts_with(kLogBeginning);
}

SketchLogAnswers::SketchLogAnswers(const sketch::Profile& profile, AnswerSink& sink)
    : sink_(sink), header_(sketch_log_header(profile)) {
  header_.pop_back();
}

void SketchLogAnswers::on_line(std::string_view line, std::uint64_t offset) {
  if (begins_like_sketch_log(line)) {
    is_ours_ = line == header_;
    if (!is_ours_) sink_.on_damage({offset, "sketches of another canonical form, or version"});
    return;
  }
  ++records_;
  if (!is_ours_) return;
  const std::string_view problem = take(line);
  if (!problem.empty()) sink_.on_damage({offset, std::string(problem)});
}

std::string_view SketchLogAnswers::take(std::string_view line) {
  if (const std::string_view problem = object_.read(line); !problem.empty()) return problem;
  Answer answer;
  answer.url = object_.text("u");
  answer.address = object_.text("a");
  const std::size_t space = answer.url.find(' ');
  if (space == std::string_view::npos || answer.url.find("://", space) == std::string_view::npos) {
    return "a line whose URL is none";
  }
  if (!parse_number(object_.text("t"), answer.time)) return "a line without a time";
  if (!parse_number(object_.text("c"), answer.status) ||
      !parse_number(object_.text("n"), answer.body_bytes)) {
    return "a line without status or size";
  }
  sketch_.clear();
  Base64Decoder decoder;
  if (!decoder.decode(object_.text("s"), sketch_) || !decoder.finish() ||
      sketch_.size() != answer.sketch.size()) {
    return "a line whose sketch is none";
  }
  std::copy(sketch_.begin(), sketch_.end(), answer.sketch.begin());
  if (const std::string_view kind = object_.text("k"); !kind.empty()) {
    const auto found = std::find(kKinds.begin(), kKinds.end(), kind);
    if (found == kKinds.end()) return "a line of a kind that is not known";
    answer.kind = static_cast<AnswerKind>(found - kKinds.begin());
  }
  sink_.on_answer(answer);
  return {};
}

}  // namespace prophecy::measurement
