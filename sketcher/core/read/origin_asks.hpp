// `OriginAsks` decides which origins a fast read asks, one after another or two at a time.
//
// One origin is asked, drawn among those whose health allows it. When it cannot be reached, another
// one is, up to f times: beyond that the group has more faults than it is made for, and agreement
// will show it. Where no agreement follows, an origin that is too slow or whose answer is of no use
// is replaced as well. In a hedged read a second origin is asked when the first one takes long
// (replica_client/core/hedge/); the first to answer decides, and the other is cancelled, which is
// not held against it. A read that waited behind others on its connection for too long is asked of
// another origin, on a connection to itself: that is no failure, and happens once for each slot.
//
// A part of ReadMachine, used for one read after another. Deterministic.
#pragma once

#include <array>
#include <cstdint>

#include "http/exchange_end.hpp"
#include "replica_client/core/call.hpp"
#include "sketcher/core/read/read_action.hpp"
#include "sketcher/core/read/read_group.hpp"

namespace prophecy::sketcher {

class OriginAsks {
 public:
  static constexpr std::size_t kSlots = 2;
  // Who stands in for an origin that was reached and failed.
  enum class Failing : std::uint8_t { to_group, to_another };
  enum class Step : std::uint8_t {
    waits,  // an origin may answer yet
    over,   // this answer, or this failure, is the read's
  };

  explicit OriginAsks(ReadActions& actions) : actions_(actions) {}

  void start(ReadGroup& group, RequestCounters& counters, Failing failing, bool hedged,
             const replica_client::FastForm& asked, TimePoint now);
  // A whole answer or a failure of this slot's origin. A whole answer is not counted yet:
  // count_answer().
  [[nodiscard]] Step on_end(std::uint8_t slot, http::ExchangeEnd end, TimePoint now);
  // The first piece of an answer in pieces: it decides, as a whole answer does.
  void on_pieces(std::uint8_t slot, TimePoint now);
  // An answer in pieces, which decided, cannot be handed on, and its origin is to blame.
  [[nodiscard]] Step reject(std::uint8_t slot, TimePoint now);
  // Time to ask a second origin.
  void on_hedge_time(TimePoint now);
  // Counts a whole answer; one that agreement is to judge is usable.
  void count_answer(NodeId replica, bool usable) {
    count(replica, usable ? http::ExchangeEnd::answered : http::ExchangeEnd::malformed);
  }
  // After Step::over, if nothing was handed on. False: no origin is left.
  [[nodiscard]] bool ask_another(TimePoint now);
  // The read has no more time. `ends` are how the exchanges end without it, by slot.
  void give_up(const std::array<http::ExchangeEnd, kSlots>& ends);
  void cancel();

  // An answer in pieces is another object's from here on.
  void hand_over(std::uint8_t slot) { asks_[slot].active = false; }
  [[nodiscard]] NodeId replica(std::uint8_t slot) const { return asks_[slot].replica; }
  [[nodiscard]] const replica_client::FastForm& asked() const { return asked_; }
  [[nodiscard]] bool is_active(std::uint8_t slot) const { return asks_[slot].active; }

 private:
  struct Ask {
    bool active = false;
    NodeId replica = 0;
    TimePoint since{};
  };

  void ask(std::uint8_t slot, NodeId replica, TimePoint now);
  void cancel(std::uint8_t slot);
  void note_delayed(std::uint8_t slot);
  void note_latency(const Ask& ask, TimePoint now);
  // The first to answer decides.
  void decide(std::uint8_t slot, TimePoint now);
  void count(NodeId replica, http::ExchangeEnd end) {
    group_->counters(replica).exchanges[static_cast<std::size_t>(end)].add();
  }
  [[nodiscard]] bool is_replaced(http::ExchangeEnd end) const;
  void disarm_hedge();

  ReadActions& actions_;
  ReadGroup* group_ = nullptr;
  RequestCounters* counters_ = nullptr;
  Failing failing_ = Failing::to_group;
  bool hedged_ = false;
  bool hedge_armed_ = false;
  bool in_pieces_ = false;  // one has come
  replica_client::FastForm asked_;
  ReadGroup::ReplicaSet tried_ = 0;
  ReadGroup::ReplicaSet delayed_ = 0;  // where it waited for too long behind others
  std::array<Ask, kSlots> asks_;
};

}  // namespace prophecy::sketcher
