// The fast part of a read: one origin is asked, drawn among those whose health allows it. When it
// cannot be reached, another one is, up to f times: beyond that the group has more faults than it
// is made for, and agreement will say so. Where no agreement follows, one that is too slow or whose
// answer is no use is replaced as well. In a hedged read a second one is asked when the first
// takes long (replica_client/core/hedge/); the first to answer decides, and the other is cancelled,
// which is not held against it.
//
// Used for one read after another. Single-threaded, on the worker's loop.
#pragma once

#include "replica_client/group.hpp"
#include "sketcher/worker_context.hpp"

namespace prophecy::sketcher {

class FastReadHandler {
 public:
  // Once for each start(), possibly before that returns: the answer, or how the last origin that
  // was asked failed. The response is valid during the call.
  virtual void on_fast_read_end(NodeId replica, http::ExchangeEnd end,
                                http::Response& response) = 0;
  // Of an answer in pieces, as OriginHandler has it. From here on no other origin is asked, unless
  // it is rejected.
  virtual void on_fast_read_progress(http::OriginExchange& exchange, http::Response& response) = 0;

 protected:
  ~FastReadHandler() = default;
};

class FastRead final : private http::OriginHandler, private TimeoutEntry {
 public:
  // Who stands in for an origin that fails, and was reached.
  enum class Failing : std::uint8_t { to_group, to_another };

  FastRead(WorkerContext& context, FastReadHandler& handler);

  // All that is handed by reference stays as it is until the end.
  void start(WorkerGroup& group, RequestCounters& counters, const sketch::RequestForm& form,
             Failing failing, bool hedged, const replica_client::FastForm& asked);
  // In on_fast_read_progress(): what has come is no answer that could be handed on, and its origin
  // is to blame.
  void reject(http::OriginExchange& exchange, http::Response& response);
  // In on_fast_read_end(), of a whole answer: whether its origin is to blame, as in reject(). (Of
  // what agreement is to judge, it says so.)
  void count_answer(NodeId replica, bool usable);
  // After on_fast_read_end(), if nothing has been said of it to anybody. False: none is left.
  [[nodiscard]] bool ask_another();
  // The handler is not called any more.
  void cancel();
  // The read has no more time: those that have not answered have failed, but for what waited in a
  // queue of our own.
  void give_up();

 private:
  struct Ask {
    explicit Ask(http::OriginHandler& handler) : exchange(handler) {}
    http::OriginExchange exchange;
    NodeId replica = 0;
    TimePoint since{};  // in a hedged read
  };

  void on_exchange_end(http::OriginExchange& exchange, http::ExchangeEnd end,
                       http::Response& response) override;
  void on_exchange_progress(http::OriginExchange& exchange, http::Response& response) override;
  // It is time for the second.
  void on_timeout() override;
  void ask(Ask& ask, NodeId replica);
  void arm_hedge();
  void count(NodeId replica, http::ExchangeEnd end);
  // The first to answer has it.
  void decide(Ask& winner, Ask& other);
  [[nodiscard]] bool is_replaced(http::ExchangeEnd end) const;

  WorkerContext& context_;
  FastReadHandler& handler_;
  WorkerGroup* group_ = nullptr;
  RequestCounters* counters_ = nullptr;
  const sketch::RequestForm* form_ = nullptr;
  Failing failing_ = Failing::to_group;
  bool hedged_ = false;
  replica_client::FastForm asked_;
  bool in_pieces_ = false;  // one has come
  GroupContext::ReplicaSet tried_ = 0;
  Ask first_;
  Ask second_;
};

}  // namespace prophecy::sketcher
