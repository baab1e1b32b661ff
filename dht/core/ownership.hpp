// `Ownership` decides, partition by partition, whether this member owns it, and writes that into
// Permissions for the workers.
//
//                 a view gives it to us
//    elsewhere ────────────────────────► waiting ──► (group_only) ──► taken
//        ▲                                  │             │             │
//        └──────────────────────────────────┴─────────────┴─────────────┘
//                 a view gives it to another
//
// From `waiting` on, in this order:
//  1. all workers have passed a turn, and what an earlier ownership has left in the history is
//     erased (`clear`);
//  2. the former holders have stopped (fence.hpp). Between the end of their leases and the end of
//     their permission to answer through the group, if there is one, we may do the same;
//  3. the group has ordered a request that was sent after that, the *barrier*: whatever a former
//     holder has answered lies before it, all that is recorded from now on lies behind.
// A partition that leaves stage `taken` may be handed over once all workers have passed a turn.
//
// A pure object: events in, actions out, in their order.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "dht/core/fence.hpp"
#include "dht/core/member_slots.hpp"
#include "dht/core/permissions.hpp"
#include "dht/core/view.hpp"

namespace prophecy::dht {

// An answer's place in the group's order: Sigma of history_table/history_entry.hpp.
using OrderNumber = std::uint64_t;

struct OwnershipAction {
  enum class Kind : std::uint8_t {
    quiesce,  // report when all workers have passed a turn since now
    clear,    // the same; then erase all entries of `partitions`, then report
    barrier,  // have the group order a request that is sent from now on, and report its number
    taken,    // `partitions` are taken: entries may be asked for
  };
  Kind kind = Kind::quiesce;
  std::uint64_t ticket = 0;  // to report with
  std::vector<Partition> partitions;
  OrderNumber barrier = 0;  // of taken
};

class Ownership {
 public:
  // Takes all partitions' words away from whoever has set them before.
  Ownership(Permissions permissions, Holder self, const ClockBounds& bounds);

  // The newest view that is known, since `known`. Older ones are ignored.
  void adopt(const View& view, BootTime known);
  // Whenever time has passed, or a sighting has changed.
  void progress(BootTime now, const Sightings& sightings);

  void on_quiesced(std::uint64_t ticket);
  void on_cleared(std::uint64_t ticket);
  void on_barrier(std::uint64_t ticket, OrderNumber number);
  // The group did not answer: it is to be asked again.
  void on_barrier_failed(std::uint64_t ticket);

  [[nodiscard]] std::optional<OwnershipAction> take_action();

  // The view whose words the workers have; 0: none.
  [[nodiscard]] ViewNumber adopted() const { return fence_ ? fence_->view() : 0; }
  // All our partitions of that view are taken, so no other member holds any of them.
  [[nodiscard]] bool is_settled() const { return adopted() != 0 && untaken_ == 0; }
  // Our partitions that are not taken.
  [[nodiscard]] std::size_t untaken() const { return untaken_; }
  // How many of them wait for what, for people.
  struct Waits {
    std::size_t clearing = 0;  // what an earlier ownership has left is erased
    std::size_t fence = 0;     // former holders may not have stopped
    std::size_t barrier = 0;   // the group's order
  };
  [[nodiscard]] Waits waits() const;
  // Partitions of others that may yet be asked for.
  [[nodiscard]] std::size_t to_give() const;
  // When progress() may have an effect; max: not by the passing of time.
  [[nodiscard]] BootTime deadline() const { return deadline_; }
  // Former holders of what is ours and not taken, which have not been seen to confirm the view.
  [[nodiscard]] std::vector<std::string> unconfirmed(const Sightings& sightings) const;
  // Members whose last renewal is worth certifying (Sighting::certified).
  [[nodiscard]] std::vector<std::string> awaited(const Sightings& sightings) const;

  // ---- For the hand-over.

  [[nodiscard]] OwnerWord word(Partition partition) const { return parts_[partition].word; }
  // We held it by the view just before the one that gave it to who asks, and no worker changes it
  // any more. (Had another view been in between, a third member may have held it since: ours would
  // be older than what that one has accepted.)
  [[nodiscard]] bool may_give(Partition partition, ViewNumber gained) const;
  // The view that gave us what is ours.
  [[nodiscard]] ViewNumber gained(Partition partition) const { return parts_[partition].gained; }
  // The same, but for the workers.
  [[nodiscard]] bool is_about_to_give(Partition partition) const {
    const Part& part = parts_[partition];
    return part.ticket != 0 && !is_ours(part) && !part.may_give;
  }
  [[nodiscard]] std::size_t partitions() const { return parts_.size(); }
  // It has been handed over, and is erased here.
  void on_given(Partition partition) {
    parts_[partition].may_give = false;
    parts_[partition].ticket = 0;
  }
  // The member that may have entries for a partition that is taken, if there is one.
  [[nodiscard]] std::optional<Holder> giver(Partition partition) const;
  [[nodiscard]] const MemberSlots& slots() const { return slots_; }

 private:
  struct Part {
    OwnerWord word;
    std::uint64_t ticket = 0;  // of the clearing, the quiescence or the barrier that is under way
    bool is_cleared = false;   // since it is ours
    bool has_barrier = false;  // it is asked for
    bool was_group_only = false;  // since it is ours
    bool may_give = false;
    ViewNumber held = 0;               // not ours: the last view by which we held it, taken
    ViewNumber gained = 0;             // ours: the view that gave it to us
    std::size_t waits_for = 0;         // of wait_sets_, while it is not taken
    std::optional<Holder> giver = {};  // who had it last, since it is ours
  };

  void set_word(Partition partition, Stage stage, MemberSlot slot);
  [[nodiscard]] static bool is_ours(const Part& part) {
    return part.word.stage() >= Stage::waiting;
  }
  void take_in(const std::vector<Partition>& gained);
  void note_waits();
  [[nodiscard]] std::size_t wait_set_of(Partition partition);
  // Of what is not taken yet, by name, if `condition` holds for them.
  template <class Condition>
  [[nodiscard]] std::vector<std::string> former_holders(Condition condition) const;

  Permissions permissions_;
  Holder self_;
  ClockBounds bounds_;
  MemberSlots slots_;
  std::optional<Fence> fence_;  // of the adopted view
  bool is_group_only_allowed_ = false;
  std::vector<Part> parts_;
  std::vector<Fence::FormerHolders> wait_sets_;
  std::size_t untaken_ = 0;  // of ours
  BootTime deadline_ = BootTime::max();
  std::uint64_t last_word_ = 0;
  std::uint64_t last_ticket_ = 0;
  std::map<std::uint64_t, std::vector<Partition>> tickets_;  // under way
  std::deque<OwnershipAction> actions_;
};

}  // namespace prophecy::dht
