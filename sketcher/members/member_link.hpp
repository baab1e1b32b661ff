// `MemberLink` is a worker's connection to one worker of another member: TCP, TLS 1.3 with a
// certificate on both sides, HTTP/2. Calls wait here until the member has accepted it and takes one
// more.
//
//   connecting --> handshake --> open --> closed
//
// It ends when the member does, or breaks a rule, or cannot be reached; calls under way end then,
// and those that were not sent as unprocessed. One that is worn (Http2ClientConnection::is_worn())
// takes no further calls, and ends with its last.
//
// Single-threaded, on the worker's loop. Its owner destroys it in a turn of its own after it has
// told that it is closed.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/timeout_queue.hpp"
#include "http/http2/client_connection.hpp"
#include "sketcher/counters/member_counters.hpp"
#include "sketcher/members/member_call.hpp"
#include "sketcher/shared/member_directory.hpp"
#include "transport/byte_stream.hpp"
#include "transport/readiness_loop.hpp"
#include "transport/tls_client.hpp"

namespace prophecy::sketcher {

class MemberLink;

class MemberLinkOwner {
 public:
  // Last call for it.
  virtual void on_link_closed(MemberLink& link) = 0;

 protected:
  ~MemberLinkOwner() = default;
};

// What the links of a worker share.
struct MemberLinkResources {
  transport::TlsClient& tls;
  transport::ReadinessLoop& readiness;
  TimeoutQueue& connect_timeouts;
  const http::MessageLimits& answer_limits;
};

class MemberLink final : private http::Http2CallHandler,
                         private transport::ReadinessHandler,
                         private TimeoutEntry {
 public:
  // All outlive it, but the name.
  MemberLink(MemberLinkResources& resources, MemberLinkOwner& owner, MemberCounters& counters,
             const std::string& name, const MemberAddress& address);
  ~MemberLink() override;

  [[nodiscard]] bool takes_calls() const;
  // Requires takes_calls().
  void add(MemberCall& call);
  // No more is heard of it.
  void remove(MemberCall& call);
  // Its owner takes so many more bytes of its answer.
  void consume(MemberCall& call, std::size_t bytes);
  // No further calls: it ends with the last of those that it has.
  void retire();

 private:
  enum class State : std::uint8_t { connecting, handshake, open, closed };

  void on_ready(std::uint32_t events) override;
  void on_timeout() override { close(); }  // not accepted in time
  void on_answer_head(http::Http2Call& call) override;
  void on_answer_bytes(http::Http2Call& call, std::string_view bytes) override;
  void on_call_end(http::Http2Call& call, http::Http2CallEnd end) override;

  void on_connected();
  void shake_hands();
  void read();
  [[nodiscard]] transport::IoStatus read_all();
  void pause_calls();
  void note(MemberCall& call);
  void send_waiting();
  void flush();
  void flush_later();
  void read_rest_and_close();
  void close();

  MemberLinkResources& resources_;
  MemberLinkOwner& owner_;
  MemberCounters& counters_;
  std::string name_;
  transport::ByteStream stream_;
  http::Http2ClientConnection connection_;
  std::deque<MemberCall*> waiting_;
  std::vector<MemberCall*> noted_;  // whose answers have had bytes in this turn
  std::string output_;
  std::size_t output_begin_ = 0;
  State state_ = State::connecting;
  bool retired_ = false;
  bool called_again_ = false;
};

}  // namespace prophecy::sketcher
