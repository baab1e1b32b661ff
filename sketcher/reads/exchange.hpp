// `Exchange` carries one client's request out: it finds the route, makes the canonical form, and is
// the shell of the ReadMachine that decides everything else (core/read/read_machine.hpp).
//
// Used for one request after another by its session. Single-threaded, on the worker's loop.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "replica_client/group.hpp"
#include "sketcher/core/read/read_machine.hpp"
#include "sketcher/reads/client_info.hpp"
#include "sketcher/reads/tunnel_request.hpp"
#include "sketcher/reads/worker_context.hpp"

namespace prophecy::sketcher {

class AnswerSink {
 public:
  // Views are valid during the call. `sketch` is present when the answer was verified and may be
  // sketched. `storage`, if there is one, is where the form's body lies, and may be swapped out.
  virtual void on_answer(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                         std::string* storage) = 0;
  // The client has gone without abandon(): a fast read goes on, so that its connection is kept.
  [[nodiscard]] virtual bool has_left() const = 0;
  // A final answer of our own. `reason` is a static token.
  virtual void on_error(std::uint16_t status, std::string_view reason) = 0;
  // The connection is to become a tunnel, and the exchange has nothing more to do with it.
  virtual void on_tunnel(TunnelRequest tunnel) = 0;

  // An answer in blocks, or in unverified pieces, comes in place of on_answer(): its head, then its
  // bytes, in `storage`, which the sink may swap out; then its end, at which it is whole or has to
  // be seen to be cut off. The sink is asked first whether it has room for blocks of that size:
  // after an answer of false, here as with the bytes, nothing comes until it has called
  // Exchange::on_writable().
  [[nodiscard]] virtual bool may_take_blocks(std::uint32_t bytes_of_each) = 0;
  virtual void on_large_begin(const sketch::AnswerForm& form,
                              const std::optional<Sketch>& sketch) = 0;
  virtual bool on_large_bytes(std::string& storage, std::size_t begin, std::size_t size) = 0;
  virtual void on_large_end(bool whole) = 0;

 protected:
  ~AnswerSink() = default;
};

class Exchange final : private SharedReadWaiter, private replica_client::ReplicatedHandler {
 public:
  Exchange(WorkerContext& context, AnswerSink& sink);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Answers through the sink exactly once, possibly before it returns, unless abandoned. The
  // request stays as it is until then, but for its body: a large one is let go, since its canonical
  // form goes on.
  void start(http::Request& request, const ClientInfo& client, TimePoint now);
  // For a request whose body is still to come, or to go on, of at least `body_bytes`: whether its
  // head is reason enough to refuse it, before its client sends the rest, and anything keeps it.
  // A request that is refused is counted, and over. Its route is found once.
  [[nodiscard]] std::optional<sketch::Refusal> refuse_by_head(const http::Request& request,
                                                              const ClientInfo& client,
                                                              std::uint64_t body_bytes);
  // The client has left.
  void abandon();
  // The sink takes more of an answer in blocks.
  void on_writable();
  [[nodiscard]] bool reads_fast() const { return machine_.state() == ReadMachine::State::fast; }
  [[nodiscard]] bool asks_group() const {
    return machine_.state() == ReadMachine::State::shared ||
           machine_.state() == ReadMachine::State::ordered;
  }
  [[nodiscard]] bool is_idle() const { return machine_.is_idle(); }
  // It has answered, or was abandoned: gives back what exceeds so many bytes for each text of the
  // request.
  void shrink(std::size_t bytes_max) {
    is_admitted_ = false;
    form_.shrink(bytes_max);
  }
  // Memory that is held for the request.
  [[nodiscard]] std::size_t request_bytes() const {
    return form_.held_bytes() + machine_.request_bytes();
  }

 private:
  static constexpr std::size_t kKeptBytesMax = 4 << 10;

  // The exchange with one origin; its slot is its place.
  struct OriginSlot final : http::OriginHandler {
    explicit OriginSlot(Exchange& of) : owner(of), exchange(*this) {}
    void on_exchange_end(http::OriginExchange& exchange, http::ExchangeEnd end,
                         http::Response& response) override;
    void on_exchange_progress(http::OriginExchange& exchange, http::Response& response) override;
    [[nodiscard]] std::uint8_t slot() const {
      return static_cast<std::uint8_t>(this - owner.origins_.data());
    }
    Exchange& owner;
    http::OriginExchange exchange;
  };
  // One timer; `on_time` is what its end means.
  struct Timer final : TimeoutEntry {
    using OnTime = void (Exchange::*)();
    Timer(Exchange& of, OnTime function) : owner(of), on_time(function) {}
    void on_timeout() override { (owner.*on_time)(); }
    Exchange& owner;
    OnTime on_time;
  };

  // Finds the route, unless there is none that takes the request of this client, and makes the
  // canonical form of all but the body.
  [[nodiscard]] std::optional<sketch::Refusal> admit(const http::Request& request,
                                                     const ClientInfo& client);
  [[nodiscard]] std::optional<sketch::Refusal> find_route(const ClientInfo& client);
  void count_refusal(std::string_view reason);
  void refuse(const sketch::Refusal& refusal);
  // A line of the access log, if there is one. `refused` is of an answer of our own.
  void log_answer(const sketch::AnswerForm& form, AnsweredBy by);
  void log_refusal(std::string_view method, std::string_view target,
                   const sketch::Refusal& refused);
  void start_tunnel();
  void start_machine();

  // Carries out what the cores ask for.
  void perform();
  void carry_out(const ReadAction& action);
  void ask_group();
  void ask_client(std::size_t block_bytes);
  void deliver(const ReadAction& action);
  void send_body(const ReadAction& action);

  void on_shared_result(const SharedResult& result) override;
  void on_replicated_answer(replica_client::ReplicatedAnswer answer) override;
  void on_replicated_failure(replica_client::ReplicatedFailure failure) override;
  void on_deadline();
  void on_hedge_time();
  void on_untaken_time();

  [[nodiscard]] GroupContext& group() { return group_->context; }

  WorkerContext& context_;
  AnswerSink& sink_;
  bool is_admitted_ = false;  // by its head; its body is awaited
  const http::Request* request_ = nullptr;
  WorkerGroup* group_ = nullptr;  // the route's
  std::uint32_t route_ = 0;
  RequestCounters* counters_ = nullptr;  // the route's
  std::string_view scheme_;              // static text
  RouteMode mode_ = RouteMode::enforce;  // when the request came
  Mark listed_ = Mark::none;             // by the route's lists
  std::string upgrade_;                  // the protocol of the tunnel that is asked for
  sketch::RequestForm form_;
  ReadMachine machine_;
  std::array<OriginSlot, OriginAsks::kSlots> origins_;
  Timer deadline_;
  Timer hedge_;
  Timer untaken_;
  std::uint64_t call_ = 0;   // the request's own; 0: none
  TimePoint now_{};          // of the last event
  TimePoint started_{};      // at start()
  std::string_view client_;  // its address, from start() on
  bool is_located_ = false;  // the form has authority and target
};

}  // namespace prophecy::sketcher
