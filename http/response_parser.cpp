#include <algorithm>

#include "base/assert.hpp"
#include "http/framing.hpp"
#include "http/head_parser.hpp"
#include "http/parser.hpp"

namespace prophecy::http {
namespace {

// Interim answers in front of a final one. Origins send at most one or two.
constexpr std::size_t kInterimAnswersMax = 8;
constexpr std::uint16_t kBadGateway = 502;

bool is_interim(std::uint16_t status) {
  return status >= 100 && status < 200;
}
bool is_without_body(std::uint16_t status) {
  return status == 204 || status == 304;
}

}  // namespace

struct ResponseParser::Impl {
  enum class State : std::uint8_t { head, body, complete, failed };

  Impl(Response& into, const MessageLimits& message_limits)
      : response(into),
        limits(message_limits),
        head({nullptr, nullptr, &into.fields}, message_limits) {
    reset(false, false);
  }

  void reset(bool to_head, bool to_switch) {
    response.clear();
    head.start();
    failure = {};
    state = State::head;
    interim_answers = 0;
    answers_head = to_head;
    may_switch = to_switch;
    declared_bytes_max = undeclared_bytes_max = limits.body_bytes_max;
  }

  ParseProgress feed(std::string_view input);
  ParseProgress feed_head(std::string_view input);
  ParseState on_final_head();
  ParseState on_switch();
  ParseProgress finish();
  ParseState fail(std::string_view reason) {
    failure = {kBadGateway, reason};
    state = State::failed;
    return ParseState::failed;
  }

  Response& response;
  const MessageLimits& limits;
  HeadParser head;
  BodyDecoder body;
  ParseFailure failure;
  State state = State::head;
  std::size_t interim_answers = 0;
  bool answers_head = false;
  bool may_switch = false;
  // Of the body.
  std::uint64_t declared_bytes_max = 0;
  std::size_t undeclared_bytes_max = 0;
};

ParseProgress ResponseParser::Impl::feed(std::string_view input) {
  switch (state) {
    case State::head:
      return feed_head(input);
    case State::body: {
      const ParseProgress progress = body.feed(input, response.body);
      if (progress.state == ParseState::complete) state = State::complete;
      if (progress.state == ParseState::failed) {
        fail(body.failure().reason);
        failure.body_too_large = body.failure().status == 413;
      }
      return progress;
    }
    case State::failed:
      return {ParseState::failed, 0};
    case State::complete:
      break;
  }
  UNREACHABLE();  // reset() comes first
}

ParseProgress ResponseParser::Impl::feed_head(std::string_view input) {
  std::size_t consumed = 0;
  for (;;) {
    const ParseProgress progress = head.feed(input.substr(consumed));
    consumed += progress.consumed;
    if (progress.state == ParseState::failed) return {fail(head.failure().reason), consumed};
    if (progress.state == ParseState::need_more) return {ParseState::need_more, consumed};
    if (!is_interim(head.status())) return {on_final_head(), consumed};
    if (head.status() == 101) return {on_switch(), consumed};
    if (++interim_answers > kInterimAnswersMax) {
      return {fail("too many interim answers"), consumed};
    }
    response.fields.clear();
    head.start();
  }
}

ParseState ResponseParser::Impl::on_switch() {
  if (!may_switch) return fail("protocol switched without being asked");
  response.status = head.status();
  state = State::complete;
  return ParseState::head_done;
}

ParseState ResponseParser::Impl::on_final_head() {
  response.status = head.status();
  response.version_minor = head.version_minor();
  if (response.status < 200 || response.status > 599) return fail("status out of range");
  const Framing framing =
      framing_of(response.fields, response.version_minor, BodyFraming::until_close);
  if (!framing.failure.reason.empty()) return fail(framing.failure.reason);
  response.keep_alive = asks_to_keep_alive(response.fields, response.version_minor) &&
                        framing.kind != BodyFraming::until_close;
  if (answers_head || is_without_body(response.status)) {
    // No body, so nothing can end with the connection. But a 204 that announces one may be
    // followed by it: what comes next on that connection is not to be trusted.
    const bool announced = framing.kind == BodyFraming::chunked || framing.length > 0;
    response.keep_alive = asks_to_keep_alive(response.fields, response.version_minor) &&
                          !(response.status == 204 && announced);
    body.start(BodyFraming::none, 0, 0);
  } else {
    if (framing.length > declared_bytes_max) {
      fail("body too large");
      failure.body_too_large = true;
      return ParseState::failed;
    }
    response.body.reserve(static_cast<std::size_t>(std::min(framing.length, kBodyReserveMax)));
    const bool is_declared = framing.kind == BodyFraming::length;
    body.start(framing.kind, framing.length, is_declared ? SIZE_MAX : undeclared_bytes_max);
  }
  state = State::body;
  return ParseState::head_done;
}

ParseProgress ResponseParser::Impl::finish() {
  if (state == State::body && !body.ends_with_connection()) {
    // A body that was whole already needs no more than to be looked at.
    const ParseProgress progress = feed({});
    if (progress.state == ParseState::complete) return progress;
  } else if (state == State::body) {
    state = State::complete;
    return {ParseState::complete, 0};
  }
  if (state == State::failed) return {ParseState::failed, 0};
  return {fail("connection closed inside the answer"), 0};
}

ResponseParser::ResponseParser(Response& into, const MessageLimits& limits)
    : impl_(std::make_unique<Impl>(into, limits)) {}
ResponseParser::~ResponseParser() = default;
ResponseParser::ResponseParser(ResponseParser&&) noexcept = default;

void ResponseParser::reset(bool answers_head, bool may_switch) {
  impl_->reset(answers_head, may_switch);
}
void ResponseParser::reset_in_pieces(bool answers_head, std::size_t undeclared_bytes_max) {
  impl_->reset(answers_head, false);
  impl_->declared_bytes_max = UINT64_MAX;
  impl_->undeclared_bytes_max = undeclared_bytes_max;
}
ParseProgress ResponseParser::feed(std::string_view input) {
  return impl_->feed(input);
}
std::uint64_t ResponseParser::plain_bytes_left() const {
  return impl_->state == Impl::State::body ? impl_->body.plain_bytes_left() : 0;
}
ParseState ResponseParser::on_plain_bytes(std::size_t size) {
  const ParseState state = impl_->body.on_plain_bytes(size);
  if (state == ParseState::complete) impl_->state = Impl::State::complete;
  return state;
}
ParseProgress ResponseParser::finish() {
  return impl_->finish();
}
const ParseFailure& ResponseParser::failure() const {
  return impl_->failure;
}

}  // namespace prophecy::http
