#include "sketcher/client/tunnel/tunnel_session.hpp"

#include <array>
#include <bit>
#include <cerrno>

#include <boost/asio/ip/tcp.hpp>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/assert.hpp"
#include "http/text.hpp"
#include "http/writer.hpp"
#include "sketcher/answer/answer_writer.hpp"

namespace prophecy::sketcher {

namespace asio = boost::asio;
using transport::ByteStream;
using transport::IoResult;
using transport::IoStatus;

namespace {

constexpr std::size_t kTunnelAnswerReadBytes = 16 << 10;

// Whether the field of a 101 concerns the client, and not this connection to the origin.
bool is_passed_on(const sketch::Profile& profile, std::string_view name) {
  return profile.answer_rule(name) == sketch::AnswerRule::covered;
}

}  // namespace

TunnelSession::TunnelSession(SessionContext& context, StreamHost& host, TunnelRequest request)
    : context_(context),
      host_(host),
      request_(std::move(request)),
      parser_(response_, context.worker.settings.limits.answer),
      held_(context.worker.untaken) {
  parser_.reset(false, true);
}

TunnelSession::~TunnelSession() {
  close_origin();
}

void TunnelSession::start(std::string_view read, TimePoint /*now*/) {
  to_origin_.hold(std::string(read));
  count_held();
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
    const auto replica =
        tried - full_ > group.group().faults() ? std::nullopt : group.core().group.draw(tried_);
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
  origin_.emplace(std::move(fd));
  ++request_.group->tunnels[replica_];
  request_.group->uses.begin(*this, replica_);
  state_ = State::connecting;
  transport::ReadinessHandler& handler = *this;
  if (!host_.readiness().add(origin_->descriptor(), handler)) return false;
  context_.timeouts.tunnel_connect.arm(*this, SessionContext::now());
  return true;
}

void TunnelSession::on_ready(std::uint32_t events) {
  origin_->note(events);
  switch (state_) {
    case State::connecting:
      return (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0 ? on_connected() : void();
    case State::asking:
      return ask();
    case State::open:
    case State::client_broken:
    case State::origin_broken:
      return pump();
    case State::lingering:
      return discard();
    case State::answering:
    case State::over:
      return;
  }
}

// The client's side.
void TunnelSession::on_ready(TimePoint /*now*/) {
  switch (state_) {
    case State::connecting:
    case State::asking:
      return host_.stream().broken() ? end() : void();
    case State::open:
    case State::client_broken:
    case State::origin_broken:
      return pump();
    case State::answering:
      return flush_answer();
    case State::lingering:
      return discard();
    case State::over:
      return;
  }
}

void TunnelSession::on_connected() {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(origin_->descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
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
    const IoResult result = origin_->write(std::string_view(request_.wire).substr(asked_));
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
  std::array<char, kTunnelAnswerReadBytes> input;
  for (;;) {
    const IoResult result = origin_->read(input.data(), input.size());
    if (result.status == IoStatus::blocked) return count_held();
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
      return switch_over(bytes);
    }
    if (progress.state == http::ParseState::head_done) progress = parser_.feed(bytes);
    if (progress.state == http::ParseState::failed) return fail_malformed();
    if (progress.state == http::ParseState::complete) return deliver_answer();
  }
}

void TunnelSession::fail_malformed() {
  count(http::ExchangeEnd::malformed);
  fail(502, "origin-answer-unusable");
}

void TunnelSession::switch_over(std::string_view read) {
  const auto protocol = response_.fields.find("upgrade");
  if (!protocol || !http::equal_ignoring_case(*protocol, request_.upgrade)) {
    return fail_malformed();
  }
  count(http::ExchangeEnd::answered);
  std::string& head = context_.resources.scratch;
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
  to_client_.hold(std::string(head).append(read));
  // It may last for long.
  std::string().swap(request_.wire);
  response_.fields.clear_and_shrink(0);
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
  if (group.core().group.canonicalizer().canonicalize(response_, false, form) !=
      sketch::AnswerFault::none) {
    return fail_malformed();
  }
  count(http::ExchangeEnd::answered);
  request_.counters->answered_unverified.add();
  const AnswerContext context{.date = context_.resources.date.now(),
                              .via = context_.worker.settings.forwarding.via};
  send_answer(Answer(form, std::nullopt, context));
}

void TunnelSession::fail(std::uint16_t status, std::string_view reason) {
  close_origin();
  request_.counters->failed.add();
  const AnswerContext context{.date = context_.resources.date.now(),
                              .via = context_.worker.settings.forwarding.via};
  send_answer(Answer(status, reason, context));
}

void TunnelSession::send_answer(const Answer& answer) {
  state_ = State::answering;
  std::string text;
  append_head(text, answer, {.keep_alive = false});
  to_client_.hold(std::move(text.append(answer.body())));
  std::string().swap(response_.body);  // nobody's any more
  context_.timeouts.send.arm(*this, SessionContext::now());
  // It may still hold an answer before this one.
  queue_.begin(host_.stream().queued_bytes());
  flush_answer();
}

void TunnelSession::flush_answer() {
  const IoResult result = to_client_.deliver(host_.stream());
  if (result.status == IoStatus::failed) return end();
  count_held();
  if (progress_.moved(result.size)) context_.timeouts.send.arm(*this, SessionContext::now());
  if (result.status == IoStatus::blocked) {
    if (result.size > 0) queue_.begin(host_.stream().queued_bytes());
    return;
  }
  state_ = State::over;
  host_.finish();
}

void TunnelSession::pump() {
  look_for_resets();
  run_to_origin();
  run_to_client();
  count_held();
  switch (state_) {
    case State::open:
      if (to_origin_.over() && to_client_.over()) return end();
      if (to_origin_.flows() && to_client_.flows()) {
        return context_.timeouts.tunnel.arm(*this, SessionContext::now());
      }
      return context_.timeouts.tunnel_half_closed.arm(*this, SessionContext::now());
    case State::client_broken:
      return to_origin_.over() ? part_from_origin() : void();
    case State::origin_broken:
      return to_client_.over() ? part_from_client() : void();
    default:
      UNREACHABLE();
  }
}

// Of a side that is not read, be it that it has ended or that the other one takes nothing. (Where
// nothing more is sent to it, its own end looks like a reset.)
void TunnelSession::look_for_resets() {
  if (!to_client_.over() && host_.stream().broken()) on_broken(Side::client);
  if (!to_origin_.over() && origin_->broken()) on_broken(Side::origin);
}

void TunnelSession::run_to_origin() {
  const TunnelDirection::Run run = to_origin_.run(host_.stream(), *origin_);
  bytes_in_ += run.read_bytes;
  request_.counters->tunnel_bytes_in.add(run.read_bytes);
  if (run.outcome == TunnelDirection::Outcome::ended) tell_end(to_origin_, *origin_);
  on_run(run, Side::client, Side::origin);
}

void TunnelSession::run_to_client() {
  const TunnelDirection::Run run = to_client_.run(*origin_, host_.stream());
  bytes_out_ += run.read_bytes;
  request_.counters->tunnel_bytes_out.add(run.read_bytes);
  if (run.outcome == TunnelDirection::Outcome::ended) tell_end(to_client_, host_.stream());
  on_run(run, Side::origin, Side::client);
}

void TunnelSession::on_run(const TunnelDirection::Run& run, Side from, Side to) {
  if (state_ != State::open && run.delivered_bytes > 0) {
    queue_.begin(stream_of(to).queued_bytes());
    if (progress_.moved(run.delivered_bytes)) {
      context_.timeouts.send.arm(*this, SessionContext::now());
    }
  }
  switch (run.outcome) {
    case TunnelDirection::Outcome::waits:
    case TunnelDirection::Outcome::ended:
      return;
    case TunnelDirection::Outcome::has_more:
      return host_.call_again();
    case TunnelDirection::Outcome::sender_broken:
      return on_broken(from);
    case TunnelDirection::Outcome::receiver_broken:
      return on_broken(to);
  }
}

// What comes from a side that is broken may look whole without being so.
void TunnelSession::tell_end(TunnelDirection& direction, ByteStream& to) {
  if (state_ != State::open || to.try_to_end()) direction.finish();
}

void TunnelSession::on_broken(Side side) {
  if (state_ != State::open) return;  // the other one goes the same way
  if (side == Side::client) {
    state_ = State::client_broken;
    to_client_.finish();
  } else {
    state_ = State::origin_broken;
    to_origin_.finish();
  }
  progress_.restart();
  queue_.begin(stream_of(side == Side::client ? Side::origin : Side::client).queued_bytes());
  context_.timeouts.send.arm(*this, SessionContext::now());
  host_.call_again();  // no event tells of what it has sent before
}

void TunnelSession::part_from_client() {
  report_end();
  close_origin();
  state_ = State::over;
  disarm();
  host_.stream().cut_off();
  host_.finish();
}

void TunnelSession::part_from_origin() {
  state_ = State::lingering;
  origin_->end();
  linger_.begin(origin_->socket());
  context_.timeouts.linger.arm(*this, SessionContext::now());
  discard();
}

void TunnelSession::discard() {
  switch (linger_.discard(origin_->socket())) {
    case Linger::Heard::all:
      return;
    case Linger::Heard::some:
      return host_.call_again();
    case Linger::Heard::end:
      return end();
  }
}

void TunnelSession::count_held() {
  held_.set(to_origin_.held_bytes() + to_client_.held_bytes() + response_.body.size());
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
      return on_give_way();
    case State::client_broken:
      return on_send_timeout(*origin_);
    case State::origin_broken:
    case State::answering:
      return on_send_timeout(host_.stream());
    case State::lingering:
      if (!linger_.goes_on(origin_->socket())) return end();
      return context_.timeouts.linger.arm(*this, SessionContext::now());
    case State::over:
      return;
  }
}

// The time of an origin that is drained is over. A request that was not sent goes to another one.
void TunnelSession::on_cut() {
  switch (state_) {
    case State::connecting:
      return connect_to_another();
    case State::asking:
      return fail(503, "origin-unavailable");
    default:
      return end();
  }
}

void TunnelSession::on_send_timeout(const ByteStream& to) {
  if (!queue_.went_on(to.queued_bytes())) return on_give_way();
  context_.timeouts.send.arm(*this, SessionContext::now());
}

void TunnelSession::on_give_way() {
  context_.worker.counters.timeouts.add();
  end();
}

void TunnelSession::close_origin() {
  if (!origin_) return;
  transport::ReadinessHandler& handler = *this;
  host_.readiness().forget(handler);
  origin_.reset();
  end_use();
  --request_.group->tunnels[replica_];
}

void TunnelSession::end() {
  host_.close();  // comes back as abandon()
}

void TunnelSession::report_end() {
  context_.worker.counters.tunnels.subtract();
  const auto lived = SessionContext::now() - opened_;
  const GroupContext& group = request_.group->context;
  context_.worker.log.info(
      "tunnel-closed", {{"route", context_.worker.settings.routes[request_.route].name},
                        {"client", host_.client().address},
                        {"origin", to_string(group.settings().origins[replica_].address)},
                        {"protocol", request_.upgrade},
                        {"bytes_in", bytes_in_},
                        {"bytes_out", bytes_out_},
                        {"milliseconds", std::chrono::duration_cast<milliseconds>(lived).count()}});
}

void TunnelSession::abandon() {
  switch (state_) {
    case State::connecting:
    case State::asking:
      request_.counters->abandoned.add();
      break;
    case State::open:
    case State::client_broken:
    case State::origin_broken:
    case State::lingering:
      report_end();
      break;
    case State::answering:
    case State::over:
      break;
  }
  state_ = State::over;
  disarm();
  held_.set(0);
  close_origin();
}

}  // namespace prophecy::sketcher
