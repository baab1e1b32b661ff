// HTTP/1.x on one connection. Requests are taken one after another, pipelined ones too, and
// answered in their order. States:
//
//   +--> head --> body --> exchanging --> flushing --+     a request, its answer, and the next
//   |      |        |                        |       |
//   +------|--------|------------------------|-------+
//          |        |         +--> sending --+
//          +--------+----------------|-------+--> finished
//
// `sending`: an answer in blocks, of which more is to come. `finished`: our last answer is written,
// the connection ends. Any state may go straight there: the client has left, or was too slow.
//
// Deterministic: bytes and the time come in, and what is to be done goes to the host. A body beyond
// [spool]'s threshold is the exception: it goes to a file from here.
//
// A client that is reset or closed in both directions while the group is asked is given up at once;
// a fast read ends soon enough, and to give it up would cost a connection to the origin. A client
// that has only ended its sending (FIN) gets its answer.
#pragma once

#include "http/parser.hpp"
#include "sketcher/answer/answer_writer.hpp"
#include "sketcher/client/session/session.hpp"
#include "sketcher/core/admission/least_progress.hpp"
#include "sketcher/core/admission/queue_progress.hpp"

namespace prophecy::sketcher {

class Http1Session final : public Session, private AnswerSink, private BodyOwner {
 public:
  // Requests that are answered at once in one turn: beyond them, other connections have theirs.
  static constexpr int kRequestsOfTurn = 32;

  // Both outlive it.
  Http1Session(SessionResources& resources, SessionHost& host);
  ~Http1Session() override;

  void start(std::string_view read, TimePoint now) override;
  void on_ready(TimePoint now) override;
  [[nodiscard]] bool begin_turn(TimePoint now) override;
  [[nodiscard]] bool on_bytes(std::string_view bytes, TimePoint now) override;
  void on_end() override { close(); }
  void end_turn() override;
  void on_late(TimePoint now) override;
  void on_no_room(TimePoint now) override;
  [[nodiscard]] std::size_t held_bytes() const override {
    return reading() ? arriving_.bytes() : untaken_.bytes();
  }
  [[nodiscard]] bool idles() const override {
    return state_ == State::head && parser_.idle() && unparsed_.empty();
  }
  void on_give_place() override { close(); }
  void drain() override;
  void abandon() override;

 private:
  enum class State : std::uint8_t { head, body, exchanging, sending, flushing, finished };

  void on_answer(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                 std::string* storage) override;
  [[nodiscard]] bool has_left() const override { return false; }
  void on_error(std::uint16_t status, std::string_view reason) override;
  void on_tunnel(TunnelRequest tunnel) override;
  bool may_take_blocks(std::uint32_t /*bytes_of_each*/) override { return true; }
  void on_large_begin(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch) override;
  bool on_large_bytes(std::string& storage, std::size_t begin, std::size_t size) override;
  void on_large_end(bool whole) override;
  void on_passed(const http::Response& answer) override;
  void on_passed_begin(const http::Response& head, std::uint64_t size) override;

  [[nodiscard]] bool reading() const { return state_ == State::head || state_ == State::body; }
  // Whether the turn goes on; if others have to have theirs first, it does so soon.
  [[nodiscard]] bool takes_more();
  void take_unparsed();
  void drop_unparsed();
  // Yields how many bytes were parsed: all, unless a request is whole, or its turn is over.
  [[nodiscard]] std::size_t parse(std::string_view input);
  void on_head();
  void on_request();
  void look_for_client();
  // A chunk goes to output_.
  void append_chunk(std::string_view bytes);
  void cut_off();
  void wait(Wait what);
  void stop_waiting();
  // What has come of a body. False: as of BodyIntake::take().
  [[nodiscard]] bool take_body();
  // The request goes no further: counts it, unless its head has been refused.
  void give_up(std::uint16_t status, std::string_view reason);
  void refuse(std::uint16_t status, std::string_view reason);
  void on_body_refused() override;
  void count_arriving();
  [[nodiscard]] AnswerContext answer_context() const;

  void send(const Answer& answer, std::string* storage);
  // More follows.
  void begin(const Answer& answer);
  // As much as the stream takes now; the rest goes to output_, or stays in `storage`, which becomes
  // that. False: the connection is closed.
  [[nodiscard]] bool write(const Answer& answer, std::string* storage);
  // Its answer is handed over, and the client may take its time for that. What asks origins for the
  // rest of an answer in blocks is kept.
  void let_go_of_request();
  void release_output();
  void flush();
  void flushed();
  void close();

  SessionResources& resources_;
  SessionHost& host_;
  TimePoint now_{};
  std::optional<Wait> waits_;  // for what has a time
  State state_ = State::head;
  bool keep_alive_ = true;
  bool is_chunked_ = false;  // the answer that is being sent
  bool draining_ = false;
  int requests_ = 0;        // of this turn
  LeastProgress progress_;  // of the body, or of the answer
  QueueProgress queue_;     // of the answer, while the stream takes nothing

  http::Request request_;
  http::RequestParser parser_;
  BodyIntake intake_;
  // What its head, or that there is a body, is refused for, while the body still comes.
  std::optional<sketch::Refusal> refusal_;
  std::unique_ptr<RequestHandler> handler_;
  std::string unparsed_;  // read, and behind the request that is being answered
  std::size_t unparsed_begin_ = 0;
  std::optional<TunnelRequest> tunnel_;  // what the connection is to become
  std::string output_;                   // what the stream did not take at once
  std::size_t output_begin_ = 0;
  HeldBytes::Share untaken_;   // of output_, and what is left of the request meanwhile
  HeldBytes::Share arriving_;  // of a request that is not whole, and of unparsed_
  HeldBytes::Share asking_;    // of a request whose answer is awaited
};

}  // namespace prophecy::sketcher
