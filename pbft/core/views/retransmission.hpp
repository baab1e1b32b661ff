// Nothing stalls for ever under loss: a replica that gets no further tells its peers what it has,
// and each peer sends what it lacks. Slowly, it does so always, because one that has lost every
// message about a batch does not know that there is one.
//
// Also the place where a replica finds out that retransmission can no longer help it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/core/state/log.hpp"
#include "pbft/core/views/standings.hpp"
#include "pbft/core/views/view_changer.hpp"

namespace prophecy::pbft {

class Retransmission {
 public:
  Retransmission(Context& context, Log& log, const Checkpoints& checkpoints,
                 const Agreement& agreement, ViewChanger& view_changer, Standings& standings);

  // True when the frame was authentic.
  bool on_status(ByteView frame, TimePoint now, ReplicaActions& out);
  void on_tick(TimePoint now, ReplicaActions& out);
  // To be called after every event: something that is missing wants an earlier tick.
  void arm(TimePoint now);
  [[nodiscard]] TimePoint next_timer() const { return next_tick_; }
  // What comes next for this replica is retained by too few peers.
  [[nodiscard]] bool is_beyond_help() const;
  // Up to it some peer that has lost its memory waits for a checkpoint before it votes again.
  [[nodiscard]] std::uint64_t awaited_by_silent() const;
  // The peer has lost its memory, and counts anew.
  void forget(NodeId peer);
  // This replica has pledged to the peer, in its present incarnation: only then is the peer helped
  // through its silence, and once.
  void note_pledge(NodeId peer) { peers_[peer].has_pledge = true; }

 private:
  struct Peer {
    std::uint64_t counter = 0;  // of its last Status
    TimePoint counted_at{};
    std::uint64_t silent_until = 0;
    bool has_pledge = false;
    bool is_carried = false;  // or has been, in this incarnation
    TimePoint carried_at = TimePoint::min();
    std::uint64_t first_retained = 1;
    std::uint64_t last_ordered = 0;
    std::uint64_t highest_seen = 0;  // of which it has anything
    TimePoint served_at = TimePoint::min();
    std::uint64_t settled = 0;        // the most that it has said
    std::uint64_t bytes_unmoved = 0;  // served, and not seen in what it says has settled
  };

  [[nodiscard]] bool lagging() const;
  [[nodiscard]] bool outstanding() const;
  void note_progress();
  // Nothing has moved since progress was noted.
  [[nodiscard]] bool is_stuck() const;
  void learn(const StatusMessage& status);
  // Until when the peer has to wait that was served last at `served_at`.
  [[nodiscard]] TimePoint may_serve_at(const Peer& peer) const;
  void forgive(Peer& peer, std::uint64_t settled) const;
  void serve(const StatusMessage& status, ReplicaActions& out);
  // To send the peer a batch's content that is large.
  [[nodiscard]] bool is_own_turn(NodeId peer, std::uint64_t turn) const;
  [[nodiscard]] Frame renewed(const Frame& pre_prepare, const Digest& batch) const;
  void send_status(ReplicaActions& out);

  Context& context_;
  Log& log_;
  const Checkpoints& checkpoints_;
  const Agreement& agreement_;
  ViewChanger& view_changer_;
  Standings& standings_;
  std::vector<Peer> peers_;
  std::uint64_t counter_ = 0;
  bool started_ = false;
  TimePoint next_tick_ = TimePoint::min();  // the first tick is due at once
  TimePoint heartbeat_at_{};
  std::optional<TimePoint> outstanding_since_;
  // Progress at the last tick, or when something began to be outstanding.
  std::uint64_t ordered_then_ = 0;
  std::uint64_t stable_then_ = 0;
  std::uint64_t settled_then_ = 0;
};

}  // namespace prophecy::pbft
