// An upgraded connection (RFC 9110, 7.8; WebSocket is the usual one) on a route in mode tunnel: the
// request goes to one origin, and once that has switched, bytes pass both ways as they are. Nothing
// is verified here; all of it is counted, and logged at its end. States:
//
//   connecting --> asking --> open --> over
//                    |
//                    +--> answering --> over      the origin did not switch: its answer, the end
//
// An origin that cannot be reached, or has all the tunnels that it may have, is replaced by another
// before anything was sent. Each direction
// holds what the other side does not take, and is read no further until that has gone.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "http/parser.hpp"
#include "sketcher/answer.hpp"
#include "sketcher/core/least_progress.hpp"
#include "sketcher/group_context.hpp"
#include "sketcher/session.hpp"
#include "sketcher/tunnel_request.hpp"
#include "transport/readiness_loop.hpp"

namespace prophecy::sketcher {

class TunnelSession final : public Session,
                            private transport::ReadinessHandler,
                            private TimeoutEntry {
 public:
  TunnelSession(SessionContext& context, SessionHost& host, TunnelRequest request);
  ~TunnelSession() override;

  // `read` is what the client has sent behind its request.
  void start(std::string_view read) override;
  void on_ready() override;
  // An open tunnel goes on until the worker's patience ends.
  void drain() override {}
  void abandon() override;

 private:
  enum class State : std::uint8_t { connecting, asking, open, answering, over };

  // Bytes from one side that the other one has not taken yet.
  struct Direction {
    std::string pending;
    std::size_t begin = 0;
    bool ended = false;  // by the side that they come from
    bool over = false;   // and the other side knows; or one of the two is broken

    void break_off() {
      pending.clear();
      begin = 0;
      over = true;
    }
  };

  void on_ready(std::uint32_t events) override;  // the origin's socket
  void on_timeout() override;

  // How an origin has done, for its health as for a fast read's.
  void count(http::ExchangeEnd end);
  void connect_to_another();
  [[nodiscard]] bool connect(const Endpoint& origin);
  void on_connected();
  void ask();
  void take_answer();
  void on_head();
  void switch_over();
  void deliver_answer();
  void fail(std::uint16_t status, std::string_view reason);
  void send_answer(const Answer& answer);
  void flush_answer();
  // Both directions, as far as they go.
  void pump();
  template <class From, class To>
  void pump(Direction& direction, From& from, To& to, Counter& bytes);
  void close_origin();
  void end();

  SessionContext& context_;
  SessionHost& host_;
  TunnelRequest request_;
  State state_ = State::connecting;
  std::uint64_t tried_ = 0;  // replicas, one bit each
  std::uint32_t full_ = 0;   // of these, those that had too many tunnels
  NodeId replica_ = 0;
  transport::ReadySocket origin_{UniqueFd()};
  std::size_t asked_ = 0;  // bytes of the request that the origin has taken
  http::Response response_;
  http::ResponseParser parser_;
  Direction to_origin_;
  Direction to_client_;
  LeastProgress progress_;      // of an answer that is no switch
  std::uint64_t bytes_in_ = 0;  // from the client
  std::uint64_t bytes_out_ = 0;
  TimePoint opened_;
};

}  // namespace prophecy::sketcher
