// One request and its answer: runs Algorithm 1 (or a baseline mode) against the history table and
// the replica group. States:
//
//   idle --start--> fast <--(another replica)        the answer of one origin is awaited
//     |               |
//     +---------------+--> replicated --> idle       the group's agreement is awaited
//
// Used for one request after another by its connection. Single-threaded, on the worker's loop.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "replica_client/group.hpp"
#include "sketcher/core/read_algorithm.hpp"
#include "sketcher/worker_context.hpp"

namespace prophecy::sketcher {

class AnswerSink {
 public:
  // Views are valid during the call. `sketch` is present when the answer was sketched.
  virtual void on_answer(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch) = 0;
  // A final answer of our own. `reason` is a static token.
  virtual void on_error(std::uint16_t status, std::string_view reason) = 0;

 protected:
  ~AnswerSink() = default;
};

class Exchange final : private http::OriginHandler, private replica_client::ReplicatedHandler {
 public:
  Exchange(WorkerContext& context, AnswerSink& sink);
  ~Exchange();

  // Answers through the sink exactly once, possibly before it returns, unless abandoned. The
  // request has to stay as it is until then, but for its body: a large one is let go, since what
  // goes on is its canonical form.
  void start(http::Request& request, std::string_view client_address);
  // The client has left.
  void abandon();
  [[nodiscard]] bool asks_group() const { return state_ == State::replicated; }
  // Gives back storage that a large request needed.
  void shrink();

 private:
  enum class State : std::uint8_t { idle, fast, replicated };

  void on_exchange_end(http::OriginExchange& exchange, http::ExchangeEnd end,
                       http::Response& response) override;
  void on_replicated_answer(replica_client::ReplicatedAnswer answer) override;
  void on_replicated_failure(replica_client::ReplicatedFailure failure) override;

  [[nodiscard]] bool is_our_host() const;
  void refuse(std::uint16_t status, std::string_view reason);
  void start_read();
  void on_fast_answer(http::Response& response);
  void on_fast_failure(http::ExchangeEnd end);
  void ask_one(NodeId replica);
  void ask_group(replica_client::ReplicatedKind kind);
  [[nodiscard]] bool ask_another_replica();
  void keep_as_evidence(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                        http::Response& response);
  void settle(const replica_client::ReplicatedAnswer& answer, const std::optional<Sketch>& sketch,
              const SigmaOrder::Placed& placed);
  void report_divergence(const replica_client::ReplicatedAnswer& answer,
                         const std::optional<Sketch>& sketch);
  [[nodiscard]] std::optional<Sketch> sketch_of(const sketch::AnswerForm& form) const;

  WorkerContext& context_;
  AnswerSink& sink_;
  State state_ = State::idle;
  const http::Request* request_ = nullptr;
  sketch::RequestForm form_;
  Sketch key_{};
  std::optional<ReadAlgorithm> algorithm_;  // a read in mode prophecy
  http::OriginExchange fast_;
  std::uint64_t replicated_call_ = 0;
  SigmaOrder::Submitted submitted_;
  NodeId replica_ = 0;       // drawn for the fast read
  std::uint64_t tried_ = 0;  // replicas that gave no answer, one bit each

  // The fast answer that did not validate, until the group has judged it.
  struct Evidence {
    std::uint16_t status = 0;
    Bytes head;
    std::string body;
    std::optional<Sketch> sketch;
  };
  std::optional<Evidence> evidence_;
};

}  // namespace prophecy::sketcher
