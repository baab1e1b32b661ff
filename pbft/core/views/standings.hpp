// What a replica knows of its peers, for people and monitoring: how far each says it is, when it
// was last heard, and what speaks against it. The protocol decides nothing by it.
//
// A message counts as its sender's own only when a MAC or a signature proved it. What merely names
// a sender is counted apart: anybody may have sent it.
#pragma once

#include <vector>

#include "pbft/core/state/context.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

class Standings {
 public:
  explicit Standings(const Context& context);

  // After each frame, whose last drop is in the context. `authentic` is what its handler said.
  void on_frame_handled(ByteView frame, bool authentic, TimePoint now);
  // Requires an authentic one, of another replica.
  void on_status(const StatusMessage& status);
  // `view_before` is the view before an event; nothing happens unless it was given up since.
  void on_view_left(std::uint64_t view_before, TimePoint now);

  // Batches that f+1 peers have ordered and this replica has not executed.
  [[nodiscard]] std::uint64_t lag() const;
  // All peers, by id.
  void copy_to(std::vector<PeerStanding>& peers) const;

 private:
  void on_relayed(ByteView frame, bool authentic, TimePoint now);

  const Context& context_;
  std::vector<PeerStanding> standings_;  // by id, this replica's own unused
  std::uint64_t view_changes_then_ = 0;
};

}  // namespace prophecy::pbft
