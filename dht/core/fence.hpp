// `Fence` answers when the former holders of a partition have surely stopped, so that the member
// which a view gives it to may begin.
//
// A former holder has stopped when its own node shows that it has adopted a view which does not
// give it the partition any more; or when its last lease is over. Its last lease began before
//  - the view that takes the partition from it was known here: a lease is renewed only while the
//    view that it is of is the newest; or, if that is earlier,
//  - its last renewal was first seen here. That it was the last one is known from a write that was
//    committed on condition that the newer view *and* the node of that renewal were as we know
//    them.
// Both are instants of our own clock. A lease lasts L on the holder's clock, so a while longer on
// ours if clocks differ.
//
// A pure object: what it is asked about is handed in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dht/core/coordination.hpp"
#include "dht/core/view.hpp"

namespace prophecy::dht {

// By how much two clocks' speeds differ at most from real time, and how finely they are read.
struct ClockBounds {
  // The kernel lets whoever disciplines its clock change the speed of CLOCK_BOOTTIME by a tenth
  // (ADJ_TICK), by 500 parts in a million (ADJ_FREQUENCY), and by as much again while an offset is
  // slewed. chronyd does: by up to 8 % unless its maxslewrate is lower, after the network was away.
  // The rest of the bound is for the oscillator's own error.
  std::uint32_t drift_ppm = 102'000;
  Span grain = std::chrono::milliseconds(10);
};

// As long as `span` on another member's clock, or longer, on ours.
[[nodiscard]] Span outlast(Span span, const ClockBounds& bounds);

// A member's node, as far as it is known here.
struct Sighting {
  LeaseRecord record;
  NodeVersion version = 0;
  BootTime seen{};  // when this version was seen first
  // The version is that of the last renewal of all views before this one; 0: unknown.
  ViewNumber certified = 0;
};
using Sightings = std::map<std::string, Sighting, std::less<>>;  // by the member's name

// A member that may have held a partition, and the last view that gave it to that member.
struct FormerHolder {
  std::string name;
  Instance instance = 0;
  ViewNumber last = 0;

  bool operator==(const FormerHolder&) const = default;
};

class Fence {
 public:
  // `known`: when the view was known here. Placements are those of the view's former ones.
  Fence(const View& view, BootTime known, const Holder& self, std::size_t partitions,
        const ClockBounds& bounds);

  // The members to wait for, without ourselves. Nothing: any member may have held it.
  using FormerHolders = std::optional<std::vector<FormerHolder>>;
  [[nodiscard]] FormerHolders former_holders(Partition partition) const;
  // Whether each view since that one (not the newest) gave the partition to us.
  [[nodiscard]] bool was_ours_since(Partition partition, ViewNumber since) const;
  // By the view just before this one; null for the first view.
  [[nodiscard]] const Holder* last_holder(Partition partition) const;

  // From when on all of them have stopped: to answer by a history, or (`entirely`) through the
  // group as well.
  [[nodiscard]] BootTime stopped(const FormerHolders& holders, const Sightings& sightings,
                                 bool entirely) const;
  // Whether it is of use to certify the last renewal of this member.
  [[nodiscard]] bool waits_for_renewal(const FormerHolder& holder,
                                       const Sightings& sightings) const;

  [[nodiscard]] ViewNumber view() const { return view_.number; }
  // Whether the newest view lists this holder with this instance.
  [[nodiscard]] bool is_member(const Holder& holder) const {
    const Member* const member = find_member(view_, holder.name);
    return member != nullptr && member->holder.instance == holder.instance;
  }

 private:
  [[nodiscard]] BootTime stopped(const FormerHolder& holder, const Sightings& sightings,
                                 Span wait) const;

  View view_;
  BootTime known_;
  Holder self_;
  std::vector<Placement> placements_;  // of the former views
  Span history_wait_;
  Span group_wait_;
};

}  // namespace prophecy::dht
