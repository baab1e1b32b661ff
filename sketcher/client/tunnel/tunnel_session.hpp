// An upgraded connection (RFC 9110, 7.8; WebSocket is the usual one) on a route in mode tunnel: the
// request goes to one origin, and once that has switched, bytes pass both ways as they are. Nothing
// is verified here; all of it is counted, and logged at its end. States:
//
//   connecting --> asking --> open --------------------> over    both sides have ended, in order
//                    |         |
//                    |         +--> client_broken --> lingering --> over
//                    |         +--> origin_broken --> over
//                    |
//                    +--> answering --> over      the origin did not switch: its answer, the end
//
// An origin that cannot be reached, or has all the tunnels that it may have, is replaced by another
// before anything was sent.
//
// A side that ends its sending in order may still be sent to. One that is broken (reset, or ended
// inside TLS without saying so) is not: what it has said goes to the other side, which has the time
// `send` for it, and then that one's connection ends, too. It ends with a FIN, not with a reset,
// which would take with it what has not arrived yet; inside TLS without a close_notify, so that it
// can be seen that more was to come. `lingering`: what the origin still says is discarded for a
// moment, since to close before it is read would be a reset as well. (A client's connection does
// so itself.)
//
// Held in memory: of either direction 16 KiB, or what came behind the request (64 KiB) or with the
// origin's head; of an answer that is no switch, all. It counts among what clients leave untaken.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "http/parser.hpp"
#include "sketcher/answer/answer.hpp"
#include "sketcher/client/http/session_context.hpp"
#include "sketcher/client/session/linger.hpp"
#include "sketcher/client/tunnel/tunnel_direction.hpp"
#include "sketcher/core/admission/least_progress.hpp"
#include "sketcher/core/admission/queue_progress.hpp"
#include "sketcher/group/group_context.hpp"
#include "sketcher/reads/tunnel_request.hpp"
#include "transport/byte_stream.hpp"
#include "transport/readiness_loop.hpp"

namespace prophecy::sketcher {

class TunnelSession final : public Session,
                            private transport::ReadinessHandler,
                            private TimeoutEntry,
                            private OriginUse {
 public:
  TunnelSession(SessionContext& context, StreamHost& host, TunnelRequest request);
  ~TunnelSession() override;

  // `read` is what the client has sent behind its request.
  void start(std::string_view read, TimePoint now) override;
  void on_ready(TimePoint now) override;
  // An open tunnel goes on until the worker's patience ends.
  void drain() override {}
  void abandon() override;

 private:
  enum class State : std::uint8_t {
    connecting,
    asking,
    open,
    client_broken,
    origin_broken,
    lingering,
    answering,
    over,
  };
  enum class Side : std::uint8_t { client, origin };

  void on_ready(std::uint32_t events) override;  // the origin's socket
  void on_timeout() override;
  void on_give_way() override;
  void on_cut() override;
  void on_send_timeout(const transport::ByteStream& to);
  [[nodiscard]] std::size_t held_bytes() const override { return held_.bytes(); }

  // How an origin has done, for its health as for a fast read's.
  void count(http::ExchangeEnd end);
  void connect_to_another();
  [[nodiscard]] bool connect(const Endpoint& origin);
  void on_connected();
  void ask();
  void take_answer();
  // `read` is what has come behind the origin's head.
  void switch_over(std::string_view read);
  void deliver_answer();
  void fail(std::uint16_t status, std::string_view reason);
  // What the origin has answered is no use.
  void fail_malformed();
  void send_answer(const Answer& answer);
  void flush_answer();
  // Both directions, as far as they go.
  void pump();
  void look_for_resets();
  void run_to_origin();
  void run_to_client();
  void on_run(const TunnelDirection::Run& run, Side from, Side to);
  void tell_end(TunnelDirection& direction, transport::ByteStream& to);
  void on_broken(Side side);
  [[nodiscard]] transport::ByteStream& stream_of(Side side) {
    return side == Side::client ? host_.stream() : *origin_;
  }
  void part_from_client();
  void part_from_origin();
  void discard();
  void count_held();
  void report_end();
  void close_origin();
  void end();

  SessionContext& context_;
  StreamHost& host_;
  TunnelRequest request_;
  State state_ = State::connecting;
  std::uint64_t tried_ = 0;  // replicas, one bit each
  std::uint32_t full_ = 0;   // of these, those that had too many tunnels
  NodeId replica_ = 0;
  std::optional<transport::ByteStream> origin_;
  std::size_t asked_ = 0;  // bytes of the request that the origin has taken
  http::Response response_;
  http::ResponseParser parser_;
  TunnelDirection to_origin_;
  TunnelDirection to_client_;   // or an answer that is no switch
  HeldBytes::Share held_;       // of both
  LeastProgress progress_;      // of an answer that is no switch, or of the last bytes
  QueueProgress queue_;         // likewise, while they are not taken
  Linger linger_;               // of the origin's connection
  std::uint64_t bytes_in_ = 0;  // from the client
  std::uint64_t bytes_out_ = 0;
  TimePoint opened_;
};

}  // namespace prophecy::sketcher
