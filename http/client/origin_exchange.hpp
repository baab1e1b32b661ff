// One request to an origin and the answer to it, as its owner, the pool and a connection see it.
//
// The owner keeps the exchange where it is from OriginPool::start() until its handler is called or
// it is cancelled, and may then use it again. An exchange that dies is cancelled.
//
// Single-threaded, with the pool's event loop.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/timeout_queue.hpp"
#include "http/exchange_end.hpp"
#include "http/message.hpp"
#include "http/pipeline/path_class.hpp"

namespace prophecy::http {

class OriginPool;
class OriginConnection;
class OriginExchange;

class OriginHandler {
 public:
  // Called exactly once for each start(), possibly before that returns. `response` belongs to the
  // pool, is valid during the call, and is meaningful for `answered` only: what is kept of it has
  // to be moved out. May start the exchange again.
  virtual void on_exchange_end(OriginExchange& exchange, ExchangeEnd end, Response& response) = 0;
  // Of an exchange in pieces: its head is complete, or its body has grown to a piece or more. The
  // handler takes out of response.body what it wants no more kept there; the rest of the body, if
  // it makes no whole piece, is there at the end. May cancel, pause or extend the exchange. After a
  // pause one more call may follow, with what has been read already.
  virtual void on_exchange_progress(OriginExchange& /*exchange*/, Response& /*response*/) {}

 protected:
  ~OriginHandler() = default;
};

struct ExchangeRequest {
  std::string_view wire;  // the request, whole; stays as it is until the end
  // Null, or what belongs behind the wire, from `body_begin` on; likewise. With each 8 MiB that
  // the origin takes of it the time for its answer begins anew. When it cannot be read: broken.
  const ByteSource* body = nullptr;
  std::uint64_t body_begin = 0;
  bool answers_head = false;      // the answer has no body
  bool fresh_connection = false;  // never on a kept-alive one, which may be closed under it
  // When it ends stale, it is sent once more on a fresh connection. For what may be repeated.
  bool repeat_when_stale = false;
  // The handler compares the answer with what is known of the right one, and repeats the request
  // elsewhere if it differs. Such a request changes nothing, and may go on a connection on which an
  // answer to another request could be lying.
  bool verified = false;
  // May be sent behind others whose answers are not there yet, where the pool's settings and the
  // origin's pace allow that. Whatever goes wrong with those in front makes it stale: it has to be
  // repeatable, and verified. If those in front take too long it ends delayed.
  bool pipelined = false;
  // Not 0: the body comes in pieces of so many bytes, and has no limit but its handler's. Not
  // pipelined.
  std::size_t piece_bytes = 0;
  // With pieces: each is told of as it comes, be it as small as it likes; the exchange has the time
  // `stream` in place of `answer`, and no limit to a body without a declared length.
  bool streamed = false;
  // With pieces: a body of at most so many bytes comes whole for all that, without any progress;
  // one whose length is not declared has to, or is too large.
  std::size_t whole_bytes = 0;
};

class OriginExchange final : private TimeoutEntry {
 public:
  explicit OriginExchange(OriginHandler& handler) : handler_(&handler) {}
  ~OriginExchange() override { cancel(); }

  // The handler is not called any more. What was sent may still take effect.
  void cancel();
  [[nodiscard]] bool active() const { return pool_ != nullptr; }
  // Of an active one: how it ends if it gets no more time.
  [[nodiscard]] ExchangeEnd end_without_time() const;

  // Of an active exchange in pieces whose head is complete. The time for its answer begins anew.
  void extend();
  // Nothing more is read, and no time passes for it, until resume().
  void pause();
  void resume();

 private:
  friend class OriginPool;
  friend class OriginConnection;

  void on_timeout() override;

  OriginHandler* handler_;
  ExchangeRequest request_;
  PathClass path_class_ = 0;                // of a pipelined one
  bool was_put_back_ = false;               // from a connection that was closed
  OriginPool* pool_ = nullptr;              // from start() to the end
  OriginConnection* connection_ = nullptr;  // while on one, not in the pool's queue
};

}  // namespace prophecy::http
