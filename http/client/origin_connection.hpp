// One connection of an OriginPool. It carries one exchange at a time or, where the pool's settings
// and the exchanges allow it, several behind each other (pipelining). States:
//
//   connecting --> busy --> answered --> idle --> busy    (a TLS handshake is part of connecting)
//        \          |          |          /
//         +------> closed <----+---------+     (destroyed when no operation is pending any more)
//
// Answered: it is not idle before all that the origin has sent so far was read. Bytes behind the
// answer would be taken for the answer to whoever is sent next.
//
// The loop tells when there is something to read, so that an origin that hangs up on an idle
// connection is noticed at once and not by the next request.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "http/client/origin_pool.hpp"
#include "http/pipeline/answer_queue.hpp"
#include "transport/byte_stream.hpp"
#include "transport/readiness_loop.hpp"

namespace prophecy::http {

class OriginConnection final : private TimeoutEntry,
                               private transport::ReadinessHandler,
                               private ComingAnswers::Holder {
 public:
  explicit OriginConnection(OriginPool& pool);

  // A new connection: connects, then sends the request.
  void open(OriginExchange& exchange);
  // An idle connection, or one that may be shared: sends the request.
  void send(OriginExchange& exchange);
  // The exchange is cancelled. The answers behind its own are still awaited; when there are none,
  // or when half of its request has left, the connection is closed.
  void leave(OriginExchange& exchange);
  // For the exchange in pieces that it carries.
  void pause() { paused_ = true; }
  void resume();
  // Cancels whatever it carries and closes.
  void stop();
  // Busy, and an exchange of this class may be sent behind those that it carries.
  // (`depth_max`: by the pace of the class.)
  [[nodiscard]] bool may_share(PathClass of, std::size_t depth_max, TimePoint now) const;
  // Idle, and this one may be sent.
  [[nodiscard]] bool may_take(const OriginExchange& exchange) const;
  // An answer to an earlier request may still come: an origin may have answered too much or too
  // little while exchanges shared the connection, or may send a body behind the answer to HEAD,
  // at all origins alike. Only verified exchanges may follow: they do not deliver another's answer.
  [[nodiscard]] bool is_doubtful() const { return is_doubtful_; }
  // Closes an idle connection, and leaves its local port free.
  void displace() { close(Closing::abort); }
  // Let in by what has been read anew since (TlsClient::reload()): it is to carry nothing more.
  [[nodiscard]] bool is_outdated() const;
  // How many answers are to come.
  [[nodiscard]] std::size_t depth() const { return carried_.size(); }
  // Some of the request has left.
  [[nodiscard]] bool has_sent(const OriginExchange& exchange) const;
  // A write at the end of this turn of the loop.
  [[nodiscard]] bool flush_pending() const { return flush_pending_; }
  void flush();
  // Once a tick, while it is_watched(): those that wait behind another for too long end delayed.
  void look_at_waiting(TimePoint now);
  // Exchanges wait behind another, or the answer of one that others may wait behind is late.
  [[nodiscard]] bool is_watched() const {
    return state_ == State::busy && (carried_.size() > 1 || is_late_);
  }

 private:
  friend class OriginPool;
  enum class State : std::uint8_t { connecting, busy, answered, idle, closed };
  struct Carried : QueuedAsk {
    OriginExchange* exchange;  // null: cancelled, its answer is skipped
    std::string_view wire;     // meaningless once it is sent
    const ByteSource* body;    // null: none behind the wire; likewise
    std::uint64_t body_begin;  // in it
    std::uint64_t sent;        // bytes of both
    std::uint64_t size;        // of both
    bool answers_head;
    bool verified;
    bool pipelined;
    std::size_t piece_bytes;
    bool streamed;
    std::size_t whole_bytes;  // 0 once it comes in pieces

    explicit Carried(OriginExchange& of);
    [[nodiscard]] bool is_wanted() const { return exchange != nullptr; }
    [[nodiscard]] bool has_left() const { return sent > 0; }
    [[nodiscard]] bool is_sent() const { return sent == size; }
    void forget() { exchange = nullptr; }
  };

  void on_timeout() override;
  void on_ready(std::uint32_t events) override;
  void give_way() override;
  // Says how much the answer holds that is being read.
  void note_held();
  void note_none_held() {
    held_.set(0, {});
    gives_way_ = false;
  }
  // An errno, or 0: the loop will tell how it went on.
  [[nodiscard]] int start_connecting();
  void on_connected(int error);
  [[nodiscard]] bool announce();
  void shake_hands();
  void on_established();
  void write();
  // One call to the socket, or to TLS for each request; what was taken is noted. `ended`: a body
  // cannot be read any more.
  [[nodiscard]] transport::IoStatus write_some();
  [[nodiscard]] transport::IoStatus write_tls();
  // A piece of it.
  [[nodiscard]] transport::IoStatus write_body(Carried& one);
  void read();
  // Where the next bytes belong: in the body itself, once only plain bytes of it are to come; else
  // in `input`.
  [[nodiscard]] std::span<char> read_buffer(std::span<char> input);
  void on_read(transport::IoStatus status, std::string_view bytes);
  void on_bytes(std::string_view input);
  void on_body_bytes(std::size_t size);
  void on_head();
  // For the whole body, or the next piece: got at once, and not bit by bit.
  void make_room();
  // Tells the handler of an exchange in pieces, who may close this connection.
  void report_progress();
  // The first byte of the first exchange's answer is there.
  void begin_answer();
  void on_answer_complete();
  void on_end_of_stream(bool orderly);
  void on_answered(bool reusable);
  void on_nothing_behind_answer();
  void give_back(std::unique_ptr<AnswerReader> reader);
  // Closes, and ends the first exchange. The others are put back.
  void fail(ExchangeEnd end);
  // By abort(), the local port is free at once, and what the origin has not received is lost. Only
  // for what has been answered, or nobody wants to take effect.
  enum class Closing : std::uint8_t { orderly, abort };
  void close(Closing closing = Closing::orderly);
  // Closes with exchanges on it, all of which are put back. `untouched`: the origin has said that
  // it does nothing about them.
  void close_and_put_back(bool untouched, Closing closing = Closing::orderly);
  // Behind those that it carries.
  void carry(OriginExchange& exchange, TimePoint now);
  [[nodiscard]] bool is_in_record() const;
  // Its answer is the next one from now on.
  void note_first(TimePoint now);
  // How the first exchange was answered, for the pace of the origin.
  void note_answered(const Carried& answered);
  [[nodiscard]] AnswerQueue<Carried>::iterator find(const OriginExchange& exchange);
  // Destroys a closed connection once nobody is in its code any more.
  void operation_ended();

  OriginPool& pool_;
  transport::ByteStream stream_;
  int connect_error_;
  State state_ = State::connecting;
  std::uint64_t tls_generation_ = 0;
  bool reused_ = false;  // an exchange has been answered on it
  bool is_doubtful_ = false;
  bool flush_pending_ = false;    // the pool calls flush() at the end of the turn
  bool write_blocked_ = false;    // the socket takes nothing more for now
  std::uint8_t pending_ = 0;      // posted calls under way
  TimePoint first_since_{};       // since when the first answer has been the next one (awake)
  Duration late_after_{};         // it is late when it takes longer
  bool is_late_ = false;          // it takes too long for others to wait behind it
  std::size_t answered_ = 0;      // exchanges, on this connection
  AnswerQueue<Carried> carried_;  // in the order of their answers; not yet sent ones last
  bool reading_ = false;          // what was read is being looked at
  bool paused_ = false;
  bool reads_body_ = false;  // the read under way goes into the body, behind body_bytes_
  std::size_t body_bytes_ = 0;
  // Of the first exchange's answer, once that has begun. A handler that cancels its exchange may go
  // on looking at the response, so a connection that is closed under it keeps the reader.
  std::unique_ptr<AnswerReader> reader_;
  ComingAnswers::Share held_;
  bool gives_way_ = false;  // what it reads is to be let go
};

}  // namespace prophecy::http
