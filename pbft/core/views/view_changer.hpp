// When this replica gives a primary up, and how the group comes to the next view (TOCS 2002,
// section 4.5; OSDI 1999, sections 4.4 and 4.5.2). States:
//
//   normal in v --- a request or a proposal waits too long;
//                   or requests wait again and again;
//                   or proposals come late again and again;
//                   or f+1 ask for views above v ---------------> changing to v'
//   changing to v' --- 2f+1 ask for v', and no new view in time -> changing to v'+1
//   changing to v', or normal in an older view
//              --- a valid new-view message --------------------> normal in v'
//
// A primary whose process has ended, as far as its machine shows (note_gone()), gets no more time
// once something waits.
//
// What keeps nothing from being ordered blames nobody: what is agreed on, and waits for this
// replica's own service; a request for which there is no room while that lasts; and a request that
// waits at a replica behind the stable checkpoint, since it may be ordered. Nor does the time count
// in which this replica did not run (absence.hpp).
//
// The messages are signed, so that they convince replicas to which others show them. Time-outs
// double with every view that brought nothing, so that some view lasts long enough.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pbft/core/ordering/agreement.hpp"
#include "pbft/core/ordering/patience.hpp"
#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/core/state/log.hpp"
#include "pbft/core/state/new_view_choice.hpp"
#include "pbft/core/views/blame.hpp"
#include "pbft/core/views/left_out.hpp"
#include "pbft/core/views/slow_primary.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft {

class ViewChanger {
 public:
  ViewChanger(Context& context, Log& log, Checkpoints& checkpoints, Agreement& agreement,
              Patience& patience);

  // True when the frame was authentic. `entered` tells that a new view has begun.
  bool on_view_change(ByteView frame, TimePoint now, ReplicaActions& out);
  bool on_new_view(ByteView frame, TimePoint now, ReplicaActions& out);
  void on_tick(TimePoint now, ReplicaActions& out);
  // To be called before every event: this replica may not have run for some time.
  void notice_absence(TimePoint now);
  // To be called after every event: a request that waits wants a tick.
  void arm(TimePoint now);
  [[nodiscard]] TimePoint next_timer() const { return look_at_; }
  // True once after a view was entered.
  [[nodiscard]] bool take_entered() { return std::exchange(entered_, false); }
  // This replica asks for the next view at once.
  void give_up(ViewChangeCause cause, ReplicaActions& out);
  // The peer has lost its memory: neither its view-change messages nor its votes count any more.
  void forget(NodeId peer) {
    asked_[peer] = {};
    log_.forget_votes_of(peer);
  }
  // The peer's process has ended: its connection broke, and its machine refuses another. The
  // network can forge this hint, so it only shortens a wait, and the peer's next proven frame
  // refutes it.
  void note_gone(NodeId peer, TimePoint now);
  // The peer's last Status says that it has lost its memory, and is silent; or that it is not. It
  // can begin no view.
  void note_silence(NodeId peer, bool is_silent) { silent_[peer] = is_silent; }
  // A frame was proven to be of the peer.
  void note_heard(NodeId peer) { gone_since_[peer].reset(); }
  // It may speak again: what it could not say.
  void end_silence(ReplicaActions& out);
  // The stable checkpoint's certificate convinces others again: what was asked for with a void one
  // was rejected.
  void on_proven(ReplicaActions& out);
  // Where this replica has lost its own memory, and the group is in this view or on its way to it.
  void resume_in(std::uint64_t view, ReplicaActions& out);
  // As the journal says. Requires the proposals of the log to be there.
  void resume(const Remembered& remembered, ReplicaActions& out);
  // See Context.
  [[nodiscard]] std::uint64_t elsewhere() const;
  // Of the last view that this replica has asked for.
  [[nodiscard]] ViewChangeCause cause() const { return cause_; }
  // For a peer that says that it is in this view, or asks for it: what may bring it here.
  void serve(NodeId peer, std::uint64_t view, bool changing, ReplicaActions& out);

 private:
  struct Asked {
    std::uint64_t view = 0;  // 0: nothing
    Frame frame;
    std::optional<TimePoint> shown_at;  // to it, the message by which the view began
  };

  void ask_for(std::uint64_t view, ViewChangeCause cause, TimePoint now, ReplicaActions& out);
  // Its view-change message for the current view.
  void say_so(ReplicaActions& out);
  [[nodiscard]] Frame make_view_change(std::uint64_t view) const;
  // The message, if it may be believed. Its sender's signature is checked as well.
  // From before its sender lost its memory, as this replica has heard.
  [[nodiscard]] bool is_of_earlier_life(const ViewChangeMessage& message) const;
  [[nodiscard]] bool may_be_stable(const ViewChangeMessage& message) const;
  [[nodiscard]] bool has_earlier_life(const NewViewMessage& message) const;
  void show_rebirths(const NewViewMessage& message, ReplicaActions& out) const;
  [[nodiscard]] std::optional<ViewChangeMessage> verified(ByteView frame);
  // Those in a new-view message, if it may be believed.
  [[nodiscard]] std::vector<ViewChangeMessage> verified_all(const NewViewMessage& message);
  [[nodiscard]] bool is_certified(const ViewChangeMessage& message);
  void join_others(TimePoint now, ReplicaActions& out);
  void begin_as_primary(TimePoint now, ReplicaActions& out);
  void enter(std::uint64_t view, const std::vector<ViewChangeMessage>& messages,
             const NewViewChoice& choice, TimePoint now, ReplicaActions& out);
  // Or for a later one.
  [[nodiscard]] std::uint32_t asking_for(std::uint64_t view) const;
  // The log is full, or soon will be, for want of checkpoints, for which no primary is needed.
  [[nodiscard]] bool is_held_up() const;
  // As many batches as it has in flight are agreed on, and wait for this replica's service. The
  // primary's has as much to do, or it is too slow.
  [[nodiscard]] bool has_no_room() const;
  // It lacks what 2f+1 have executed.
  [[nodiscard]] bool is_behind() const;
  // The next batch is committed, and waits for bodies alone, which are fetched.
  [[nodiscard]] bool lacks_bodies() const;
  // What keeps this replica from holding requests against the primary.
  [[nodiscard]] Patience::Excuse excuse() const;
  [[nodiscard]] BlameInputs::Place place() const;
  // Nothing is waited for but the batches that carry a peer to its checkpoint.
  [[nodiscard]] bool is_only_carrying(ViewChangeCause cause) const;
  // The view that it leaves has brought nothing, or has not begun.
  [[nodiscard]] bool is_futile() const;
  void note_unsettled(TimePoint now);
  // Requires a backup.
  void note_requests(TimePoint now, BlameInputs& inputs);
  void note_proposals(TimePoint now, BlameInputs& inputs);
  [[nodiscard]] Duration patience_length() const;
  // When the primary of the current view has had the time to refute that it is gone, if it is.
  [[nodiscard]] std::optional<TimePoint> primary_gone_at() const;

  Context& context_;
  Log& log_;
  Checkpoints& checkpoints_;
  Agreement& agreement_;
  Patience& patience_;
  std::vector<Asked> asked_;                          // by replica, its newest
  std::vector<std::optional<TimePoint>> refused_at_;  // by replica, its last bad new view
  bool met_wrong_signature_ = false;                  // in the new view that is looked at
  Frame new_view_;  // by which the current view began; null in view 0
  std::vector<std::optional<TimePoint>> gone_since_;  // by replica, see note_gone()
  std::vector<bool> silent_;                          // by replica, see note_silence()
  SlowPrimary slow_primary_;
  LeftOut left_out_;
  std::uint32_t futile_views_ = 0;
  ViewChangeCause cause_ = ViewChangeCause::none;
  // Since when nothing more has been settled, while something is proposed.
  std::optional<TimePoint> unsettled_since_;
  std::uint64_t settled_then_ = 0;
  std::optional<TimePoint> carried_at_;  // when it gave a primary up for a silent peer's sake
  std::optional<TimePoint> give_up_at_;  // while changing, once 2f+1 ask for the view
  bool entered_ = false;
  Blame blame_;                               // as of the last event
  TimePoint blamed_from_ = TimePoint::min();  // nobody is before
  // No later than that: a replica that looks often sees when it has not run.
  TimePoint look_at_ = TimePoint::max();
};

}  // namespace prophecy::pbft
