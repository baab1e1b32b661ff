#include "measurement/analysis/answer_sketcher.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/bytes.hpp"
#include "http/text.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::array<std::uint8_t, sketch::kSecretSize> kSecret{};
constexpr std::string_view kGroup = "measurement";
constexpr std::size_t kDecodeStep = 64 << 10;
constexpr std::size_t kFirstLineMax = 16;

// Captures of browsers write the version of HTTP/2 and 3 into the status line.
constexpr std::string_view kHttp1 = "HTTP/1.1 ";
constexpr std::array<std::string_view, 4> kLaterVersions = {"HTTP/2 ", "HTTP/2.0 ", "HTTP/3 ",
                                                            "HTTP/3.0 "};

http::MessageLimits generous_limits() {
  http::MessageLimits limits;
  limits.header_bytes_max = 1 << 20;
  limits.header_count_max = 4096;
  limits.body_bytes_max = std::numeric_limits<std::size_t>::max();
  return limits;
}

}  // namespace

AnswerSketcher::AnswerSketcher(const sketch::Profile& profile, SketchLimits limits)
    : profile_(profile),
      limits_(limits),
      parser_limits_(generous_limits()),
      parser_(response_, parser_limits_),
      canonicalizer_(profile),
      function_(sketch::DigestKind::sha1, kSecret, profile, kGroup) {}

void AnswerSketcher::begin(AnswerPart part, bool sha256) {
  answers_head_ = part == AnswerPart::to_head;
  parser_.reset_in_pieces(part != AnswerPart::whole, limits_.body_bytes_max);
  complete_ = false;
  has_head_ = false;
  first_line_.clear();
  problem_ = {};
  coding_ = Coding::identity;
  decoded_whole_ = false;
  has_body_ = false;
  decoder_.reset();
  wire_sha1_ = {};
  wire_sha256_.reset();
  if (sha256) wire_sha256_.emplace();
  raw_sha1_.reset();
  payload_sha1_ = {};
  payload_ = {};
  part_ = part;
  body_.clear();
  fields_.clear();
}

void AnswerSketcher::feed(std::string_view bytes) {
  bytes.remove_prefix(take(bytes));
  if (!bytes.empty() && problem_.empty()) problem_ = "bytes behind the answer";
}

std::size_t AnswerSketcher::take(std::string_view bytes) {
  const std::size_t size = bytes.size();
  if (!problem_.empty() || complete_) return 0;
  std::string beginning;
  std::string_view rest;
  if (first_line_.size() < kFirstLineMax) {
    const std::size_t missing = kFirstLineMax - first_line_.size();
    first_line_.append(bytes.substr(0, missing));
    bytes.remove_prefix(std::min(missing, bytes.size()));
    if (first_line_.size() < kFirstLineMax) return size;
    beginning = first_line_;
    for (const std::string_view version : kLaterVersions) {
      if (beginning.starts_with(version)) beginning.replace(0, version.size(), kHttp1);
    }
    rest = beginning;
    parse(rest);
  }
  parse(bytes);
  return size - std::min(size, bytes.size() + rest.size());
}

void AnswerSketcher::parse(std::string_view& bytes) {
  while (!bytes.empty() && problem_.empty() && !complete_) {
    const auto progress = parser_.feed(bytes);
    if (has_head_ && raw_sha1_) raw_sha1_->update(as_bytes(bytes.substr(0, progress.consumed)));
    bytes.remove_prefix(progress.consumed);
    if (progress.state == http::ParseState::failed) {
      problem_ = parser_.failure().reason;
      break;
    }
    if (progress.state == http::ParseState::head_done) {
      on_head();
      // A message without a body is complete with the next piece, if only an empty one.
      complete_ = parser_.feed({}).state == http::ParseState::complete;
      continue;
    }
    on_body();
    complete_ = progress.state == http::ParseState::complete;
  }
}

std::string_view AnswerSketcher::finish() {
  if (problem_.empty() && first_line_.size() < kFirstLineMax) problem_ = "no HTTP answer";
  if (problem_.empty() && !complete_) {
    const auto progress = parser_.finish();
    complete_ = progress.state == http::ParseState::complete;
    on_body();
    if (!complete_) problem_ = "the answer is cut short";
  }
  if (problem_.empty() && decoder_ && has_body_ && !decoded_whole_) {
    problem_ = "the content coding is cut short";
  }
  wire_sha1_digest_ = wire_sha1_.finish();
  wire_sha256_digest_.reset();
  if (wire_sha256_) wire_sha256_digest_ = wire_sha256_->finish();
  raw_sha1_digest_.reset();
  if (raw_sha1_) raw_sha1_digest_ = raw_sha1_->finish();
  payload_.digest = decoder_ ? payload_sha1_.finish() : wire_sha1_digest_;
  return problem_;
}

void AnswerSketcher::on_head() {
  has_head_ = true;
  if (response_.fields.find("transfer-encoding")) raw_sha1_.emplace();
  std::string codings;
  for (std::size_t i = 0; i < response_.fields.size(); ++i) {
    if (response_.fields.name(i) != "content-encoding") continue;
    if (!codings.empty()) codings += ',';
    codings.append(response_.fields.value(i));
  }
  coding_ = coding_of(codings);
  decoder_ = make_decoder(coding_);
}

void AnswerSketcher::on_body() {
  if (response_.body.empty()) return;
  const std::string_view body = response_.body;
  has_body_ = true;
  wire_sha1_.update(as_bytes(body));
  if (wire_sha256_) wire_sha256_->update(as_bytes(body));
  if (decoder_) {
    decode(body);
  } else {
    on_decoded(body);
  }
  response_.body.clear();
}

void AnswerSketcher::decode(std::string_view bytes) {
  // Bytes behind the end of a coding are passed over, as browsers do.
  bool full = false;
  while ((!bytes.empty() || full) && !decoded_whole_ && problem_.empty()) {
    decoded_.clear();
    const DecodeProgress progress = decoder_->decode(bytes, decoded_, kDecodeStep);
    bytes.remove_prefix(progress.consumed);
    full = progress.full;
    payload_sha1_.update(as_bytes(decoded_));
    on_decoded(decoded_);
    if (progress.state == DecodeState::failed) problem_ = "the content coding is damaged";
    decoded_whole_ = progress.state == DecodeState::end;
  }
}

void AnswerSketcher::on_decoded(std::string_view bytes) {
  payload_.bytes += bytes.size();
  if (payload_.bytes <= limits_.held_bytes_max) {
    body_.append(bytes);
  } else {
    std::string().swap(body_);
  }
  if (payload_.bytes > limits_.body_bytes_max) problem_ = "the body is larger than the limit";
}

BodyState AnswerSketcher::body_state() const {
  if (part_ == AnswerPart::head) return BodyState::absent;
  return payload_.bytes > limits_.held_bytes_max ? BodyState::too_large : BodyState::held;
}

void AnswerSketcher::write_fields(const sketch::AnswerForm& form) {
  fields_ = "status: " + std::to_string(form.status) + '\n';
  sketch::AnswerFields fields(form);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value))
    fields_.append(name).append(": ").append(value).append("\n");
}

AnswerKind AnswerSketcher::kind_of(const sketch::AnswerForm& form) const {
  if (!sketch::has_sketchable_status(form)) return AnswerKind::transient;
  if (!sketch::is_for_one_request(form, profile_)) return AnswerKind::sketched;
  sketch::AnswerFields fields(form);
  std::string_view name;
  std::string_view value;
  while (fields.next(name, value)) {
    if (name == "set-cookie" && !profile_.remembers_cookies()) return AnswerKind::sets_cookie;
  }
  return AnswerKind::varies;
}

std::optional<AnswerSketch> AnswerSketcher::sketch(std::string_view& problem) {
  return sketch(payload_, problem);
}

std::optional<AnswerSketch> AnswerSketcher::sketch(const Payload& payload,
                                                   std::string_view& problem) {
  http::Response answer;
  answer.status = response_.status;
  for (std::size_t i = 0; i < response_.fields.size(); ++i) {
    const std::string_view name = response_.fields.name(i);
    if (decoder_ && name == "content-encoding") continue;
    answer.fields.add(name, response_.fields.value(i));
  }
  answer.body.assign(as_text(payload.digest));
  sketch::AnswerForm form;
  if (canonicalizer_.canonicalize(answer, answers_head_, form) != sketch::AnswerFault::none) {
    problem = "the answer has no canonical form";
    return std::nullopt;
  }
  write_fields(form);
  return AnswerSketch{kind_of(form), form.status, function_.of(form), payload};
}

}  // namespace prophecy::measurement
