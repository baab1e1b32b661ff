#include <algorithm>

#include "base/assert.hpp"
#include "http/framing.hpp"
#include "http/head_parser.hpp"
#include "http/parser.hpp"
#include "http/request_rules.hpp"

namespace prophecy::http {
namespace {

// Empty lines in front of a request line that are forgiven (RFC 9112, 2.2).
constexpr std::size_t kLeadingEmptyLinesMax = 4;

}  // namespace

struct RequestParser::Impl {
  enum class State : std::uint8_t { empty_lines, after_cr, head, body, complete, failed };

  Impl(Request& into, const MessageLimits& message_limits)
      : request(into),
        limits(message_limits),
        head({&into.method, &into.target, &into.fields}, message_limits) {
    reset();
  }

  void reset() {
    request.clear();
    head.start();
    failure = {};
    state = State::empty_lines;
    empty_lines = 0;
    has_body = expects_continue = false;
  }

  ParseProgress feed(std::string_view input);
  std::size_t skip_empty_lines(std::string_view input);
  ParseProgress feed_head(std::string_view input);
  ParseState on_head();
  ParseProgress feed_body(std::string_view input);
  ParseState fail(const ParseFailure& why) {
    failure = why;
    state = State::failed;
    return ParseState::failed;
  }

  Request& request;
  const MessageLimits& limits;
  HeadParser head;
  BodyDecoder body;
  ParseFailure failure;
  State state = State::empty_lines;
  std::size_t empty_lines = 0;
  bool has_body = false;
  bool expects_continue = false;
};

ParseProgress RequestParser::Impl::feed(std::string_view input) {
  std::size_t skipped = 0;
  switch (state) {
    case State::empty_lines:
    case State::after_cr:
      skipped = skip_empty_lines(input);
      if (state == State::failed) return {ParseState::failed, skipped};
      if (state != State::head) return {ParseState::need_more, skipped};
      input.remove_prefix(skipped);
      [[fallthrough]];
    case State::head: {
      ParseProgress progress = feed_head(input);
      progress.consumed += skipped;
      return progress;
    }
    case State::body:
      return feed_body(input);
    case State::failed:
      return {ParseState::failed, 0};
    case State::complete:
      break;
  }
  UNREACHABLE();  // reset() comes first
}

std::size_t RequestParser::Impl::skip_empty_lines(std::string_view input) {
  std::size_t skipped = 0;
  for (; skipped < input.size(); ++skipped) {
    const char c = input[skipped];
    if (state == State::after_cr) {
      if (c != '\n') {
        fail({400, "bare CR before the request line"});
        return skipped;
      }
      state = State::empty_lines;
    } else if (c == '\r') {
      if (++empty_lines > kLeadingEmptyLinesMax) {
        fail({400, "too many empty lines before the request line"});
        return skipped;
      }
      state = State::after_cr;
    } else if (c == '\n') {
      fail({400, "bare LF before the request line"});
      return skipped;
    } else {
      state = State::head;
      return skipped;
    }
  }
  return skipped;
}

ParseProgress RequestParser::Impl::feed_head(std::string_view input) {
  ParseProgress progress = head.feed(input);
  if (progress.state == ParseState::failed) fail(head.failure());
  if (progress.state == ParseState::head_done) progress.state = on_head();
  return progress;
}

ParseState RequestParser::Impl::on_head() {
  request.version_minor = head.version_minor();
  if (const ParseFailure wrong = check_request(request); !wrong.reason.empty()) return fail(wrong);
  const Framing framing = framing_of(request.fields, request.version_minor, BodyFraming::none);
  if (!framing.failure.reason.empty()) return fail(framing.failure);
  if (framing.length > limits.body_bytes_max) return fail({413, "body too large"});
  request.keep_alive = asks_to_keep_alive(request.fields, request.version_minor);
  // HTTP/1.0 knows no interim answers; and who sends no body waits for nothing.
  has_body = framing.kind == BodyFraming::chunked || framing.length > 0;
  expects_continue = has_body && request.version_minor >= 1 && request.fields.count("expect") > 0;
  request.body.reserve(static_cast<std::size_t>(std::min(framing.length, kBodyReserveMax)));
  body.start(framing.kind, framing.length, limits.body_bytes_max);
  state = State::body;
  return ParseState::head_done;
}

ParseProgress RequestParser::Impl::feed_body(std::string_view input) {
  const ParseProgress progress = body.feed(input, request.body);
  if (progress.state == ParseState::complete) state = State::complete;
  if (progress.state == ParseState::failed) fail(body.failure());
  return progress;
}

RequestParser::RequestParser(Request& into, const MessageLimits& limits)
    : impl_(std::make_unique<Impl>(into, limits)) {}
RequestParser::~RequestParser() = default;
RequestParser::RequestParser(RequestParser&&) noexcept = default;

void RequestParser::reset() {
  impl_->reset();
}
ParseProgress RequestParser::feed(std::string_view input) {
  return impl_->feed(input);
}
const ParseFailure& RequestParser::failure() const {
  return impl_->failure;
}
bool RequestParser::has_body() const {
  return impl_->has_body;
}
bool RequestParser::expects_continue() const {
  return impl_->expects_continue;
}
std::uint64_t RequestParser::plain_bytes_left() const {
  return impl_->body.plain_bytes_left();
}
bool RequestParser::idle() const {
  return impl_->state == Impl::State::empty_lines;
}

}  // namespace prophecy::http
