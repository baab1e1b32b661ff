// Keeps a replica's word: what its core wants sent and executed waits until everything that the
// core wrote down before, and with it, is on the disk (pbft/core/state/actions.hpp).
//
//   put(actions) --- nothing to write, nothing waits ---------------------> take()
//        |                                                                   ^
//        +--- commit, held ---> the disk has it, and all before it ----------+
//
// Actions without writes join those that were put before them. Free frames overtake both, so a disk
// that stalls does not pile up the parts that peers fetch meanwhile. Of what waits, each receiver
// has a share; beyond it frames are dropped, as on a connection that stalls, and the protocol sends
// them again. After a commit that failed nothing is released any more.
//
// Single-threaded; opens nothing itself.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "base/error.hpp"
#include "pbft/core/state/actions.hpp"

namespace prophecy::pbft {

class Outbox {
 public:
  // Of frames that wait for one receiver.
  static constexpr std::size_t kHeldBytesMax = std::size_t{64} << 20;

  // What may be carried out.
  struct Released {
    std::vector<Outgoing> sends;
    std::vector<Execution> executions;
    bool flush_parts = false;
  };
  using Committed = std::function<void(Result<>)>;
  // Commits complete in their order, and never from within the call.
  using Commit = std::function<void(std::vector<DurableWrite> writes, Committed done)>;

  // `on_released` is called when a commit has made something ready to take, or has failed.
  Outbox(Commit commit, std::function<void(Result<>)> on_released)
      : commit_(std::move(commit)), on_released_(std::move(on_released)) {}

  // Takes the writes, the sends, the executions and the flush out of `actions`.
  void put(ReplicaActions& actions);
  // Everything that is released, behind what is in `out`. False when there is nothing.
  bool take(Released& out);

  [[nodiscard]] std::size_t commits_pending() const { return held_.size(); }
  // Frames that found no room.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  // Takes the frames out of `sends` that need not wait.
  void release_free(std::vector<Outgoing>& sends);
  // Counts what waits from here on; takes out what exceeds its receiver's share.
  void bound(std::vector<Outgoing>& sends);
  static void move_behind(Released& from, Released& out);
  void on_committed(const Result<>& outcome);

  Commit commit_;
  std::function<void(Result<>)> on_released_;
  Released released_;
  std::deque<Released> held_;                 // each behind a commit that is under way
  std::map<NodeId, std::size_t> held_bytes_;  // by receiver
  std::uint64_t dropped_ = 0;
  bool failed_ = false;
};

}  // namespace prophecy::pbft
