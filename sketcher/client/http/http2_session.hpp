// HTTP/2 on one connection: the streams of http/http2/ with an exchange each, and their time-outs.
//
// A stream: its request arrives; it waits while the client leaves much of earlier answers untaken,
// or, with others of its connection under way, while all connections' requests that are so hold too
// much; the exchange runs; its answer is sent as the client's windows allow. A client that takes a
// request back does not stop a fast read: that ends soon enough, and to give it up would cost a
// connection to the origin.
//
// Once an answer is handed over, be it sent or not, nothing is left of its request. (An answer in
// blocks keeps what asks origins for the rest, which counts as held of the answer.)
//
// Of an answer in blocks a stream holds one that is sent and one that is read; when its windows are
// shut, nothing is read from the origin. There is room for so many of them on one connection;
// others wait for their beginning until one has ended.
//
// Deterministic: bytes come in; the time is the host's, and what has a time of its own waits in the
// queues that it was given. A body beyond [spool]'s threshold is the exception: it goes to a file
// from here.
//
// What is to be sent is gathered until the end of the loop's turn: answers that come together leave
// together.
//
// A connection that has waited for its next request for a second rests: its memory is packed
// (http/http2/session_memory.hpp) until something comes. However many of them end at once, no more
// than one has its memory restored for that at a time.
#pragma once

#include <memory>
#include <vector>

#include "http/http2/server_connection.hpp"
#include "sketcher/answer/answer.hpp"
#include "sketcher/client/session/connection_timeouts.hpp"
#include "sketcher/client/session/session.hpp"
#include "sketcher/core/admission/least_progress.hpp"
#include "sketcher/core/admission/queue_progress.hpp"
#include "sketcher/reads/member_fields.hpp"

namespace prophecy::sketcher {

// What the HTTP/2 sessions of a worker share, beside SessionResources: those of clients, or those
// of members of the ring (limits.is_from_proxy). A member's connection carries many clients. What
// bounds one of them acts on its stream, and never on the connection; and how long a client may
// take is that member's to see to.
struct Http2Resources {
  http::Http2Limits limits;
  ConnectionTimeouts& timeouts;
  // With so much of earlier answers not taken, no further exchange starts on a connection.
  std::size_t unsent_for_start_max = 1 << 20;
  // Of all answers in blocks on one connection: those beyond it wait for others to end.
  std::size_t block_bytes_max = 8 << 20;
  // By whom members' clients may be trusted to come.
  TrustedPeers trusted_peers{};
  // What sessions take their streams from, the last used one at the back.
  std::vector<std::unique_ptr<http::Http2Stream>> spare_streams{};
  // What sessions of clients take nghttp2's memory from. (Members' connections are few, and busy.)
  http::SessionMemoryPool memory{};
};

class Http2Session final : public Session, private http::Http2Handler, private TimeoutEntry {
 public:
  // All outlive it.
  Http2Session(SessionResources& resources, Http2Resources& http2, SessionHost& host);
  ~Http2Session() override;

  void start(std::string_view read, TimePoint now) override;
  void on_ready(TimePoint now) override;
  [[nodiscard]] bool begin_turn(TimePoint now) override;
  [[nodiscard]] bool on_bytes(std::string_view bytes, TimePoint now) override;
  void on_end() override { close(); }
  void drain() override;
  void abandon() override;

 private:
  class Stream;
  // What the connection's own time-out is about.
  enum class Waiting : std::uint8_t { nothing, first_request, next_request, room };
  // Of a request's fields, whatever the connection waits for meanwhile.
  struct FieldsTimeout final : TimeoutEntry {
    explicit FieldsTimeout(Http2Session& of) : session(of) {}
    void on_timeout() override { session.give_up(); }
    [[nodiscard]] std::size_t held_bytes() const override {
      return session.connection_.arriving_bytes();
    }
    Http2Session& session;
    std::uint64_t request = 0;  // how many streams had been opened with it
  };

  // A connection that waits for its next request has one lull after another.
  struct LullTimeout final : TimeoutEntry {
    explicit LullTimeout(Http2Session& of) : session(of) {}
    void on_timeout() override { session.on_lull(); }
    Http2Session& session;
  };

  // Between two looks whether all connections together have room for one more request of this one.
  struct AskingTimeout final : TimeoutEntry {
    explicit AskingTimeout(Http2Session& of) : session(of) {}
    void on_timeout() override { session.flush_later(); }
    Http2Session& session;
  };

  http::Http2Stream& on_stream_opened() override;
  void on_progress(http::Http2Stream& stream, std::size_t bytes) override;
  void on_request(http::Http2Stream& stream) override;
  void on_refused(http::Http2Stream& stream, const http::ParseFailure& failure) override;
  void on_violation(std::string_view reason) override { resources_.count_refusal(reason); }
  void on_sent(http::Http2Stream& stream, std::size_t bytes) override;
  void on_drained(http::Http2Stream& stream) override;
  void on_storage_free(std::string& storage) override { resources_.bodies.give_back(storage); }
  void on_stream_closed(http::Http2Stream& stream) override;
  void on_timeout() override;
  void on_give_way() override;
  [[nodiscard]] bool is_idle(Duration waited) const override;
  void on_give_place() override;
  [[nodiscard]] std::size_t held_bytes() const override;

  [[nodiscard]] bool is_member() const { return http2_.limits.is_from_proxy; }
  // Whether the turn goes on.
  [[nodiscard]] bool takes_more();
  [[nodiscard]] bool has_room() const;
  void give_back_unused();
  void flush();
  void flush_later();
  void count_held();
  // False when the stream takes no more for now, or is gone.
  [[nodiscard]] bool write_output();
  // All connections together have some for one more request of this one.
  [[nodiscard]] bool has_room_to_ask() const;
  void start_waiting();
  void send(Stream& stream, const Answer& answer, std::string* storage);
  // Of an answer in blocks: as AnswerSink has it.
  [[nodiscard]] bool may_take_blocks(Stream& stream, std::uint32_t bytes_of_each);
  void begin(Stream& stream, const Answer& answer);
  void append(Stream& stream, std::string& storage, std::size_t begin, std::size_t size);
  void finish(Stream& stream);
  void cut_off(Stream& stream);
  void give_back_blocks(Stream& stream);
  [[nodiscard]] bool has_room_for(std::size_t block_bytes) const;
  // Asks for the next blocks of those that have sent theirs. False: there are none.
  bool go_on_with_blocks();
  void on_stream_timeout(Stream& stream);
  void end_late(Stream& stream);
  void recycle(Stream& stream);
  // True: and answered.
  [[nodiscard]] bool is_refused_by_head(Stream& stream);
  void refuse_body(Stream& stream);
  // Counts it as well, unless its head has been refused: then that is the answer.
  void refuse(Stream& stream, std::uint16_t status, std::string_view reason);
  void wait_for_fields();
  void wait_for(Waiting what);
  [[nodiscard]] Waiting next_wait() const;
  // Of a client that is too slow.
  void give_up();
  void on_lull();
  // Gives back all memory that the next request can have anew.
  void rest();
  // No stream after those that are open.
  void shut_down();
  // Packs the memory of a connection that was shut down and has no stream.
  void pack_at_end();
  void finish();
  void close();

  SessionResources& resources_;
  Http2Resources& http2_;
  SessionHost& host_;
  http::Http2ServerConnection connection_;
  std::vector<std::unique_ptr<Stream>> streams_;  // lent to this session
  std::vector<Stream*> unused_;                   // of these, until the end of the turn
  std::vector<Stream*> waiting_;                  // whole requests that have not started
  std::size_t waiting_bytes_ = 0;                 // that they take in memory
  std::size_t forms_bytes_ = 0;              // of heads whose bodies are still to come, or wait
  std::vector<Stream*> drained_;             // all that came of their answers is sent
  std::vector<Stream*> waiting_for_blocks_;  // until others have ended
  std::size_t block_bytes_ = 0;              // that the answers in blocks may hold
  std::string output_;
  std::size_t output_begin_ = 0;
  std::size_t kept_bytes_ = 0;  // of the requests of answers in blocks
  HeldBytes::Share untaken_;    // of output_, of answers that are not in it yet, and kept_bytes_
  HeldBytes::Share arriving_;   // of requests that are not whole, or wait
  HeldBytes::Share asking_;     // of those whose exchanges run
  LeastProgress progress_;      // of what the socket takes
  QueueProgress queue_;         // while it takes nothing
  Waiting wait_ = Waiting::nothing;
  FieldsTimeout fields_timeout_{*this};
  AskingTimeout asking_timeout_{*this};
  LullTimeout lull_timeout_{*this};
  std::uint8_t lulls_ = 0;          // that are over, of those until it rests
  std::uint8_t lulls_to_rest_ = 1;  // since the last request
  bool asked_before_ = false;       // for a request, on this connection
  int reads_ = 0;                   // of this turn
  bool unread_ = false;             // the stream may have more
  bool flushing_ = false;           // at the latest at the end of this turn
  bool shuts_down_ = false;         // in its next turn: it rests now
  bool over_ = false;               // finished or closed
};

}  // namespace prophecy::sketcher
