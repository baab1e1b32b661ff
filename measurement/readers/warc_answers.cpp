#include "measurement/readers/warc_answers.hpp"

#include <algorithm>
#include <utility>

#include "http/text.hpp"
#include "measurement/analysis/payload_digest.hpp"
#include "measurement/analysis/weak_sketch.hpp"
#include "measurement/input/url.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::size_t kMethodBytesMax = 32;

bool is_http(std::string_view content_type) {
  constexpr std::string_view kType = "application/http";
  return http::equal_ignoring_case(content_type.substr(0, kType.size()), kType);
}

}  // namespace

WarcAnswers::WarcAnswers(const sketch::Profile& profile, KnownPayloads& payloads, AnswerSink& sink)
    : sink_(sink), payloads_(payloads), sketcher_(profile) {}

bool WarcAnswers::on_head(const WarcHead& head) {
  const bool request_of_pending = pending_ && head.type == "request" &&
                                  !head.concurrent_to.empty() && head.concurrent_to == pending_->id;
  if (!request_of_pending) hand_on();
  head_ = head;
  kind_ = Kind::none;
  if (!is_http(head.content_type) && head.type != "revisit") return false;
  if (head.type == "request") {
    kind_ = Kind::request;
    method_.clear();
    return true;
  }
  if (head.type == "response") {
    kind_ = Kind::response;
  } else if (head.type == "revisit") {
    kind_ = Kind::revisit;
  }
  if (kind_ == Kind::none) return false;
  if (!begin_answer()) kind_ = Kind::none;
  return kind_ != Kind::none;
}

bool WarcAnswers::begin_answer() {
  method_ = "GET";
  if (request_ && ((!head_.id.empty() && request_->concurrent_to == head_.id) ||
                   (!request_->id.empty() && request_->id == head_.concurrent_to))) {
    method_ = request_->method;
  }
  request_.reset();
  const auto url = split_url(head_.target_uri);
  if (!url) return false;  // a DNS record, an FTP file
  const auto time = parse_iso_time(head_.date);
  if (!time) {
    reject("WARC-Date is no time");
    return false;
  }
  time_ = *time;
  url_ = url->scheme + "://" + url->authority + url->target;
  const auto digest = parse_digest(head_.payload_digest);
  const bool sha256 = digest && digest->algorithm == DigestAlgorithm::sha256;
  AnswerPart part = method_ == "HEAD" ? AnswerPart::to_head : AnswerPart::whole;
  if (kind_ == Kind::revisit) part = AnswerPart::head;
  sketcher_.begin(part, sha256);
  return true;
}

void WarcAnswers::on_block(std::string_view piece) {
  if (kind_ != Kind::request) return sketcher_.feed(piece);
  if (method_.size() < kMethodBytesMax) {
    method_.append(piece.substr(0, kMethodBytesMax - method_.size()));
  }
}

void WarcAnswers::on_end() {
  switch (std::exchange(kind_, Kind::none)) {
    case Kind::response:
      return end_response();
    case Kind::revisit:
      return end_revisit();
    case Kind::request:
      return end_request();
    case Kind::none:
      return;
  }
}

void WarcAnswers::end_request() {
  method_.resize(std::min(method_.find(' '), method_.size()));
  if (pending_) {
    pending_->method = method_;
    return hand_on();
  }
  request_ = Request{head_.id, head_.concurrent_to, method_};
}

void WarcAnswers::end_response() {
  std::string_view problem = sketcher_.finish();
  if (!head_.truncated.empty()) problem = "the capture has cut this answer (WARC-Truncated)";
  if (!problem.empty()) return reject(std::string(problem));
  if (!digest_holds()) return reject("the payload is not that of WARC-Payload-Digest");
  const auto sketch = sketcher_.sketch(problem);
  if (!sketch) return reject(std::string(problem));
  if (!head_.payload_digest.empty()) payloads_.add(head_.payload_digest, *sketch);
  hold(*sketch);
}

void WarcAnswers::end_revisit() {
  auto known = payloads_.find(head_.payload_digest);
  if (head_.length == 0 && known) return hold(*known);
  AnswerSketch answer;
  std::string_view problem;
  if (head_.length > 0) {
    problem = sketcher_.finish();
    if (!problem.empty()) return reject(std::string(problem));
    const auto sketch = sketcher_.sketch(known ? known->payload : Payload{}, problem);
    if (!sketch) return reject(std::string(problem));
    answer = *sketch;
  }
  // A 304 says nothing that could be sketched, whatever it refers to.
  if (!known && answer.kind != AnswerKind::transient) {
    if (head_.payload_digest.empty()) return reject("a revisit record without a payload digest");
    answer.kind = AnswerKind::weak;
    answer.sketch = weak_sketch_of_digest(head_.payload_digest);
  }
  hold(answer);
}

void WarcAnswers::hold(const AnswerSketch& sketch) {
  pending_.emplace();
  pending_->id = head_.id;
  pending_->offset = head_.offset;
  pending_->method = method_;
  pending_->url = url_;
  pending_->answer.time = time_;
  pending_->answer.kind = sketch.kind;
  pending_->answer.status = sketch.status;
  pending_->answer.body_bytes = sketch.payload.bytes;
  pending_->answer.sketch = sketch.sketch;
  pending_->answer.body_state = sketcher_.body_state();
  pending_->answer.body = sketcher_.body();
  pending_->answer.fields = sketcher_.fields();
  pending_->address = head_.address;
}

void WarcAnswers::hand_on() {
  if (!pending_) return;
  if (!http::is_read_method(pending_->method)) {
    sink_.on_other_method();
  } else {
    key_ = pending_->method;
    key_ += ' ';
    key_ += pending_->url;
    pending_->answer.url = key_;
    pending_->answer.address = pending_->address;
    sink_.on_answer(pending_->answer);
  }
  pending_.reset();
}

void WarcAnswers::reject(std::string problem) {
  sink_.on_damage({head_.offset, std::move(problem)});
}

bool WarcAnswers::digest_holds() const {
  const auto declared = parse_digest(head_.payload_digest);
  if (!declared) return true;
  const auto equals = [&](ByteView digest) {
    return std::equal(digest.begin(), digest.end(), declared->value.begin(), declared->value.end());
  };
  if (declared->algorithm == DigestAlgorithm::sha256) {
    return sketcher_.wire_sha256() && equals(*sketcher_.wire_sha256());
  }
  return equals(sketcher_.wire_sha1()) || equals(sketcher_.payload().digest) ||
         (sketcher_.raw_sha1() && equals(*sketcher_.raw_sha1()));
}

void WarcAnswers::on_damage(Damage damage) {
  // An answer that was whole before stays: in a compressed file it lies in a member of its own.
  if (pending_ && pending_->offset < damage.offset) hand_on();
  pending_.reset();
  request_.reset();
  kind_ = Kind::none;
  sink_.on_damage(std::move(damage));
}

void WarcAnswers::finish() {
  hand_on();
}

}  // namespace prophecy::measurement
