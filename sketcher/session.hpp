// What a client and we say to each other on one connection, once its bytes flow: HTTP/1.x or
// HTTP/2. The connection (client_connection.hpp) owns the session and the stream below it, makes
// both, and sees to their end.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/timeout_queue.hpp"
#include "http/http2/server_connection.hpp"
#include "sketcher/client_info.hpp"
#include "sketcher/date.hpp"
#include "sketcher/worker_context.hpp"
#include "transport/byte_stream.hpp"
#include "transport/readiness_loop.hpp"

namespace prophecy::sketcher {

struct ConnectionTimeouts {
  TimeoutQueue handshake;
  TimeoutQueue header;
  TimeoutQueue body;
  TimeoutQueue idle;
  TimeoutQueue send;
  TimeoutQueue linger;
  TimeoutQueue presence;  // between two looks for a client that has left
  TimeoutQueue tunnel_connect;
  TimeoutQueue tunnel_answer;       // until the origin has answered
  TimeoutQueue tunnel;              // without a byte in either direction
  TimeoutQueue tunnel_half_closed;  // likewise, once one side has ended its sending
};

// What all sessions of a worker share.
struct SessionContext {
  WorkerContext& worker;
  ConnectionTimeouts& timeouts;
  DateCache& date;
  http::Http2Limits http2;
  std::string scratch;  // for whoever serialises something; its content belongs to nobody
  // What Http2Sessions take their streams from, the last used one at the back.
  std::vector<std::unique_ptr<http::Http2Stream>> spare_streams{};

  [[nodiscard]] static TimePoint now() { return std::chrono::steady_clock::now(); }
};

class Session;

// The connection as its session sees it.
class SessionHost {
 public:
  [[nodiscard]] virtual transport::ByteStream& stream() = 0;
  [[nodiscard]] virtual const ClientInfo& client() const = 0;
  // Calls on_ready() soon: the session has left bytes unread.
  virtual void call_again() = 0;
  // Where sockets are registered that belong to the session.
  [[nodiscard]] virtual transport::ReadinessLoop& readiness() = 0;
  // Another session goes on with the stream. `read` was read and is its.
  virtual void become(std::unique_ptr<Session> session, std::string_view read) = 0;
  // All that was to be said is written. What still arrives is discarded for a while, so that it is
  // not lost by a reset; the session is abandoned first.
  virtual void finish() = 0;
  // At once, likewise. No call here destroys the session before its caller has returned.
  virtual void close() = 0;

 protected:
  ~SessionHost() = default;
};

class Session {
 public:
  virtual ~Session() = default;

  // `read` are the bytes that the connection has read to see which session this is to be.
  virtual void start(std::string_view read) = 0;
  // The stream has become readable or writable, or is broken.
  virtual void on_ready() = 0;
  // The worker stops: no request after those that have begun.
  virtual void drain() = 0;
  // The connection is finished or closed: the last call, also out of one of the session's to its
  // host. Whatever is under way is given up, and counts as held no more.
  virtual void abandon() = 0;
};

}  // namespace prophecy::sketcher
