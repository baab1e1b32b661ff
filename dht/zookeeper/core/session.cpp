#include "dht/zookeeper/core/session.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.hpp"
#include "base/wipe.hpp"
#include "dht/zookeeper/core/encode.hpp"

namespace prophecy::zookeeper {
namespace {

// An attempt has its share of the session's time-out, and no less than this.
constexpr milliseconds kAttemptMin{500};
// That share is a third at most, however few servers there are: one that starts may accept a
// connection and never answer it, and the session shall outlive such an attempt.
constexpr int kAttemptsMin = 3;

}  // namespace

Session::Session(SessionSettings settings, Draw draw)
    : settings_(std::move(settings)),
      turns_(settings_.servers, settings_.pause_min, settings_.pause_max, std::move(draw)),
      timeout_(settings_.timeout) {
  ASSERT(check(settings_));
}

Session::~Session() {
  forget_session();
}

void Session::start(TimePoint now) {
  deadline_ = now;
  on_time(now);
}

bool Session::has_connection() const {
  switch (state_) {
    case State::connecting:
    case State::greeting:
    case State::connected:
    case State::closing:
      return true;
    case State::disconnected:
    case State::expired:
    case State::auth_failed:
    case State::closed:
      return false;
  }
  UNREACHABLE();
}

TimePoint Session::expiry() const {
  return identity_ ? last_answer_ + timeout_ * 4 / 3 : TimePoint::max();
}

TimePoint Session::next_time() const {
  switch (state_) {
    case State::closed:
      return TimePoint::max();
    case State::connected: {
      const TimePoint drop_at = last_answer_ + timeout_ * 2 / 3;
      return unanswered_.ping ? drop_at : std::min(last_sent_ + timeout_ / 3, drop_at);
    }
    case State::closing:
      return deadline_;
    default:
      return std::min(deadline_, expiry());
  }
}

void Session::on_time(TimePoint now) {
  switch (state_) {
    case State::closed:
      return;
    case State::connected:
      return ping_or_drop(now);
    case State::closing:
      if (now >= deadline_) finish();
      return;
    default:
      break;
  }
  if (now >= expiry()) expire("no server could be reached in time", now);
  if (now < deadline_) return;
  if (!has_connection()) return connect(now);
  ++counters_.timeouts;
  lose("no answer in time", now);
}

void Session::connect(TimePoint now) {
  state_ = State::connecting;
  ++counters_.attempts;
  const int shares = std::max(static_cast<int>(settings_.servers), kAttemptsMin);
  deadline_ = now + std::max(timeout_ / shares, kAttemptMin);
  actions_.emplace_back(Connect{turns_.server()});
}

void Session::ping_or_drop(TimePoint now) {
  if (now >= last_answer_ + timeout_ * 2 / 3) {
    ++counters_.timeouts;
    return lose("no answer in time", now);
  }
  if (unanswered_.ping || now < last_sent_ + timeout_ / 3) return;
  unanswered_.ping = true;
  send(encode_ping(), now);
}

void Session::on_opened(TimePoint now) {
  ASSERT(state_ == State::connecting);
  state_ = State::greeting;
  static constexpr std::array<std::uint8_t, kPasswordBytes> kNoPassword{};
  Hello hello;
  hello.last_zxid = last_zxid_;
  hello.timeout_ms = static_cast<std::int32_t>(settings_.timeout.count());
  hello.session_id = session_id();
  hello.password = identity_ ? identity_->password : kNoPassword;
  send(encode_hello(hello), now);
}

void Session::on_lost(std::string reason, TimePoint now) {
  ASSERT(has_connection());
  lose(std::move(reason), now);
}

void Session::call(std::uint64_t number, Request request, TimePoint now) {
  const auto refuse = [&](std::string why) {
    complete({.number = number, .outcome = Outcome::not_sent, .message = std::move(why)});
  };
  if (state_ != State::connected) return refuse("there is no connection to ZooKeeper");
  if (!is_sound(request)) return refuse("a path that is none, or too few or too many steps");
  if (sets_watch(request) && watches_.paths() + calls_.watching() >= kWatchesMax) {
    return refuse("too many watches");
  }
  const std::int32_t xid = next_xid();
  Bytes frame = encode_request(xid, request, settings_.access);
  if (frame.size() > kRequestBytesMax) return refuse("too large for a node");
  if (!calls_.has_room_for(frame.size())) return refuse("too many calls under way");
  calls_.push({number, xid, frame.size(), std::move(request)});
  send(std::move(frame), now);
}

void Session::close(TimePoint now) {
  if (state_ != State::connected) return finish();
  state_ = State::closing;
  deadline_ = now + std::max(timeout_ / 3, kAttemptMin);
  unanswered_.close = next_xid();
  send(encode_close(*unanswered_.close), now);
}

void Session::report(Report::Kind kind, std::string reason, std::string path) {
  actions_.emplace_back(Report{kind, std::move(reason), std::move(path)});
}

void Session::send(Bytes bytes, TimePoint now) {
  last_sent_ = now;
  actions_.emplace_back(Send{std::move(bytes)});
}

// xids of calls are positive, and begin anew after the highest: so long ago none is under way.
std::int32_t Session::next_xid() {
  last_xid_ = last_xid_ == std::numeric_limits<std::int32_t>::max() ? 1 : last_xid_ + 1;
  return last_xid_;
}

void Session::drop(State next, Report report, TimePoint now) {
  const bool has_served = state_ == State::connected && now - connected_since_ >= timeout_ / 3;
  if (has_connection()) actions_.emplace_back(Disconnect{});
  state_ = next;
  actions_.emplace_back(std::move(report));
  frames_.clear();
  unanswered_ = {};
  while (!calls_.empty()) {
    complete({.number = calls_.pop().number, .outcome = Outcome::unknown});
  }
  if (has_served) turns_.succeed();
  deadline_ = now + turns_.fail();
}

void Session::lose(std::string reason, TimePoint now) {
  if (state_ == State::closing) return finish();
  const auto kind =
      state_ == State::connected ? Report::Kind::disconnected : Report::Kind::attempt_failed;
  drop(State::disconnected, {kind, std::move(reason)}, now);
}

void Session::lose_malformed(const Error& error, TimePoint now) {
  ++counters_.malformed;
  lose(error.message, now);
}

void Session::reject(ErrorCode code, TimePoint now) {
  ++counters_.rejected;
  if (state_ == State::closing) return finish();
  drop(State::auth_failed, {Report::Kind::rejected, to_string(code)}, now);
  deadline_ = now + settings_.pause_max;
}

void Session::expire(std::string reason, TimePoint now) {
  ++counters_.expired;
  if (state_ == State::closing) return finish();
  // An attempt that has not named the session yet goes on without it.
  if (state_ == State::greeting || state_ == State::connected) lose(reason, now);
  if (state_ == State::disconnected) state_ = State::expired;
  forget_session();
  actions_.emplace_back(Report{Report::Kind::expired, std::move(reason)});
}

void Session::forget_session() {
  if (identity_) wipe(identity_->password);
  identity_.reset();
  last_zxid_ = 0;
  watches_.clear();
  timeout_ = settings_.timeout;
}

void Session::finish() {
  if (state_ == State::closed) return;
  drop(State::closed, {Report::Kind::closed}, {});
  forget_session();
}

}  // namespace prophecy::zookeeper
