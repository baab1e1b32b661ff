// `UncertainWrites` compares the states of replicas whose services gave no usable answer to one and
// the same write: a handler that crashes does so at each origin.
//
// Each of them says in which state the write has left its service. Once 2f+1 say the same, f+1
// correct replicas are in one state, and all go on from it: the write is carried out once, whatever
// became of it, and its answer is an agreed one. Nothing is skipped, and nobody's state is believed
// before this replica has it.
//
//   nothing --- the own state is known ---> comparing --- 2f+1 are equal, or the wait is over --->
//   nothing
//
// Statements about places up to the stable checkpoint are forgotten once this replica has executed
// them: there the checkpoint decides.
// Those who wait repeat theirs, and are answered by those who do not.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft {

class UncertainWrites {
 public:
  UncertainWrites(Context& context, const Checkpoints& checkpoints);

  // The state of this replica's service behind this write of a batch. It is compared until
  // end_comparison().
  void compare(const UncertainWrite& own, ReplicaActions& out);
  void end_comparison() { is_comparing_ = false; }
  // 2f+1 replicas are in the state that is compared.
  [[nodiscard]] bool is_agreed() const;

  // This replica does not vote until a checkpoint at or behind `sequence` has shown its state to be
  // right; the primary is to bring one about, even where no client asks for anything.
  void ask_for_checkpoint(std::uint64_t sequence) {
    doubts_from_ = std::max(doubts_from_, sequence);
  }
  // A checkpoint that this replica, or another one, waits for; 0: none.
  [[nodiscard]] std::uint64_t awaited_checkpoint() const;

  bool on_uncertain(ByteView frame, ReplicaActions& out);
  void on_tick(ReplicaActions& out);
  [[nodiscard]] TimePoint next_timer() const;

 private:
  struct Peer {
    std::deque<UncertainWrite> said;  // the newest last
    TimePoint answered_at = TimePoint::min();
    std::uint64_t awaits = 0;  // a checkpoint
    TimePoint awaits_since = TimePoint::min();
    Duration pause{};  // after which it may await another one
  };

  void await_checkpoint(Peer& peer, std::uint64_t sequence) const;
  [[nodiscard]] bool is_outstanding() const;
  [[nodiscard]] std::uint64_t settled() const;
  void forget_settled();
  void repeat(ReplicaActions& out);
  static void keep(std::deque<UncertainWrite>& said, const UncertainWrite& write);
  [[nodiscard]] static const UncertainWrite* find(const std::deque<UncertainWrite>& said,
                                                  Sigma sigma);

  Context& context_;
  const Checkpoints& checkpoints_;
  std::vector<Peer> peers_;
  std::deque<UncertainWrite> own_;  // the newest last
  std::uint64_t doubts_from_ = 0;   // 0: it does not
  bool is_comparing_ = false;       // what it said last
  TimePoint repeated_at_{};
};

}  // namespace prophecy::pbft
