// `RequestHandler` answers the requests of a session, or of one of its streams, one after another.
// An Exchange does; a session knows no more of it than this, so that a test can answer in its
// place.
//
// Single-threaded. The sink outlives the handler, and is called as exchange.hpp says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "sketcher/reads/exchange.hpp"

namespace prophecy::sketcher {

class RequestHandler {
 public:
  virtual ~RequestHandler() = default;

  // These are Exchange's.
  virtual void start(http::Request& request, const ClientInfo& client, TimePoint now) = 0;
  [[nodiscard]] virtual std::optional<sketch::Refusal> refuse_by_head(const http::Request& request,
                                                                      const ClientInfo& client,
                                                                      std::uint64_t body_bytes) = 0;
  virtual void abandon() = 0;
  virtual void on_writable() = 0;
  [[nodiscard]] virtual bool reads_fast() const = 0;
  [[nodiscard]] virtual bool asks_group() const = 0;
  [[nodiscard]] virtual bool is_idle() const = 0;
  // Its answer may have no end: it ends when the client goes.
  [[nodiscard]] virtual bool streams() const { return false; }
  virtual void shrink(std::size_t bytes_max) = 0;
  [[nodiscard]] virtual std::size_t request_bytes() const = 0;
  // Until the next request, or shrink().
  [[nodiscard]] virtual const AnswerRuling* ruling() const { return nullptr; }
};

// Makes them for sessions.
class RequestHandlers {
 public:
  [[nodiscard]] virtual std::unique_ptr<RequestHandler> make(AnswerSink& sink) = 0;

 protected:
  ~RequestHandlers() = default;
};

}  // namespace prophecy::sketcher
