// The server's side of one HTTP/2 connection (RFC 9113): bytes in, requests out; answers in, bytes
// out. nghttp2 knows the frames, HPACK, the streams' states and flow control; what is here makes
// requests strict, bounds what a client can make us hold or do, and says why a connection ends.
//
// What a client can make us hold: `streams_max` requests with their fields; `bodies_bytes_max` of
// their bodies; `unsent_bytes_max` of answers that it does not take; a few KiB of frames of its own
// making. Beyond that streams are refused or broken off, or the connection ends.
//
// No I/O, and no clock but the one that is handed in. Single-threaded. A handler may answer and
// break off; it may not destroy the connection, feed it or take its output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "base/clock.hpp"
#include "http/http2/flood_guard.hpp"
#include "http/http2/frame_finder.hpp"
#include "http/http2/session_memory.hpp"
#include "http/http2/stream.hpp"
#include "http/parser.hpp"

namespace prophecy::http {

// The first bytes of a client that knows of HTTP/2 beforehand (RFC 9113, 3.4).
constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

struct Http2Limits {
  MessageLimits request;
  std::uint32_t streams_max = 100;
  std::size_t bodies_bytes_max = 32 << 20;
  std::size_t unsent_bytes_max = 64 << 20;
  // The client is a proxy of ours, which many clients share: it is not bounded in what it cancels,
  // what it says of a request by itself (Http2Stream::said_by_proxy) is believed, and requests have
  // the scheme that it names.
  bool is_from_proxy = false;
};

// The beginning of the names of fields that a proxy of ours adds.
constexpr std::string_view kProxyFieldPrefix = "prophecy-";

// Why we end a connection.
enum class Http2End : std::uint8_t {
  none,
  drained,    // the server stops, or the client was idle
  violation,  // the protocol was broken
  resets,     // more requests were taken back than a client has reason to
  frames,     // more frames without content than that
  fields,     // a header block beyond all limits
};
constexpr std::size_t kHttp2EndCount = 6;
[[nodiscard]] std::string_view to_string(Http2End end);

// An answer's status and fields, ready for the connection. Views of what add() was given.
class Http2Head {
 public:
  explicit Http2Head(std::uint16_t status);
  Http2Head(const Http2Head&) = delete;
  Http2Head& operator=(const Http2Head&) = delete;
  void add(std::string_view name, std::string_view value);

 private:
  friend class Http2ServerConnection;
  char status_[3];
  std::vector<nghttp2_nv> fields_;
};

class Http2Handler {
 public:
  // A stream for a new request, which stays until on_stream_closed().
  virtual Http2Stream& on_stream_opened() = 0;
  // The request has begun, or so many bytes of its body have come. What is taken out of the body
  // counts no more among what is held.
  virtual void on_progress(Http2Stream& stream, std::size_t bytes) = 0;
  // The request is whole; it is to be answered, now or later.
  virtual void on_request(Http2Stream& stream) = 0;
  // It cannot be served; this is to be answered.
  virtual void on_refused(Http2Stream& stream, const ParseFailure& failure) = 0;
  // The client has broken a rule of HTTP/2 with a stream, which has been reset for it.
  virtual void on_violation(std::string_view reason) = 0;
  // So many bytes of the answer's body have left, and not all that are here.
  virtual void on_sent(Http2Stream& stream, std::size_t bytes) = 0;
  // All that was here of the answer's body has left, and more is to come: append() is awaited,
  // after this call.
  virtual void on_drained(Http2Stream& stream) = 0;
  // Memory that a large body lay in, which is needed no more.
  virtual void on_storage_free(std::string& storage) { std::string().swap(storage); }
  // The last call for it: it was answered, or broken off by either side.
  virtual void on_stream_closed(Http2Stream& stream) = 0;

 protected:
  ~Http2Handler() = default;
};

class Http2ServerConnection {
 public:
  // `scheme` is what requests have to name. The handler, the limits and what scheme looks into
  // must outlive it, and so must the pool. Without a pool, rest() gives back nothing of nghttp2's.
  Http2ServerConnection(Http2Handler& handler, const Http2Limits& limits, std::string_view scheme,
                        SessionMemoryPool* memory = nullptr);
  ~Http2ServerConnection();
  Http2ServerConnection(const Http2ServerConnection&) = delete;
  Http2ServerConnection& operator=(const Http2ServerConnection&) = delete;

  // From the preface on. After the end of the connection has begun, input is ignored.
  void feed(std::string_view input, TimePoint now);
  // Appends what may be sent, until `out` holds `size_max` bytes or a little more.
  void take_output(std::string& out, std::size_t size_max);

  // `body` need not live on after the call, in which as much as can be goes to `out` at once (as by
  // take_output()): that much is copied once. The rest, if it is large and the body lies in
  // `storage`, is not copied: the storage is swapped out. False: too much is unsent already, and
  // the stream was broken off.
  [[nodiscard]] bool answer(Http2Stream& stream, const Http2Head& head, std::string_view body,
                            std::string& out, std::size_t size_max, std::string* storage = nullptr);
  // An answer whose body, of `size` bytes and not empty, is still to come. kUnknownSize: until
  // finish().
  static constexpr std::uint64_t kUnknownSize = UINT64_MAX;
  void begin(Http2Stream& stream, const Http2Head& head, std::uint64_t size);
  // The next bytes of it: part of `storage`, which is swapped for one that is needed no more. None
  // of those before may be unsent.
  void append(Http2Stream& stream, std::string& storage, std::size_t begin, std::size_t size);
  // Of unknown size: what was appended is all.
  void finish(Http2Stream& stream) {
    stream.left_ = stream.unsent_.size();
    static_cast<void>(nghttp2_session_resume_data(session(), stream.id_));
  }
  // The rest of it cannot be had: the stream ends with INTERNAL_ERROR, which is nobody else's.
  void cut_off(Http2Stream& stream);
  // Of a client that takes or sends too little.
  void break_off(Http2Stream& stream);
  // A request that is not whole will not become so. It may be answered; what still comes is
  // dropped.
  void stop_receiving(Http2Stream& stream);
  // No stream after those that are open; those are still served.
  void shut_down();

  // Nothing is expected for a while: holds as little as it can until the next call. REQUIRES: no
  // stream is open, and no header block under way.
  void rest();
  [[nodiscard]] bool rests() const { return memory_.is_packed(); }
  // The size of nghttp2's memory while it rests.
  [[nodiscard]] std::size_t resting_bytes() const { return memory_.packed_bytes(); }

  // Nothing is left to do: once what take_output() yields is sent, the connection can be closed.
  [[nodiscard]] bool finished() const;
  // Why we have ended it, if we have.
  [[nodiscard]] Http2End end() const { return end_; }
  // A request has begun and its fields are not all there.
  [[nodiscard]] bool in_header_block() const { return in_header_block_ != nullptr; }
  [[nodiscard]] std::size_t streams() const { return streams_; }
  [[nodiscard]] std::uint64_t streams_opened() const { return streams_opened_; }
  // The client's windows let the stream send.
  [[nodiscard]] bool has_window(const Http2Stream& stream) const;
  // Of answers, by all streams.
  [[nodiscard]] std::size_t unsent_bytes() const { return unsent_bytes_; }
  // What requests take in memory that are not whole.
  [[nodiscard]] std::size_t arriving_bytes() const { return arriving_bytes_; }

 private:
  struct Callbacks;
  friend struct Callbacks;

  struct ClosedStream {
    std::int32_t id;
    bool by_us;  // the client did not know yet
  };

  // Ends the rest.
  [[nodiscard]] nghttp2_session* session() const {
    memory_.unpack();
    return session_;
  }
  void take(std::string_view input);
  void take_all(std::string_view input);
  [[nodiscard]] std::size_t field_bytes_max() const;
  [[nodiscard]] bool given_up() const;
  int on_begin_frame(const nghttp2_frame_hd& header);
  [[nodiscard]] std::uint32_t error_of_stream(std::int32_t id) const;
  void remember_closed(ClosedStream stream);
  void on_invalid_frame(std::int32_t id, int error);
  int on_begin_headers(std::int32_t id);
  int on_header(Http2Stream* stream, std::string_view name, std::string_view value, bool valid);
  int on_frame(const nghttp2_frame& frame);
  int on_data(Http2Stream* stream, std::string_view data);
  void count_held(Http2Stream& stream);
  void on_head(Http2Stream& stream, bool ends);
  // False: the stream was broken off.
  [[nodiscard]] bool submit(Http2Stream& stream, const Http2Head& head, std::uint64_t body_bytes);
  void reset(Http2Stream& stream, std::uint32_t error);
  void on_frame_sent(const nghttp2_frame& frame);
  void on_closed(Http2Stream& stream);
  void on_whole(Http2Stream& stream);
  void refuse(Http2Stream& stream, const ParseFailure& failure);
  void count_unsent(Http2Stream& stream, std::size_t bytes);
  // What nghttp2 takes for "stop reading".
  int give_up(Http2End why, std::uint32_t error = NGHTTP2_ENHANCE_YOUR_CALM);
  [[nodiscard]] Http2Stream* stream_of(std::int32_t id) const;

  Http2Handler& handler_;
  const Http2Limits& limits_;
  std::string_view scheme_;
  mutable SessionMemory memory_;
  nghttp2_session* session_ = nullptr;
  FrameFinder finder_;
  FloodGuard guard_;
  TimePoint now_{};
  Http2End end_ = Http2End::none;
  Http2Stream* in_header_block_ = nullptr;  // whose fields are not all there
  std::size_t streams_ = 0;
  std::uint64_t streams_opened_ = 0;
  std::size_t bodies_bytes_ = 0;  // of requests that are not whole
  std::size_t arriving_bytes_ = 0;
  std::size_t unsent_bytes_ = 0;
  std::int32_t last_id_ = 0;          // the highest that was named
  std::int32_t last_served_ = 0;      // the last that is, once the connection is drained
  std::vector<ClosedStream> closed_;  // the last ones
  std::size_t closed_next_ = 0;       // the oldest of them, once there are many
  bool busy_ = false;                 // nghttp2 is at work, and may not be asked to send
  std::string* out_ = nullptr;        // while frames are taken
  std::size_t out_size_max_ = 0;
  const Http2Stream* answering_ = nullptr;  // in answer(), until it is closed
};

}  // namespace prophecy::http
