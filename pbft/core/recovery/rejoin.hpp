// A replica that has lost its memory might contradict what it once said, and is one of the f until
// that is ruled out. How it comes back without a person's help:
//
//   asking    It says so, under a new incarnation. Each peer promises to take no view-change
//             message of an older one, and answers with its view and its newest checkpoint. Of 2f
//             such pledges at least f+1 are those of correct replicas (it is itself one of the f),
//             and so one is of every quorum that the replica was ever part of.
//             It resumes in the smallest view that 2f of the pledges are not beyond: up to f of
//             these may turn faulty, and no view beyond it begins with a message of the old life.
//   silent    Nothing that it said can lie beyond the newest checkpoint among them, plus the
//             window. So it votes on nothing until a checkpoint beyond that is stable, and asks
//             for no view; it executes along meanwhile. The primary proposes empty batches if
//             there is nothing else.
//   member    It votes.
//
// If 2f peers have never said anything either, the group is new, and there is nothing to
// contradict. It waits a while for all others, and for them to know: whoever comes when the rest is
// at work falls silent, and a group can do with f of these. Otherwise its service may be in any
// state, and gets one of the group's checkpoints.
//
// The same idea as recovery in TOCS 2002, section 5, without its trusted hardware: there a replica
// keeps its memory on disk, here it may be gone.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/core/views/retransmission.hpp"
#include "pbft/core/views/view_changer.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft {

class Rejoin {
 public:
  Rejoin(Context& context, Checkpoints& checkpoints, ViewChanger& view_changer,
         Retransmission& retransmission)
      : context_(context),
        checkpoints_(checkpoints),
        view_changer_(view_changer),
        retransmission_(retransmission),
        peers_(context.quorum.replicas) {}

  // Nothing is remembered. Requires context.membership.incarnation.
  void begin(ReplicaActions& out);
  // The journal has kept that this replica is silent, but not which replicas have pledged to it, so
  // it asks all of them anew.
  void go_on() { next_tick_ = context_.now; }
  // Each is true when the frame was authentic.
  bool on_rejoin(ByteView frame, ReplicaActions& out);
  bool on_pledge(ByteView frame, ReplicaActions& out);
  void on_tick(ReplicaActions& out);
  // After every event: the checkpoint may have come.
  void advance(ReplicaActions& out);
  [[nodiscard]] TimePoint next_timer() const { return next_tick_; }
  [[nodiscard]] bool is_asking() const { return context_.is_asking(); }
  // By more than a year, on this replica's wall clock: peers reject such an incarnation.
  [[nodiscard]] bool is_too_far_ahead(std::uint64_t incarnation) const;
  // True once after it has turned out that the group is new.
  [[nodiscard]] bool take_new_group() { return std::exchange(new_group_, false); }

 private:
  struct Pledge {
    std::uint64_t incarnation = 0;
    bool fresh = false;
    std::uint64_t view = 0;
    std::uint64_t checkpoint = 0;
  };

  struct Peer {
    std::optional<Pledge> pledge;
    // When it first asked under this incarnation, this replica had promised nothing yet. What it
    // has said since does not change that, and a pledge may have been lost.
    std::optional<std::uint64_t> fresh_for;
    std::optional<TimePoint> reborn_at;
    Duration pause{};  // before it may have another life
    std::optional<TimePoint> answered_at;
  };

  void ask(ReplicaActions& out);
  void ask_late(ReplicaActions& out);
  // The f-th greatest that the pledges name.
  [[nodiscard]] std::uint64_t vouched_incarnation() const;
  // The peer has pledged for this incarnation, and names a checkpoint that there can be.
  [[nodiscard]] bool counts(const Peer& peer) const;
  // The view in which the new life begins, from the pledges that count; nothing when it takes more
  // of them, or more time.
  [[nodiscard]] std::optional<std::uint64_t> resumed_view(bool may_wait) const;
  // Of the other replicas: how many have pledged, how many of these are fresh, how many have been
  // told that this one is, and the newest checkpoint among the pledges.
  struct Heard {
    std::uint32_t pledged = 0;
    std::uint32_t fresh = 0;
    std::uint32_t told = 0;
    std::uint64_t checkpoint = 0;
  };
  [[nodiscard]] Heard heard() const;
  // Of pledges: 2f.
  [[nodiscard]] std::uint32_t needed() const { return 2 * (context_.quorum.weak - 1); }
  void raise_incarnation(ReplicaActions& out);
  void decide(ReplicaActions& out);
  void begin_new_group(ReplicaActions& out);
  void fall_silent(std::uint64_t checkpoint, std::uint64_t view, ReplicaActions& out);
  // It has asked under this incarnation.
  void answer(NodeId peer, std::uint64_t asked_as, ReplicaActions& out);

  Context& context_;
  Checkpoints& checkpoints_;
  ViewChanger& view_changer_;
  Retransmission& retransmission_;
  std::vector<Peer> peers_;
  TimePoint next_tick_ = TimePoint::max();
  std::optional<TimePoint> enough_since_;  // have pledged
  std::optional<TimePoint> raised_at_;     // its own incarnation
  bool new_group_ = false;
};

}  // namespace prophecy::pbft
