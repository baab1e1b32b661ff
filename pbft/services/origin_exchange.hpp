// One request to the origin and the end of it, as the pool and its connections see it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.hpp"
#include "base/endpoint.hpp"
#include "http/message.hpp"
#include "http/parser.hpp"

namespace prophecy::pbft {

struct OriginSettings {
  Endpoint address;
  std::size_t connections_max = 64;
  Duration connect_timeout = seconds(1);
  Duration answer_timeout = seconds(10);  // from the start of the exchange to its last byte
  Duration idle_timeout = seconds(4);     // kept-alive connections are closed by us after this
  http::MessageLimits answer_limits;
};

enum class ExchangeEnd : std::uint8_t {
  answered,   // the response is whole and well-formed
  not_sent,   // no byte of the request has left: the origin cannot have seen it
  stale,      // a kept-alive connection closed before any byte of the answer
  broken,     // closed within the exchange
  timed_out,  // answer_timeout
  malformed,  // the answer is not HTTP, or beyond a limit
};

// Owned by the service; must stay where it is from OriginPool::start() to its handler's call.
struct OriginExchange {
  std::string_view wire;      // the request, whole
  bool answers_head = false;  // the answer has no body
  bool fresh_connection = false;  // not on a kept-alive one
  TimePoint started{};            // set by the pool
};

class OriginHandler {
 public:
  // `response` belongs to the connection and is valid during the call; it is meaningful for
  // `answered` only. The handler may start the exchange again.
  virtual void on_exchange_end(OriginExchange& exchange, ExchangeEnd end,
                               const http::Response& response) = 0;

 protected:
  ~OriginHandler() = default;
};

}  // namespace prophecy::pbft
