// Actions that a `Session` asks its shell for, in this order, and reports to its owner.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "dht/zookeeper/core/answer.hpp"

namespace prophecy::zookeeper {

// Opens a connection to the server of this number. There is none.
struct Connect {
  std::size_t server = 0;
};
struct Send {
  Bytes bytes;
};
// Closes the connection, or ends the attempt at one.
struct Disconnect {};

enum class Outcome : std::uint8_t {
  done,      // a write: a quorum has committed it
  refused,   // the server has answered with `code`, and has changed nothing
  not_sent,  // it has never left: there was no connection, or a bound was reached
  unknown,   // sent. It was carried out, or may yet be, or never will be
};

// Each call has one.
struct Completion {
  std::uint64_t number = 0;  // the call's
  Outcome outcome = Outcome::unknown;
  ErrorCode code = ErrorCode::ok;
  std::size_t failed_step = 0;  // of a refused Multi: the step that is why
  std::string message = {};     // of `not_sent`: why
  Answer answer = {};           // of `done`
};

struct Report {
  enum class Kind : std::uint8_t {
    connected,       // in the session of before
    session_begun,   // connected, in a new session
    attempt_failed,  // not connected, as before
    disconnected,    // the completions of all calls follow: `unknown`
    rejected,        // likewise; a server does not accept our identity
    expired,         // not connected; the session is over, its ephemeral nodes are gone or will be
    changed,         // a watch has fired, or may be lost: `path` or anything below it
    alive,           // the server has answered a ping
    closed,          // as its owner has asked
  };
  Kind kind = Kind::disconnected;
  std::string reason = {};  // for people, without a final full stop
  std::string path = {};    // of `changed`; empty: any
};

using Action = std::variant<Connect, Send, Disconnect, Completion, Report>;

}  // namespace prophecy::zookeeper
