#include "sketcher/reads/forwarded_request.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.hpp"
#include "http/text.hpp"
#include "http/writer.hpp"
#include "sketcher/answer/answer.hpp"
#include "sketcher/reads/member_fields.hpp"

namespace prophecy::sketcher {

using http::Http2CallEnd;

namespace {

// Beyond it an answer goes on in pieces.
constexpr std::size_t kGatheredBytesMax = 64 << 10;
// What a piece may hold, as HTTP/2 sessions count it.
constexpr std::uint32_t kPieceBytes = http::kHttp2CallWindowBytes / 2;

// A member that has not adopted the view yet is asked again so soon, so often; then after longer
// pauses.
constexpr Duration kSoon = milliseconds(10);
constexpr int kSoonMax = 10;

// Of a connection, or our own to write; and what clients may not say of themselves.
bool is_dropped(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "connection", "content-length",    "expect",     "host",      "http2-settings",
      "keep-alive", "proxy-connection",  kClientField, kFloorField, kPeersField,
      "te",         "transfer-encoding", "upgrade"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

bool announces_body(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

}  // namespace

ForwardedRequest::ForwardedRequest(MemberLinks& links, HedgeTimers& retries, HeldBytes& untaken,
                                   AnswerSink& sink, Owner& owner)
    : links_(links),
      retries_(retries),
      sink_(sink),
      owner_(owner),
      held_(untaken),
      silence_(*this, &ForwardedRequest::on_silence),
      pause_(*this, &ForwardedRequest::go_on_after_pause) {}

ForwardedRequest::~ForwardedRequest() {
  abandon();
}

void ForwardedRequest::start(const Request& what, TimePoint now) {
  ASSERT(is_idle());
  what_ = what;
  started_ = now;
  soon_ = 0;
  losses_ = 0;
  is_repeated_ = is_moved_ = false;
  state_ = State::asking;
  if (const auto refusal = read_nominated()) return fail(refusal->status, refusal->reason, true);
  client_text_ = client_field(*what.client);
  peers_text_.clear();
  if (what.client->trusted_peers != nullptr) peers_text_ = to_text(*what.client->trusted_peers);
  look_for_owner();
}

// As the canonical form of a request of our own would have it.
std::optional<sketch::Refusal> ForwardedRequest::read_nominated() {
  if (!nominated_.read(what_.request->fields)) {
    return sketch::Refusal{400, "Connection nominates too many fields"};
  }
  for (std::size_t i = 0; i < nominated_.size(); ++i) {
    if (!what_.profile->may_nominate_in_request(nominated_.name(i))) {
      return sketch::Refusal{400, "Connection nominates a field that is not hop-by-hop"};
    }
  }
  return std::nullopt;
}

void ForwardedRequest::look_for_owner() {
  const dht::OwnerWord word = links_.owner(what_.partition);
  if (word.stage() == dht::Stage::elsewhere) return ask(word.slot());
  if (word.stage() == dht::Stage::unknown) return pause();
  become_idle();
  owner_.on_ours();
}

void ForwardedRequest::ask(dht::MemberSlot slot) {
  state_ = State::asking;
  slot_ = slot;
  has_ended_ = false;
  status_ = 0;
  links_.answer_timeouts().arm(silence_, now());
  if (is_read()) links_.pauses().arm(pause_, now());
  if (!links_.call(slot, *this)) pause();
}

void ForwardedRequest::pause() {
  silence_.disarm();
  if (now() - started_ >= links_.time_for_owner()) return fail(503, "owner-unreachable");
  state_ = State::pausing;
  links_.pauses().arm(pause_, now());
}

// Members learn of a view one soon after the other.
void ForwardedRequest::pause_for_view() {
  if (soon_ == kSoonMax) return pause();
  ++soon_;
  silence_.disarm();
  state_ = State::pausing;
  retries_.arm(pause_, now(), kSoon);
}

// While nothing has come of a read, its owner may become another one: this one may never answer.
void ForwardedRequest::go_on_after_pause() {
  if (state_ == State::asking) {
    const dht::OwnerWord word = links_.owner(what_.partition);
    const bool has_moved = word.stage() != dht::Stage::unknown && word.slot() != slot_;
    if (!has_moved) return links_.pauses().arm(pause_, now());
    drop_call();
    silence_.disarm();
  }
  if (slot_ != dht::kNoSlot) links_.counters(slot_).repeated.add();
  look_for_owner();
}

void ForwardedRequest::send(http::Http2ClientConnection& connection) {
  const http::Request& request = *what_.request;
  http::Http2RequestHead head(request.method, what_.scheme, what_.form->authority, what_.target);
  for (std::size_t i = 0; i < request.fields.size(); ++i) {
    const std::string_view name = request.fields.name(i);
    if (!is_dropped(name) && !nominated_.contains(name)) head.add(name, request.fields.value(i));
  }
  head.add(kClientField, client_text_);
  if (!peers_text_.empty()) head.add(kPeersField, peers_text_);
  std::string length;
  if (request.body_size() > 0 || announces_body(request.method)) {
    length = std::to_string(request.body_size());
    head.add("content-length", length);
  }
  connection.call(*this, head, request.body, request.large_body);
}

void ForwardedRequest::on_head() {
  const http::FieldList& fields = response.fields;
  const bool is_own = fields.find(kMemberField) == kOwnAnswer;
  if (is_own && response.status == 421 && fields.find("prophecy-reason") == kNotMine) {
    links_.counters(slot_).not_mine.add();
    drop_call();
    return pause_for_view();
  }
  pause_.disarm();
  status_ = response.status;
  take_size();
  if (size_ <= kGatheredBytesMax) {
    state_ = State::gathering;
  } else {
    state_ = State::holding;
    begin();
  }
  watch();
}

// What follows of the answer. Without a length it has none: every answer of a member says it.
void ForwardedRequest::take_size() {
  size_ = 0;
  const bool has_body = !what_.form->is_head && status_ != 204 && status_ != 304;
  const auto length = response.fields.find("content-length");
  if (has_body && length) static_cast<void>(http::parse_decimal(*length, size_));
}

void ForwardedRequest::on_bytes(std::string_view bytes) {
  if (state_ == State::gathering) {
    response.body.append(bytes);
    link()->consume(*this, bytes.size());
    return;
  }
  arrived_.append(bytes);
}

void ForwardedRequest::on_pause() {
  count_held();
  deliver();
  watch();
}

// For the member's silence, as long as it is the member that is waited for.
void ForwardedRequest::watch() {
  const bool waits = state_ == State::asking || state_ == State::gathering ||
                     (state_ == State::passing && writable_ && !has_ended_);
  waits ? links_.answer_timeouts().arm(silence_, now()) : silence_.disarm();
}

void ForwardedRequest::begin() {
  if (!sink_.may_take_blocks(kPieceBytes)) return watch();
  const std::uint32_t serial = serial_;
  state_ = State::passing;
  writable_ = true;
  sink_.on_passed_begin(response, size_);
  if (serial_ == serial) deliver();
}

// The client takes one piece after the other, and the member makes up for those that it took.
void ForwardedRequest::deliver() {
  while (state_ == State::passing && writable_ && !arrived_.empty()) {
    const std::uint32_t serial = serial_;
    std::string piece;
    std::swap(piece, arrived_);
    const std::size_t size = piece.size();
    passed_ = size;
    writable_ = false;
    const bool is_taken = sink_.on_large_bytes(piece, 0, size);
    if (serial_ != serial) return;
    writable_ = is_taken || writable_;
    // What the sink needs no more is where the next bytes come.
    if (arrived_.empty()) {
      std::swap(piece, arrived_);
      arrived_.clear();
    }
    if (!writable_) break;
    if (link() != nullptr) link()->consume(*this, std::exchange(passed_, 0));
  }
  if (state_ == State::passing) {
    count_held();
    finish_if_whole();
  }
}

void ForwardedRequest::on_writable() {
  if (state_ == State::holding) return begin();
  if (state_ != State::passing) return;
  writable_ = true;
  const std::size_t taken = std::exchange(passed_, 0);
  if (link() != nullptr) link()->consume(*this, taken);
  deliver();
  watch();
}

void ForwardedRequest::finish_if_whole() {
  if (!has_ended_ || !writable_ || !arrived_.empty()) return;
  const std::uint16_t status = status_;
  become_idle();
  owner_.on_forwarded(status, size_);
  sink_.on_large_end(true);
}

void ForwardedRequest::on_end(Http2CallEnd end) {
  if (end == Http2CallEnd::answered) {
    silence_.disarm();
    has_ended_ = true;
    if (state_ == State::gathering) {
      const std::uint16_t status = status_;
      become_idle();
      owner_.on_forwarded(status, size_);
      return sink_.on_passed(response);
    }
    return deliver();
  }
  if (state_ == State::passing) {
    become_idle();
    owner_.on_forwarded(status_, size_);
    return sink_.on_large_end(false);
  }
  repeat_or_fail(end);
}

void ForwardedRequest::repeat_or_fail(Http2CallEnd end) {
  arrived_.clear();
  count_held();
  if (end == Http2CallEnd::unprocessed) {
    // Once at once: a member that renews a connection, or restarts, takes it elsewhere.
    if (std::exchange(is_moved_, true)) return pause();
    links_.counters(slot_).repeated.add();
    return look_for_owner();
  }
  if (!is_read()) return fail(502, "uncertain-write");
  if (!may_repeat(end)) return fail(502, "owner-failed");
  pause();
}

bool ForwardedRequest::may_repeat(Http2CallEnd end) {
  if (end == Http2CallEnd::lost) return ++losses_ <= links_.links_to(slot_) + 1;
  return !std::exchange(is_repeated_, true);
}

void ForwardedRequest::on_silence() {
  const bool is_sent = open();
  drop_call();
  if (state_ == State::passing) {
    become_idle();
    owner_.on_forwarded(status_, size_);
    return sink_.on_large_end(false);
  }
  if (!is_sent) return fail(503, "owner-unreachable");
  is_read() ? fail(504, "owner-silent") : fail(502, "uncertain-write");
}

void ForwardedRequest::fail(std::uint16_t status, std::string_view reason, bool is_refused) {
  drop_call();
  become_idle();
  owner_.on_not_forwarded({status, reason}, is_refused);
}

void ForwardedRequest::abandon() {
  if (is_idle()) return;
  drop_call();
  become_idle();
}

void ForwardedRequest::drop_call() {
  if (link() != nullptr) link()->remove(*this);
}

void ForwardedRequest::become_idle() {
  state_ = State::idle;
  ++serial_;
  silence_.disarm();
  pause_.disarm();
  std::string().swap(arrived_);
  passed_ = 0;
  held_.set(0);
}

void ForwardedRequest::shrink(std::size_t bytes_max) {
  if (!is_idle()) return;
  if (response.body.capacity() > bytes_max) std::string().swap(response.body);
  response.fields.clear_and_shrink(bytes_max);
}

void ForwardedRequest::count_held() {
  held_.set(arrived_.capacity() + response.body.capacity());
}

}  // namespace prophecy::sketcher
