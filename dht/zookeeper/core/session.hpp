// `Session` holds a session with a ZooKeeper service, over one connection after the other. It takes
// bytes, calls and the time, and returns actions; it does no I/O, reads no clock and draws nothing.
//
//                      retry                opened               welcome
//    disconnected ------------> connecting ---------> greeting -----------> connected
//       ^  |   ^                   |                     |  |                 |  |  |
//       |  |   +------ lost -------+------- lost --------+  |                 |  |  |
//       |  |                                                +-- session over -+  |  | close()
//       |  +-- 4/3 of the time-out --> expired -- retry --> connecting           |  v
//       +------------------------- lost -----------------------------------------+ closing
//                                                                                    |
//    auth_failed -- retry --> connecting        (connected, identity rejected)       v
//                                                                                  closed
//
// Pings are sent when nothing else was for a third of the time-out. A connection without an answer
// for two thirds of it is dropped. A service that cannot be reached says nothing of a session's
// end, so the session is taken for over after four thirds (as ZOOKEEPER-4508 does); its ephemeral
// nodes may live on for a while.
//
// All of it is a hint for the owner. Only `done` of a write says anything of the service's state;
// answered pings, reads and Sync do not show that the session still exists.
//
// Calls are sent at once, or not at all: none waits for a connection. Each ends with one
// Completion. The session's number and password appear in no report.
//
// Single-threaded. After every call of a member: the actions are taken and carried out in order.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "dht/zookeeper/core/action.hpp"
#include "dht/zookeeper/core/calls.hpp"
#include "dht/zookeeper/core/frame_buffer.hpp"
#include "dht/zookeeper/core/server_turns.hpp"
#include "dht/zookeeper/core/session_settings.hpp"
#include "dht/zookeeper/core/watch_table.hpp"

namespace prophecy::zookeeper {

struct SessionCounters {
  std::uint64_t attempts = 0;     // at connections
  std::uint64_t connections = 0;  // with a welcome
  std::uint64_t sessions = 0;
  std::uint64_t expired = 0;
  std::uint64_t timeouts = 0;   // of connections and attempts
  std::uint64_t malformed = 0;  // connections dropped because the server broke the protocol
  std::uint64_t rejected = 0;   // identities
  std::uint64_t done = 0;
  std::uint64_t refused = 0;
  std::uint64_t not_sent = 0;
  std::uint64_t unknown = 0;
  std::uint64_t events = 0;
  std::uint64_t events_ignored = 0;  // of no watch that is set
};

class Session {
 public:
  enum class State : std::uint8_t {
    disconnected,
    connecting,  // the transport
    greeting,    // waits for the server's word on the session
    connected,
    expired,  // disconnected; the next attempt asks for a new session
    auth_failed,
    closing,
    closed,
  };

  // REQUIRES: check(settings).
  Session(SessionSettings settings, Draw draw);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start(TimePoint now);
  // Events of the connection that the shell was asked for. None comes after Disconnect.
  void on_opened(TimePoint now);
  void on_bytes(ByteView bytes, TimePoint now);
  void on_lost(std::string reason, TimePoint now);
  // At next_time() or later; sooner does no harm.
  void on_time(TimePoint now);

  // `number` is the caller's.
  void call(std::uint64_t number, Request request, TimePoint now);
  // Ends the session at the server, where it is connected. Nothing may follow but what the shell
  // has to say.
  void close(TimePoint now);

  [[nodiscard]] std::vector<Action> take_actions() { return std::exchange(actions_, {}); }
  [[nodiscard]] TimePoint next_time() const;  // max(): nothing to wait for
  [[nodiscard]] State state() const { return state_; }
  // The id of the current session, to compare with Stat::ephemeral_owner; 0: none. Not to be
  // logged.
  [[nodiscard]] std::int64_t session_id() const { return identity_ ? identity_->id : 0; }
  // As granted.
  [[nodiscard]] milliseconds timeout() const { return timeout_; }
  [[nodiscard]] const SessionCounters& counters() const { return counters_; }

 private:
  struct SessionIdentity {
    std::int64_t id = 0;
    std::array<std::uint8_t, kPasswordBytes> password{};
  };
  // Control messages that were sent on this connection; a server answers each once.
  struct Unanswered {
    std::size_t identities = 0;
    bool ping = false;
    bool watches = false;
    std::optional<std::int32_t> close;
  };

  [[nodiscard]] bool has_connection() const;
  [[nodiscard]] TimePoint expiry() const;
  void report(Report::Kind kind, std::string reason = {}, std::string path = {});
  void send(Bytes bytes, TimePoint now);
  void connect(TimePoint now);
  void ping_or_drop(TimePoint now);

  // Ends the connection, and waits for the next attempt in the given state. The report comes before
  // the completions: an owner that repeats a call knows that it has to wait.
  void drop(State next, Report report, TimePoint now);
  void lose(std::string reason, TimePoint now);
  void lose_malformed(const Error& error, TimePoint now);
  void reject(ErrorCode code, TimePoint now);
  void expire(std::string reason, TimePoint now);
  void forget_session();
  void finish();

  void on_frame(ByteView frame, TimePoint now);
  void on_welcome(ByteView frame, TimePoint now);
  void greet_back(TimePoint now);
  void on_event(ByteView rest, TimePoint now);
  void on_control_answer(const HeadedFrame& frame, TimePoint now);
  void on_answer(const HeadedFrame& frame, TimePoint now);
  void complete(Completion completion);
  void set_watch(const Request& request, ErrorCode code);
  [[nodiscard]] std::int32_t next_xid();

  const SessionSettings settings_;
  ServerTurns turns_;
  State state_ = State::disconnected;
  std::vector<Action> actions_;
  SessionCounters counters_;

  std::optional<SessionIdentity> identity_;
  milliseconds timeout_;
  std::int64_t last_zxid_ = 0;  // that this session has seen
  std::int32_t last_xid_ = 0;
  WatchTable watches_;

  // State of the connection.
  FrameBuffer frames_;
  Calls calls_;
  Unanswered unanswered_;
  TimePoint last_sent_{};
  TimePoint connected_since_{};

  TimePoint last_answer_{};  // of this session, on any connection; events do not count
  TimePoint deadline_{};     // of waiting, an attempt, or closing
};

}  // namespace prophecy::zookeeper
