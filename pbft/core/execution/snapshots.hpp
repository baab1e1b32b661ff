// The checkpoints whose state is here, pinned in the part store: those that are not stable yet, the
// stable one, the one that a restart would begin from (the *base*), and for a while older ones that
// a peer is just fetching.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "base/clock.hpp"
#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/part_store.hpp"

namespace prophecy::pbft {

class Snapshots {
 public:
  explicit Snapshots(PartStore& parts) : parts_(parts) {}

  // Pins the roots that the claim names. False when a part is missing. One for the same sequence
  // number is replaced.
  [[nodiscard]] bool add(const CheckpointClaim& claim);
  // Only pins the roots, or lets them go again: for a claim that something else than this names.
  [[nodiscard]] bool pin(const CheckpointClaim& claim);
  void unpin(const CheckpointClaim& claim);
  // Null when there is none.
  [[nodiscard]] const CheckpointClaim* find(std::uint64_t sequence) const;
  // The newest up to it.
  [[nodiscard]] const CheckpointClaim* newest_up_to(std::uint64_t sequence) const;
  // The newest up to it that has the service's state.
  [[nodiscard]] const CheckpointClaim* newest_whole_up_to(std::uint64_t sequence) const;
  // These and later ones are not what the group has. They stay, for most of their parts are, but
  // are named no more.
  void disown_from(std::uint64_t sequence);
  // A peer fetches parts of it.
  void touch(std::uint64_t sequence, TimePoint now);
  // Lets go what nobody needs: below the stable one, but for the newest, which leaves a fetch
  // little to do, those that are named, and what is being fetched.
  void trim(std::uint64_t stable, std::span<const std::uint64_t> kept, TimePoint now);
  // This replica goes back to an earlier state, and its later ones are not to be relied on.
  void forget_above(std::uint64_t sequence);

 private:
  struct Entry {
    CheckpointClaim claim;
    TimePoint touched = TimePoint::min();
    bool disowned = false;
  };

  // The newest up to it that suits. Asked for with every event, so it begins with the newest.
  template <class Suits>
  [[nodiscard]] const CheckpointClaim* newest_of(std::uint64_t sequence, Suits suits) const;

  PartStore& parts_;
  std::deque<Entry> entries_;  // rising
};

}  // namespace prophecy::pbft
