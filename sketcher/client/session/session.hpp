// What a client and we say to each other on one connection, once its bytes flow: HTTP/1.x, HTTP/2,
// or a tunnel. The connection (client_connection.hpp) owns the session and the stream below it,
// makes both, and sees to their end.
//
// A session of HTTP is a deterministic core: it is handed bytes and the time, and asks its host to
// write, to call it after a while, and to end the connection. It does no I/O, and reads no clock
// but its host's.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "http/client/body_pool.hpp"
#include "http/parser.hpp"
#include "sketcher/answer/date.hpp"
#include "sketcher/core/admission/held_bytes.hpp"
#include "sketcher/counters/counters.hpp"
#include "sketcher/reads/client_info.hpp"
#include "sketcher/reads/request_handler.hpp"
#include "sketcher/reads/tunnel_request.hpp"
#include "sketcher/spool/body_intake.hpp"
#include "transport/ready_socket.hpp"

namespace prophecy::sketcher {

// What the sessions of a worker share.
struct SessionResources {
  const http::MessageLimits& limits;  // of requests
  std::string_view via;               // of our own, in answers
  Spool& spool;
  HeldBytes& untaken;   // of answers
  HeldBytes& arriving;  // of requests that are not whole, or wait for their turn
  HeldBytes& asking;    // of requests whose answers are awaited
  http::BodyPool& bodies;
  WorkerCounters& counters;
  RequestCounters& unrouted;  // of requests that no route has taken
  DateCache& date;
  RequestHandlers& handlers;
  std::size_t http1_sessions = 0;  // live ones
  std::string scratch{};  // for whoever serialises something; its content belongs to nobody

  void count_refusal(std::string_view reason) const {
    unrouted.refused.add();
    counters.refusals.add(reason);
  }
};

// What a session may be waiting for; each has a time of its own.
enum class Wait : std::uint8_t {
  header,    // of a request
  body,      // 4 KiB more of it
  idle,      // the next request
  send,      // the client takes 4 KiB more
  presence,  // the next look whether the client has left
};

// The connection as its session sees it.
class SessionHost {
 public:
  [[nodiscard]] virtual const ClientInfo& client() const = 0;
  [[nodiscard]] virtual TimePoint now() const = 0;

  // As much of both pieces, one behind the other, as the client's socket takes now; on_ready()
  // tells when it takes more. What it has not taken has to be offered again.
  [[nodiscard]] virtual transport::IoResult write(std::string_view first,
                                                  std::string_view second = {}) = 0;
  // Written, and not yet taken by the client's system.
  [[nodiscard]] virtual std::size_t queued_bytes() const = 0;
  // The client has reset the connection, or closed it in both directions.
  [[nodiscard]] virtual bool broken() const = 0;

  // Likewise, or the client has ended its sending.
  [[nodiscard]] virtual bool hangs_up() const { return broken(); }

  // Calls on_late() when the time for this is over, counted from `now`; for one thing at a time.
  virtual void wait(Wait what, TimePoint now) = 0;
  virtual void stop_waiting() = 0;
  // The session takes bytes again: has a turn (read_turn()) unless one is under way.
  virtual void take_input(TimePoint now) = 0;
  // There may be bytes to take. (When there are not, it would be a turn for nothing.)
  [[nodiscard]] virtual bool has_input() const = 0;
  // Calls on_ready() soon: the session has left something to do.
  virtual void call_again() = 0;

  // The connection becomes a tunnel. `read` was read behind the request.
  virtual void become_tunnel(TunnelRequest request, std::string_view read) = 0;
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
  virtual void start(std::string_view read, TimePoint now) = 0;
  // The stream has become readable or writable, or is broken.
  virtual void on_ready(TimePoint now) = 0;

  // A turn (read_turn()) of a session that leaves reading to its host: both yield whether it takes
  // bytes, or more of them.
  [[nodiscard]] virtual bool begin_turn(TimePoint /*now*/) { return false; }
  [[nodiscard]] virtual bool on_bytes(std::string_view /*bytes*/, TimePoint /*now*/) {
    return false;
  }
  // The client sends no more, in order or not.
  virtual void on_end() {}
  virtual void end_turn() {}

  // What it waited for has not come in time.
  virtual void on_late(TimePoint /*now*/) {}
  // It waits, and has to make room for others.
  virtual void on_no_room(TimePoint now) { on_late(now); }
  // What its end would free.
  [[nodiscard]] virtual std::size_t held_bytes() const { return 0; }
  // It waits for a request of which nothing has come.
  [[nodiscard]] virtual bool idles() const { return false; }
  // One that is idle ends at once, for its place.
  virtual void on_give_place() {}

  // The worker stops: no request after those that have begun.
  virtual void drain() = 0;
  // The connection is finished or closed: the last call, also out of one of the session's to its
  // host. Whatever is under way is given up, and counts as held no more.
  virtual void abandon() = 0;
};

}  // namespace prophecy::sketcher
