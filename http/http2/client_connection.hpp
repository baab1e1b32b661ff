// The client's side of one HTTP/2 connection (RFC 9113): requests in, bytes out; bytes in, answers
// out. nghttp2 knows the frames, HPACK, the streams' states and flow control; what is here bounds
// what a server can make us hold, and says which requests it cannot have begun.
//
// Flow control: bytes of the connection's window are given back as they arrive, those of a stream's
// when they are consumed. So a stream whose answer nobody takes holds its own window of bytes, and
// stops no other.
//
// No request is sent before the server's SETTINGS have come. With TLS 1.3 a client ends its side of
// the handshake first: a server that then rejects its certificate, or ends, has begun none of them.
//
// Fields that carry credentials never enter HPACK's table, which all requests of the connection
// share: whoever else can make requests could guess at them (RFC 7541, 7.1).
//
// No I/O, no clock. Single-threaded. A handler may call, cancel and consume; it may not destroy the
// connection, feed it or take its output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "http/http2/client_call.hpp"
#include "http/parser.hpp"

namespace prophecy::http {

// What a stream's answer may be ahead of who takes it.
constexpr std::size_t kHttp2CallWindowBytes = 256 << 10;

// How a call ended.
enum class Http2CallEnd : std::uint8_t {
  answered,     // the answer is whole
  unprocessed,  // the server has not begun it, and says or shows so: it may be made again
  broken_off,   // by the server; nobody knows what became of it
  lost,         // the connection has ended, likewise
  malformed,    // the answer breaks a rule or a limit
};
constexpr std::size_t kHttp2CallEndCount = 5;
[[nodiscard]] std::string_view to_string(Http2CallEnd end);

// A request's head, ready for the connection. Views of what it was given.
class Http2RequestHead {
 public:
  Http2RequestHead(std::string_view method, std::string_view scheme, std::string_view authority,
                   std::string_view path);
  Http2RequestHead(const Http2RequestHead&) = delete;
  Http2RequestHead& operator=(const Http2RequestHead&) = delete;
  // `name` in lower case, and none of a connection's own.
  void add(std::string_view name, std::string_view value);

 private:
  friend class Http2ClientConnection;
  std::vector<nghttp2_nv> fields_;
};

class Http2CallHandler {
 public:
  virtual void on_answer_head(Http2Call& call) = 0;
  // Each byte is to be consumed, now or later.
  virtual void on_answer_bytes(Http2Call& call, std::string_view bytes) = 0;
  // The last call for it.
  virtual void on_call_end(Http2Call& call, Http2CallEnd end) = 0;

 protected:
  ~Http2CallHandler() = default;
};

class Http2ClientConnection {
 public:
  // `limits` are those of answers; only what they say of fields is looked at. Both outlive it, and
  // so does a call that is under way.
  Http2ClientConnection(Http2CallHandler& handler, const MessageLimits& limits);
  ~Http2ClientConnection();
  Http2ClientConnection(const Http2ClientConnection&) = delete;
  Http2ClientConnection& operator=(const Http2ClientConnection&) = delete;

  // The connection is given up on when the server breaks a rule: is_over() then.
  void feed(std::string_view input);
  // Appends what may be sent, until `out` holds `size_max` bytes or a little more.
  void take_output(std::string& out, std::size_t size_max);

  // The server has sent its SETTINGS.
  [[nodiscard]] bool is_accepted() const { return accepted_; }
  // Likewise, and it takes one more.
  [[nodiscard]] bool has_room() const;
  // No call can be made here any more: the server ends the connection, or its numbers are used up.
  // Those under way go on.
  [[nodiscard]] bool is_worn() const;
  // Requires has_room() and not is_worn(). `body`, in either form, stays as it is until the call's
  // end.
  void call(Http2Call& call, const Http2RequestHead& head, std::string_view body,
            ByteSourcePtr large_body);
  // Room for so many more bytes of its answer.
  void consume(Http2Call& call, std::size_t bytes);
  // Nobody waits for it: no more is heard of it.
  void cancel(Http2Call& call);

  // The peer is gone, or is given up: all calls end as lost.
  void lose();
  [[nodiscard]] bool is_over() const { return over_; }
  // Nothing is to be sent, and nothing to be heard.
  [[nodiscard]] bool finished() const;
  [[nodiscard]] std::size_t calls() const { return calls_.size(); }

 private:
  struct Callbacks;
  friend struct Callbacks;

  [[nodiscard]] Http2Call* call_of(std::int32_t id) const;
  int on_header(Http2Call& call, std::string_view name, std::string_view value);
  void on_head(Http2Call& call, bool ends);
  void on_data(Http2Call& call, std::string_view bytes);
  void on_going_away(std::int32_t last_id);
  void on_closed(Http2Call& call, std::uint32_t error);
  void on_unsent(std::int32_t id);
  void note_end();
  void refuse(Http2Call& call);
  void end(Http2Call& call, Http2CallEnd how);
  void forget(Http2Call& call);

  Http2CallHandler& handler_;
  const MessageLimits& limits_;
  nghttp2_session* session_ = nullptr;
  std::vector<Http2Call*> calls_;  // under way
  bool over_ = false;
  bool accepted_ = false;
  bool going_away_ = false;
  bool busy_ = false;  // nghttp2 is at work
  std::string* out_ = nullptr;
  std::size_t out_size_max_ = 0;
};

}  // namespace prophecy::http
