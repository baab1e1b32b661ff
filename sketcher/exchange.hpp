// One request and its answer: finds its route, and runs Algorithm 1, or what else the route says,
// against the history table and the replica group. States:
//
//   idle --start--> fast <--(another replica)        the answer of one origin is awaited
//     |               |
//     |               +--> passing --> idle          a large one, of a route that is off
//     |               +--> judged --> idle           Algorithm 1: the group's answer to a read
//     +---------------+--> ordered --> idle          what the group is asked without the history
//     |                      |
//     +----------------------+--> large --> idle     an answer in blocks (large_answer.hpp), whose
//                                                    list is remembered, or agreed on just now;
//                                                    from where it may come back to the group
//
// Used for one request after another by its connection. Single-threaded, on the worker's loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "replica_client/group.hpp"
#include "sketcher/client_info.hpp"
#include "sketcher/core/read_algorithm.hpp"
#include "sketcher/fast_read.hpp"
#include "sketcher/group_reads.hpp"
#include "sketcher/large_answer.hpp"
#include "sketcher/passed_answer.hpp"
#include "sketcher/tunnel_request.hpp"
#include "sketcher/worker_context.hpp"

namespace prophecy::sketcher {

class AnswerSink {
 public:
  // Views are valid during the call. `sketch` is present when the answer was sketched. `storage`,
  // if there is one, is where the form's body lies, and may be swapped out.
  virtual void on_answer(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                         std::string* storage) = 0;
  // The client is gone, and abandon() was not called: for a fast read's connection to be kept.
  [[nodiscard]] virtual bool has_left() const = 0;
  // A final answer of our own. `reason` is a static token.
  virtual void on_error(std::uint16_t status, std::string_view reason) = 0;
  // The connection is to become a tunnel, and the exchange has nothing more to do with it.
  virtual void on_tunnel(TunnelRequest tunnel) = 0;

  // An answer in blocks, or in pieces that nobody verifies, comes in place of on_answer(): its
  // beginning, then its bytes, in `storage`, which the sink may swap out; then its end, at which it
  // is whole or has to be seen to be cut off. Asked first, the sink says whether it has room for
  // blocks of that size: after an answer of false, here as with the bytes, nothing comes until it
  // has called Exchange::on_writable().
  [[nodiscard]] virtual bool may_take_blocks(std::uint32_t bytes_of_each) = 0;
  virtual void on_large_begin(const sketch::AnswerForm& form,
                              const std::optional<Sketch>& sketch) = 0;
  virtual bool on_large_bytes(std::string& storage, std::size_t begin, std::size_t size) = 0;
  virtual void on_large_end(bool whole) = 0;

 protected:
  ~AnswerSink() = default;
};

class Exchange final : private FastReadHandler,
                       private replica_client::ReplicatedHandler,
                       private GroupReadWaiter,
                       private LargeAnswerOwner,
                       private PassedAnswerOwner {
 public:
  Exchange(WorkerContext& context, AnswerSink& sink);
  ~Exchange();

  // Answers through the sink exactly once, possibly before it returns, unless abandoned. The
  // request has to stay as it is until then, but for its body: a large one is let go, since what
  // goes on is its canonical form.
  void start(http::Request& request, const ClientInfo& client);
  // Of a request whose body is still to come, or to go on, of at least `body_bytes`: whether what
  // is known of it is reason enough to refuse it, so that nobody has to keep what nobody will read,
  // nor to send it if he waits to be asked. It is counted then, and over.
  [[nodiscard]] std::optional<sketch::Refusal> refuse_by_head(const http::Request& request,
                                                              const ClientInfo& client,
                                                              std::uint64_t body_bytes);
  // The client has left.
  void abandon();
  // The sink takes more of an answer in blocks.
  void on_writable();
  [[nodiscard]] bool reads_fast() const { return state_ == State::fast; }
  [[nodiscard]] bool asks_group() const {
    return state_ == State::judged || state_ == State::ordered;
  }
  [[nodiscard]] bool is_idle() const { return state_ == State::idle; }
  // It has answered, or was abandoned: gives back what is beyond so much for each text of the
  // request.
  void shrink(std::size_t bytes_max) { form_.shrink(bytes_max); }
  // What it has made of the request takes in memory.
  [[nodiscard]] std::size_t request_bytes() const {
    return form_.held_bytes() + (large_ ? large_->answer.request_bytes() : 0);
  }

 private:
  enum class State : std::uint8_t { idle, fast, passing, judged, ordered, large };
  static constexpr std::size_t kKeptBytesMax = 4 << 10;

  void on_fast_read_end(NodeId replica, http::ExchangeEnd end, http::Response& response) override;
  void on_fast_read_progress(http::OriginExchange& exchange, http::Response& response) override;
  bool on_passed_bytes(std::string& storage, std::size_t begin, std::size_t size) override;
  void on_passed_end(bool whole) override;
  void on_replicated_answer(replica_client::ReplicatedAnswer answer) override;
  void on_replicated_failure(replica_client::ReplicatedFailure failure) override;
  void on_group_answer(const sketch::AnswerForm& form,
                       const std::optional<Sketch>& sketch) override;
  void on_group_failure(replica_client::ReplicatedFailure failure) override;
  void on_group_answer_outdated() override;
  void on_large_refuted(NodeId replica, const sketch::AnswerForm& answer) override;
  bool on_large_verified(const sketch::AnswerForm& form) override;
  bool on_large_bytes(std::string& storage, std::size_t begin, std::size_t size) override;
  void on_large_divergence(NodeId replica, std::uint64_t offset) override;
  void on_large_end(LargeEnd end) override;

  // Finds the route, unless there is none that takes the request of this client.
  [[nodiscard]] std::optional<sketch::Refusal> admit(const http::Request& request,
                                                     const ClientInfo& client);
  void count_refusal(std::string_view reason);
  void refuse(std::uint16_t status, std::string_view reason);
  [[nodiscard]] bool asks_for_tunnel() const;
  void start_tunnel(const RouteSettings& route, sketch::RequestContext known);
  void start_read(const RouteSettings& route);
  void start_delay_once_read();
  // What the history holds for this read: no entry, if a write has made it out of date; b alone, if
  // the route's lists have it. Of a list and an operator's mark, what is safer decides.
  [[nodiscard]] ReadAlgorithm::Lookup look_up();
  void on_fast_answer(http::Response& response);
  void on_write_answered(const sketch::AnswerForm& form);
  // The verified answer goes to its client.
  void copy_to_shadows(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch);
  void deliver_observed(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                        http::Response& response);
  void on_fast_failure(http::ExchangeEnd end);
  void ask_one(const replica_client::FastForm& asked);
  void end_for_nobody();
  void start_passing(http::OriginExchange& exchange, http::Response& response);
  // All the time for this read is over.
  void on_read_timeout();
  void stop();
  void finish();
  // Whether the route's budget has room for a call to the group. What a write has made out of date
  // takes none of it: a client's writes would use up what others' reads need.
  [[nodiscard]] bool is_within_budget(bool may_share);
  // Through the reads that the group has under way.
  void ask_judge(bool may_share);
  void ask_judge_within_budget(bool may_share, bool asks_again = false);
  void ask_ordered(replica_client::ReplicatedKind kind);
  void keep_as_evidence(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                        const http::Response& response);
  // False: no list is remembered under this sketch.
  [[nodiscard]] bool start_remembered(const Sketch& sketch);
  [[nodiscard]] BlockLists::List find_stored(const Sketch& sketch);
  // The group's answer, which is counted there once it is released.
  void start_agreed(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                    Counter& answered);
  struct Part {
    std::uint64_t first;
    std::uint64_t size;
  };
  [[nodiscard]] Part part_of(const sketch::AnswerForm& form,
                             const std::optional<Sketch>& sketch) const;
  void start_large(LargeAnswer::Source source, BlockLists::List list,
                   const std::optional<Sketch>& sketch, Counter& answered);
  void ask_group_again();
  // It most likely meets a transition, and may ask the group at once.
  [[nodiscard]] bool avoids_fast_read(const ReadAlgorithm::Lookup& entry);
  [[nodiscard]] ActivityTable::Request activity() const;
  [[nodiscard]] bool is_forced();  // [test] fail_fast_reads
  void answer(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
              std::string* storage = nullptr);
  void fail(std::uint16_t status, std::string_view reason);
  [[nodiscard]] GroupContext& group() { return group_->context; }

  WorkerContext& context_;
  AnswerSink& sink_;
  State state_ = State::idle;
  const http::Request* request_ = nullptr;
  WorkerGroup* group_ = nullptr;  // the route's
  const RouteSettings* route_ = nullptr;
  RequestCounters* counters_ = nullptr;  // the route's
  std::string_view scheme_;              // static text
  RouteMode mode_ = RouteMode::enforce;  // when the request came
  sketch::RequestForm form_;
  Sketch key_{};
  WriteFloors::Slot slot_ = 0;
  // What made the entry that a look-up of this read has found out of date.
  enum class OutOfDate : std::uint8_t { no, by_import, by_write };
  OutOfDate out_of_date_ = OutOfDate::no;
  std::optional<ReadAlgorithm> algorithm_;  // of a delay-once read
  Mark listed_ = Mark::none;                // by the route's lists
  bool is_blacklisted_ = false;             // by a list or a mark
  std::uint32_t began_seconds_ = 0;
  SlowPathBudget* budget_ = nullptr;  // the route's; null: without limits
  FastRead fast_;
  std::uint64_t replicated_call_ = 0;
  SigmaOrder::Submitted submitted_;
  bool hedged_ = false;
  bool may_be_unverified_ = false;  // the fast answer: no other read shares its connection
  NodeId replica_ = 0;              // that gave the fast answer
  std::optional<Evidence> evidence_;
  struct ReadTimeout final : TimeoutEntry {
    explicit ReadTimeout(Exchange& of) : exchange(of) {}
    void on_timeout() override { exchange.on_read_timeout(); }
    Exchange& exchange;
  } timeout_;

  std::unique_ptr<PassedAnswer> passed_;  // made for the first one
  // What an answer in blocks needs; made for the first one.
  struct Large {
    Large(WorkerContext& context, LargeAnswerOwner& owner) : answer(context, owner) {}
    LargeAnswer answer;
    std::optional<Sketch> sketch;
    bool agreed = false;          // by the group, for this request
    Counter* answered = nullptr;  // until it is released
  };
  std::unique_ptr<Large> large_;
  std::uint32_t large_rounds_ = 0;  // times that the group has agreed on a list for this request
};

}  // namespace prophecy::sketcher
