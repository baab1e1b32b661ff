// `ForwardedRequest` has the owner of a request's partition answer it, and passes the answer on:
//
//   idle --> asking --> gathering ---------------> idle      a small answer goes on as a whole
//             |  ^  \--> holding --> passing ----> idle      a large one piece by piece
//             v  |
//            pausing                                         until the owner is looked for again
//
// The request is made again where that changes nothing: it was not begun, because the member is not
// the owner, could not be reached, or says so; or it is a read. A read whose connection was lost is
// made again once, and as often as there are connections to that member, since each may have been
// left by a process that ended; one that was broken off, once. Each time the owner of then is
// asked, for as long as requests wait for owners. A write of which nobody knows what became is
// answered 502.
//
// Of an answer it holds what the member may be ahead of the client, kHttp2CallWindowBytes at most.
//
// Used for one request after another. Single-threaded, on the worker's loop.
#pragma once

#include <string>

#include "canonical/nominated.hpp"
#include "canonical/request_form.hpp"
#include "sketcher/core/admission/held_bytes.hpp"
#include "sketcher/members/member_links.hpp"
#include "sketcher/reads/answer_sink.hpp"
#include "sketcher/reads/client_info.hpp"
#include "sketcher/reads/hedge_timers.hpp"

namespace prophecy::sketcher {

class ForwardedRequest final : private MemberCall {
 public:
  // What is forwarded. Views that stay as they are until it ends.
  struct Request {
    const http::Request* request = nullptr;
    const sketch::RequestForm* form = nullptr;  // located
    const sketch::Profile* profile = nullptr;   // of the route's group
    const ClientInfo* client = nullptr;
    std::string_view scheme;
    std::string_view target;  // as the client has it
    Partition partition = 0;
  };
  class Owner {
   public:
    // The last call for a request whose answer comes from here: with the status that was passed on,
    // and the size of the answer's body.
    virtual void on_forwarded(std::uint16_t status, std::uint64_t body_bytes) = 0;
    // Likewise: it has no answer; the client is to be given this one.
    virtual void on_not_forwarded(const sketch::Refusal& refusal, bool is_refused) = 0;
    // The partition is this member's by now.
    virtual void on_ours() = 0;

   protected:
    ~Owner() = default;
  };

  ForwardedRequest(MemberLinks& links, HedgeTimers& retries, HeldBytes& untaken, AnswerSink& sink,
                   Owner& owner);
  ~ForwardedRequest() override;

  void start(const Request& what, TimePoint now);
  void abandon();
  void on_writable();
  [[nodiscard]] bool is_idle() const { return state_ == State::idle; }
  // Gives back storage that a large answer needed.
  void shrink(std::size_t bytes_max);

 private:
  enum class State : std::uint8_t { idle, pausing, asking, gathering, holding, passing };
  struct Timer final : TimeoutEntry {
    using OnTime = void (ForwardedRequest::*)();
    Timer(ForwardedRequest& of, OnTime function) : owner(of), on_time(function) {}
    void on_timeout() override { (owner.*on_time)(); }
    ForwardedRequest& owner;
    OnTime on_time;
  };

  void send(http::Http2ClientConnection& connection) override;
  void on_head() override;
  void on_bytes(std::string_view bytes) override;
  void on_pause() override;
  void on_end(http::Http2CallEnd end) override;

  [[nodiscard]] std::optional<sketch::Refusal> read_nominated();
  void look_for_owner();
  void ask(dht::MemberSlot slot);
  void pause();
  // Likewise, of a member that is said to be the owner, and does not know it yet.
  void pause_for_view();
  void go_on_after_pause();
  void on_silence();
  void watch();
  void take_size();
  void begin();
  void deliver();
  void finish_if_whole();
  void repeat_or_fail(http::Http2CallEnd end);
  [[nodiscard]] bool may_repeat(http::Http2CallEnd end);
  void fail(std::uint16_t status, std::string_view reason, bool is_refused = false);
  void become_idle();
  void drop_call();
  void count_held();
  [[nodiscard]] bool is_read() const { return what_.form->is_read; }
  [[nodiscard]] TimePoint now() const { return std::chrono::steady_clock::now(); }

  MemberLinks& links_;
  HedgeTimers& retries_;
  AnswerSink& sink_;
  Owner& owner_;
  Request what_;
  State state_ = State::idle;
  std::uint32_t serial_ = 0;  // rises with each request's end
  dht::MemberSlot slot_ = dht::kNoSlot;
  TimePoint started_{};
  int soon_ = 0;              // short pauses
  std::size_t losses_ = 0;    // of its connection, when it may have been begun
  bool is_repeated_ = false;  // although the member has broken it off
  bool is_moved_ = false;     // at once, since it had not been begun
  bool has_ended_ = false;    // the answer is whole, here or on its way to the client
  bool writable_ = false;
  std::uint16_t status_ = 0;
  std::uint64_t size_ = 0;   // of the answer's body
  std::string arrived_;      // of it, and not passed on
  std::size_t passed_ = 0;   // bytes that the client has not taken all of
  std::string client_text_;  // what the member is told of the client
  std::string peers_text_;
  sketch::NominatedNames nominated_;
  HeldBytes::Share held_;
  Timer silence_;
  Timer pause_;
};

}  // namespace prophecy::sketcher
