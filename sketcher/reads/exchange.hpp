// `Exchange` carries one client's request out: it finds the route, makes the canonical form, and is
// the shell of the ReadMachine that decides everything else (core/read/read_machine.hpp). In a
// ring, a request whose partition belongs to another member is forwarded to it instead.
//
// Used for one request after another by its session. Single-threaded, on the worker's loop.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "replica_client/group.hpp"
#include "sketcher/answer/answer_rules.hpp"
#include "sketcher/core/read/read_machine.hpp"
#include "sketcher/reads/answer_sink.hpp"
#include "sketcher/reads/client_info.hpp"
#include "sketcher/reads/floor_raises.hpp"
#include "sketcher/reads/forwarded_request.hpp"
#include "sketcher/reads/tunnel_request.hpp"
#include "sketcher/reads/worker_context.hpp"

namespace prophecy::sketcher {

// Where an exchange's requests come from.
enum class RequestSource : std::uint8_t { clients, members };

class Exchange final : private SharedReadWaiter,
                       private replica_client::ReplicatedHandler,
                       private ForwardedRequest::Owner,
                       private FloorRaises::Owner {
 public:
  Exchange(WorkerContext& context, AnswerSink& sink, RequestSource source);
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
  // One without an end has none to wait for.
  [[nodiscard]] bool reads_fast() const {
    return machine_.state() == ReadMachine::State::fast && !machine_.is_streamed();
  }
  [[nodiscard]] bool streams() const { return !machine_.is_idle() && machine_.is_streamed(); }
  [[nodiscard]] bool asks_group() const {
    return machine_.state() == ReadMachine::State::shared ||
           machine_.state() == ReadMachine::State::ordered || is_forwarding();
  }
  [[nodiscard]] bool is_idle() const {
    return machine_.is_idle() && !owner_.armed() && !is_forwarding();
  }
  // It has answered, or was abandoned: gives back what exceeds so many bytes for each text of the
  // request.
  void shrink(std::size_t bytes_max) {
    is_admitted_ = false;
    is_ruled_ = false;
    limited_.end();
    form_.shrink(bytes_max);
    if (client_target_.capacity() > bytes_max) std::string().swap(client_target_);
    if (forwarded_) forwarded_->shrink(bytes_max);
  }
  // Memory that is held for the request.
  [[nodiscard]] std::size_t request_bytes() const {
    return form_.held_bytes() + machine_.request_bytes();
  }
  // What its route makes of its answer; null: nothing.
  [[nodiscard]] const AnswerRuling* ruling() const { return is_ruled_ ? &ruling_ : nullptr; }

 private:
  static constexpr std::size_t kKeptBytesMax = 4 << 10;
  // Reasons of answers of our own that are no refusals.
  static constexpr std::string_view kRedirect = "redirect";
  static constexpr std::string_view kChallenge = "acme-challenge";

  // The exchange with one origin; its slot is its place.
  struct OriginSlot final : http::OriginHandler, OriginUse {
    explicit OriginSlot(Exchange& of) : owner(of), exchange(*this) {}
    void on_exchange_end(http::OriginExchange& exchange, http::ExchangeEnd end,
                         http::Response& response) override;
    void on_exchange_progress(http::OriginExchange& exchange, http::Response& response) override;
    void on_cut() override;
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
  [[nodiscard]] std::optional<sketch::Refusal> find_route(const http::Request& request,
                                                          const ClientInfo& client);
  // The end of a request that is an ACME challenge: by the file that answers it, or the budget.
  [[nodiscard]] std::optional<sketch::Refusal> find_challenge();
  // What one client may ask of the route.
  [[nodiscard]] std::optional<sketch::Refusal> limit_client(const http::Request& request,
                                                            const ClientInfo& client,
                                                            const ClientLimitSettings& settings);
  // The route's rules for the request: it may be over by them.
  [[nodiscard]] std::optional<sketch::Refusal> apply_rules(const http::Request& request,
                                                           const ClientInfo& client,
                                                           const RouteSettings& route);
  [[nodiscard]] std::string_view client_target() const {
    return is_rewritten_ ? std::string_view(client_target_) : form_.target;
  }
  void count_refusal(const sketch::Refusal& refusal);
  void refuse(const sketch::Refusal& refusal);
  // A line of the access log, if there is one. `refused` is of an answer of our own.
  void log_answer(const sketch::AnswerForm& form, AnsweredBy by);
  void log_refusal(std::string_view method, std::string_view target,
                   const sketch::Refusal& refused);
  // In a ring: whether the request stays here, is forwarded, or is refused.
  [[nodiscard]] std::optional<sketch::Refusal> find_owner();
  // From its head on; more than once, where it waits for an owner.
  void begin();
  // Whether a write has to wait, since its partition is ours and may not be answered for yet.
  [[nodiscard]] bool has_to_wait();
  // A member asks for a floor.
  void raise_floor(std::string_view said);
  void raise_floors_elsewhere();
  void on_floor_raised(std::size_t index) override;
  [[nodiscard]] bool is_forwarding() const { return forwarded_ && !forwarded_->is_idle(); }
  void forward();
  void on_forwarded(std::uint16_t status, std::uint64_t body_bytes) override;
  void on_not_forwarded(const sketch::Refusal& refusal, bool is_refused) override;
  void on_ours() override;
  void start_tunnel();
  void start_machine();
  // The partition is another member's, or nobody's yet: the request begins again in a while.
  void wait_for_owner();
  void on_owner_time();

  // Carries out what the cores ask for.
  void perform();
  void carry_out(const ReadAction& action);
  void ask_origin(const ReadAction& action);
  void begin_stream();
  // If there is one. Each is logged, as tunnels are.
  void end_stream();
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
  const RequestSource source_;
  bool is_admitted_ = false;                     // by its head; its body is awaited
  bool is_elsewhere_ = false;                    // another member owns its partition
  Partition partition_ = 0;                      // in a ring
  std::unique_ptr<ForwardedRequest> forwarded_;  // once there was one
  const ClientInfo* client_ = nullptr;           // from the request's head on
  http::Request* request_ = nullptr;
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
  Timer owner_;                           // until the owners of partitions are looked at again
  std::optional<TimePoint> moved_since_;  // of a request that could not be accepted here at first
  bool is_counted_ = false;               // among reads or writes
  std::unique_ptr<FloorRaises> floors_;   // once a write has moved
  // An answer on a route in mode `stream`, from when an origin is asked.
  struct Stream {
    NodeId replica = 0;
    bool has_begun = false;  // its client has the head
    TimePoint begun{};
    std::uint64_t bytes = 0;
  };
  std::unique_ptr<Stream> stream_;
  std::uint64_t call_ = 0;     // the request's own; 0: none
  TimePoint now_{};            // of the last event
  TimePoint started_{};        // at start()
  bool is_located_ = false;    // the form has authority and target
  bool is_rewritten_ = false;  // and its target is not the client's
  std::string client_target_;  // then
  bool is_ruled_ = false;
  std::unique_ptr<OwnPage> challenge_;  // of an ACME client
  LimitedRequest limited_;
  AnswerRuling ruling_;
};

}  // namespace prophecy::sketcher
