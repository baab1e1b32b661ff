// The part of a Session that takes the server's frames.
#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "dht/zookeeper/core/encode.hpp"
#include "dht/zookeeper/core/session.hpp"
#include "dht/zookeeper/core/wire.hpp"

namespace prophecy::zookeeper {
namespace {

Error broken(const char* what) {
  return {ErrorKind::protocol, std::string("ZooKeeper server: ") + what};
}

bool may_be(milliseconds timeout) {
  return timeout >= kSessionTimeoutMin && timeout <= kSessionTimeoutMax;
}

}  // namespace

void Session::on_bytes(ByteView bytes, TimePoint now) {
  ASSERT(state_ == State::greeting || state_ == State::connected || state_ == State::closing);
  for (;;) {
    const auto frame = frames_.next(bytes);
    if (!frame) return lose_malformed(frame.error(), now);
    if (!*frame) return;
    on_frame(**frame, now);
    if (!has_connection()) return;
  }
}

void Session::on_frame(ByteView frame, TimePoint now) {
  if (state_ == State::greeting) return on_welcome(frame, now);
  const auto headed = decode_header(frame);
  if (!headed) return lose_malformed(headed.error(), now);
  if (headed->header.xid == kEventXid) return on_event(headed->rest, now);
  last_answer_ = now;
  last_zxid_ = std::max(last_zxid_, headed->header.zxid);
  if (headed->header.xid <= 0) return on_control_answer(*headed, now);
  on_answer(*headed, now);
}

void Session::on_welcome(ByteView frame, TimePoint now) {
  const auto welcome = decode_welcome(frame);
  if (!welcome) return lose_malformed(welcome.error(), now);
  if (welcome->session_id == 0 || welcome->timeout_ms <= 0) {
    if (identity_) return expire("the server has ended the session", now);
    return lose("the server grants no session", now);
  }
  const milliseconds granted(welcome->timeout_ms);
  if (!may_be(granted)) {
    return lose_malformed(broken("grants a session of a time-out out of bounds"), now);
  }
  if (identity_ && identity_->id != welcome->session_id) {
    return expire("the server has ended the session", now);
  }
  const bool is_new = !identity_;
  identity_ = SessionIdentity{welcome->session_id, welcome->password};
  timeout_ = granted;
  state_ = State::connected;
  last_answer_ = connected_since_ = now;
  ++counters_.connections;
  if (is_new) ++counters_.sessions;
  report(is_new ? Report::Kind::session_begun : Report::Kind::connected);
  greet_back(now);
}

// Our identities go first: the rules of watched nodes may depend on them.
void Session::greet_back(TimePoint now) {
  for (const Identity& identity : settings_.identities)
    send(encode_auth(identity), now);
  unanswered_.identities = settings_.identities.size();
  if (watches_.paths() == 0) return;
  unanswered_.watches = true;
  send(encode_watches(last_zxid_, watches_.watched()), now);
}

void Session::on_event(ByteView rest, TimePoint now) {
  auto event = decode_event(rest);
  if (!event) return lose_malformed(event.error(), now);
  ++counters_.events;
  if (watches_.fire(*event)) return report(Report::Kind::changed, {}, std::move(event->path));
  ++counters_.events_ignored;
}

void Session::on_control_answer(const HeadedFrame& frame, TimePoint now) {
  const ErrorCode code = frame.header.code;
  switch (frame.header.xid) {
    case kPingXid:
      if (!std::exchange(unanswered_.ping, false)) break;
      return report(Report::Kind::alive);
    case kAuthXid:
      if (unanswered_.identities == 0) break;
      --unanswered_.identities;
      if (code != ErrorCode::ok) reject(code, now);
      return;
    case kWatchesXid:
      if (!std::exchange(unanswered_.watches, false)) break;
      if (code == ErrorCode::ok) return;
      // None is set: the owner reads all of it again, and sets them.
      watches_.clear();
      return report(Report::Kind::changed);
    default:
      break;
  }
  lose_malformed(broken("an answer to nothing"), now);
}

void Session::on_answer(const HeadedFrame& frame, TimePoint now) {
  const ErrorCode code = frame.header.code;
  if (calls_.empty() && unanswered_.close == frame.header.xid) return finish();
  if (calls_.empty() || calls_.front().xid != frame.header.xid) {
    return lose_malformed(broken("an answer to nothing, or out of order"), now);
  }
  if (code == ErrorCode::session_moved) return lose(to_string(code), now);
  auto answer = code == ErrorCode::ok ? decode_answer(calls_.front().request, frame.rest)
                                      : Result<Answer>(Answer{});
  if (!answer) return lose_malformed(answer.error(), now);
  const Calls::Call call = calls_.pop();
  set_watch(call.request, code);
  Completion completion{.number = call.number, .code = code};
  const auto failed = std::find_if(answer->steps.begin(), answer->steps.end(), [](ErrorCode step) {
    return step != ErrorCode::ok && step != ErrorCode::runtime_inconsistency;
  });
  if (failed != answer->steps.end()) {
    completion.code = *failed;
    completion.failed_step = static_cast<std::size_t>(failed - answer->steps.begin());
  }
  if (completion.code == ErrorCode::ok) {
    completion.outcome = Outcome::done;
  } else {
    completion.outcome = means_unchanged(completion.code) || failed != answer->steps.end()
                             ? Outcome::refused
                             : Outcome::unknown;
  }
  completion.answer = std::move(*answer);
  complete(std::move(completion));
  if (code == ErrorCode::session_expired) expire("the server has ended the session", now);
}

void Session::set_watch(const Request& request, ErrorCode code) {
  if (!sets_watch(request)) return;
  using Kind = WatchTable::Kind;
  if (const auto* const exists = std::get_if<Exists>(&request)) {
    if (code == ErrorCode::no_node) watches_.add(Kind::absent, exists->path);
    if (code == ErrorCode::ok) watches_.add(Kind::data, exists->path);
  } else if (code == ErrorCode::ok) {
    if (const auto* const data = std::get_if<GetData>(&request)) {
      watches_.add(Kind::data, data->path);
    } else if (const auto* const children = std::get_if<GetChildren>(&request)) {
      watches_.add(Kind::children, children->path);
    }
  }
}

void Session::complete(Completion completion) {
  switch (completion.outcome) {
    case Outcome::done:
      ++counters_.done;
      break;
    case Outcome::refused:
      ++counters_.refused;
      break;
    case Outcome::not_sent:
      ++counters_.not_sent;
      break;
    case Outcome::unknown:
      ++counters_.unknown;
      break;
  }
  actions_.emplace_back(std::move(completion));
}

}  // namespace prophecy::zookeeper
