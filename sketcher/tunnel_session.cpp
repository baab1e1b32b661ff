#include "sketcher/tunnel_session.hpp"

#include <array>
#include <bit>
#include <cerrno>

#include <boost/asio/ip/tcp.hpp>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/assert.hpp"
#include "http/text.hpp"
#include "http/writer.hpp"
#include "sketcher/answer_writer.hpp"

namespace prophecy::sketcher {

namespace asio = boost::asio;
using transport::ByteStream;
using transport::IoResult;
using transport::IoStatus;
using transport::ReadySocket;

namespace {

constexpr std::size_t kReadBytes = 16 << 10;
// Beyond so many reads of one direction, other connections have their turn.
constexpr int kReadsMax = 16;

IoResult receive(ByteStream& from, char* into, std::size_t size) {
  return from.read(into, size);
}
IoResult receive(ReadySocket& from, char* into, std::size_t size) {
  return from.receive(into, size);
}
IoResult send(ByteStream& to, std::string_view bytes) {
  return to.write(bytes);
}
IoResult send(ReadySocket& to, std::string_view bytes) {
  return to.send(bytes, {});
}
void end_sending(ByteStream& to) {
  to.end();
}
void end_sending(ReadySocket& to) {
  to.shutdown_send();
}

// Whether the field of a 101 concerns the client, and not this connection to the origin.
bool is_passed_on(const sketch::Profile& profile, std::string_view name) {
  return profile.answer_rule(name) == sketch::AnswerRule::covered;
}

}  // namespace

TunnelSession::TunnelSession(SessionContext& context, SessionHost& host, TunnelRequest request)
    : context_(context),
      host_(host),
      request_(std::move(request)),
      parser_(response_, context.worker.settings.limits.answer) {
  parser_.reset(false, true);
}

TunnelSession::~TunnelSession() {
  close_origin();
}

void TunnelSession::start(std::string_view read) {
  to_origin_.pending.assign(read);
  connect_to_another();
}

void TunnelSession::count(http::ExchangeEnd end) {
  request_.group->context.counters(replica_).exchanges[static_cast<std::size_t>(end)].add();
}

// As a fast read: an origin that is down costs another draw, up to f times. One that is only full
// has no part in that.
void TunnelSession::connect_to_another() {
  GroupContext& group = request_.group->context;
  for (;;) {
    close_origin();  // the one before
    const auto tried = static_cast<std::uint32_t>(std::popcount(tried_));
    const auto replica = tried - full_ > group.group().faults()
                             ? std::nullopt
                             : group.draw(context_.worker.random, tried_);
    if (!replica && full_ > 0) {
      context_.worker.counters.refusals.add("too-many-tunnels");
      return fail(503, "too-many-tunnels");
    }
    if (!replica) return fail(503, "origin-unavailable");
    replica_ = *replica;
    tried_ |= replica_client::bit_of(replica_);
    if (request_.group->tunnels[replica_] >= context_.worker.settings.origin_tunnels_max) {
      ++full_;
      continue;
    }
    if (connect(group.settings().origins[replica_].address)) return;
  }
}

bool TunnelSession::connect(const Endpoint& origin) {
  const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(origin.address), origin.port);
  UniqueFd fd(::socket(endpoint.data()->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return false;
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int connected =
      ::connect(fd.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size()));
  if (connected != 0 && errno != EINPROGRESS) return false;
  origin_ = ReadySocket(std::move(fd));
  ++request_.group->tunnels[replica_];
  state_ = State::connecting;
  transport::ReadinessHandler& handler = *this;
  if (!host_.readiness().add(origin_.descriptor(), handler)) return false;
  context_.timeouts.tunnel_connect.arm(*this, SessionContext::now());
  return true;
}

void TunnelSession::on_ready(std::uint32_t events) {
  origin_.note(events);
  switch (state_) {
    case State::connecting:
      return (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0 ? on_connected() : void();
    case State::asking:
      return ask();
    case State::open:
      return pump();
    case State::answering:
    case State::over:
      return;
  }
}

// The client's side.
void TunnelSession::on_ready() {
  switch (state_) {
    case State::connecting:
    case State::asking:
      return host_.stream().broken() ? end() : void();
    case State::open:
      return pump();
    case State::answering:
      return flush_answer();
    case State::over:
      return;
  }
}

void TunnelSession::on_connected() {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(origin_.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    count(http::ExchangeEnd::not_sent);
    return connect_to_another();
  }
  state_ = State::asking;
  context_.timeouts.tunnel_answer.arm(*this, SessionContext::now());
  ask();
}

void TunnelSession::ask() {
  while (asked_ < request_.wire.size()) {
    const IoResult result = send(origin_, std::string_view(request_.wire).substr(asked_));
    if (result.status == IoStatus::failed) {
      count(http::ExchangeEnd::broken);
      return fail(502, "origin-answer-unusable");
    }
    if (result.status == IoStatus::blocked) return;
    asked_ += result.size;
  }
  take_answer();
}

void TunnelSession::take_answer() {
  std::array<char, kReadBytes> input;
  for (;;) {
    const IoResult result = origin_.receive(input.data(), input.size());
    if (result.status == IoStatus::blocked) return;
    http::ParseProgress progress;
    std::string_view bytes;
    if (result.status == IoStatus::done) {
      bytes = {input.data(), result.size};
      progress = parser_.feed(bytes);
      bytes.remove_prefix(progress.consumed);
    } else if (result.status == IoStatus::ended) {
      progress = parser_.finish();
    } else {
      count(http::ExchangeEnd::broken);  // a reset is no end of a body
      return fail(502, "origin-answer-unusable");
    }
    if (progress.state == http::ParseState::head_done && response_.status == 101) {
      count(http::ExchangeEnd::answered);
      to_client_.pending.assign(bytes);  // the new protocol's
      return switch_over();
    }
    if (progress.state == http::ParseState::head_done) progress = parser_.feed(bytes);
    if (progress.state == http::ParseState::failed) {
      count(http::ExchangeEnd::malformed);
      return fail(502, "origin-answer-unusable");
    }
    if (progress.state == http::ParseState::complete) {
      count(http::ExchangeEnd::answered);
      return deliver_answer();
    }
  }
}

void TunnelSession::switch_over() {
  const auto protocol = response_.fields.find("upgrade");
  if (!protocol || !http::equal_ignoring_case(*protocol, request_.upgrade)) {
    return fail(502, "origin-answer-unusable");
  }
  std::string& head = context_.scratch;
  head.clear();
  http::append_status_line(head, 101);
  for (std::size_t i = 0; i < response_.fields.size(); ++i) {
    const std::string_view name = response_.fields.name(i);
    if (is_passed_on(request_.group->context.profile(), name)) {
      http::append_field(head, name, response_.fields.value(i));
    }
  }
  http::append_field(head, "connection", "upgrade");
  http::append_field(head, "upgrade", *protocol);
  http::end_head(head);
  to_client_.pending.insert(0, head);
  state_ = State::open;
  opened_ = SessionContext::now();
  request_.counters->tunnels_opened.add();
  context_.worker.counters.tunnels.add();
  pump();
}

// No switch: an answer like any other, and like all on this route, unverified.
void TunnelSession::deliver_answer() {
  close_origin();
  sketch::AnswerForm form;
  GroupContext& group = request_.group->context;
  if (group.answer_canonicalizer().canonicalize(response_, false, form) !=
      sketch::AnswerFault::none) {
    return fail(502, "origin-answer-unusable");
  }
  request_.counters->answered_unverified.add();
  const AnswerContext context{.date = context_.date.now()};
  send_answer(Answer(form, std::nullopt, context));
}

void TunnelSession::fail(std::uint16_t status, std::string_view reason) {
  close_origin();
  request_.counters->failed.add();
  const AnswerContext context{.date = context_.date.now()};
  send_answer(Answer(status, reason, context));
}

void TunnelSession::send_answer(const Answer& answer) {
  state_ = State::answering;
  to_client_ = {};
  append_head(to_client_.pending, answer, {.keep_alive = false});
  to_client_.pending.append(answer.body());
  context_.timeouts.send.arm(*this, SessionContext::now());
  flush_answer();
}

void TunnelSession::flush_answer() {
  while (to_client_.begin < to_client_.pending.size()) {
    const IoResult result =
        send(host_.stream(), std::string_view(to_client_.pending).substr(to_client_.begin));
    if (result.status == IoStatus::failed) return end();
    if (result.status == IoStatus::blocked) return;
    to_client_.begin += result.size;
    if (progress_.moved(result.size)) context_.timeouts.send.arm(*this, SessionContext::now());
  }
  state_ = State::over;
  host_.finish();
}

void TunnelSession::pump() {
  context_.timeouts.tunnel.arm(*this, SessionContext::now());
  RequestCounters& counters = *request_.counters;
  pump(to_origin_, host_.stream(), origin_, counters.tunnel_bytes_in);
  pump(to_client_, origin_, host_.stream(), counters.tunnel_bytes_out);
  if (to_origin_.over && to_client_.over) end();
}

// A direction that is broken is over; what comes in the other one still gets through.
template <class From, class To>
void TunnelSession::pump(Direction& direction, From& from, To& to, Counter& bytes) {
  std::array<char, kReadBytes> input;
  for (int reads = 0;;) {
    while (direction.begin < direction.pending.size()) {
      const IoResult result = send(to, std::string_view(direction.pending).substr(direction.begin));
      if (result.status == IoStatus::failed) return direction.break_off();
      if (result.status == IoStatus::blocked) return;
      direction.begin += result.size;
    }
    direction.pending.clear();
    direction.begin = 0;
    if (direction.over) return;
    if (direction.ended) {
      direction.over = true;
      return end_sending(to);
    }
    if (reads++ == kReadsMax) {
      return host_.call_again();
    }
    const IoResult read = receive(from, input.data(), input.size());
    if (read.status == IoStatus::failed) return direction.break_off();
    if (read.status == IoStatus::blocked) return;
    if (read.status == IoStatus::ended) {
      direction.ended = true;
      continue;
    }
    bytes.add(read.size);
    (&direction == &to_origin_ ? bytes_in_ : bytes_out_) += read.size;
    // As a rule all of it is taken at once, and nothing is kept.
    const IoResult written = send(to, {input.data(), read.size});
    if (written.status == IoStatus::failed) return direction.break_off();
    direction.pending.assign(input.data() + written.size, read.size - written.size);
  }
}

void TunnelSession::on_timeout() {
  switch (state_) {
    case State::connecting:
      count(http::ExchangeEnd::not_sent);
      return connect_to_another();
    case State::asking:
      count(http::ExchangeEnd::timed_out);
      return fail(504, "origin-too-slow");
    case State::open:
    case State::answering:
      context_.worker.counters.timeouts.add();
      return end();
    case State::over:
      return;
  }
}

void TunnelSession::close_origin() {
  if (origin_.descriptor() < 0) return;
  transport::ReadinessHandler& handler = *this;
  host_.readiness().forget(handler);
  origin_.close();
  --request_.group->tunnels[replica_];
}

void TunnelSession::end() {
  host_.close();  // comes back as abandon()
}

void TunnelSession::abandon() {
  if (state_ == State::connecting || state_ == State::asking) request_.counters->abandoned.add();
  if (state_ == State::open) {
    context_.worker.counters.tunnels.subtract();
    const auto lived = SessionContext::now() - opened_;
    const GroupContext& group = request_.group->context;
    context_.worker.log.info(
        "tunnel-closed",
        {{"route", context_.worker.settings.routes[request_.route].name},
         {"client", host_.client().address},
         {"origin", to_string(group.settings().origins[replica_].address)},
         {"protocol", request_.upgrade},
         {"bytes_in", bytes_in_},
         {"bytes_out", bytes_out_},
         {"milliseconds", std::chrono::duration_cast<milliseconds>(lived).count()}});
  }
  state_ = State::over;
  disarm();
  close_origin();
}

}  // namespace prophecy::sketcher
