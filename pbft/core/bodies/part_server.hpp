// `PartServer` hands parts of states and bodies to other replicas, each within its own rate. What
// exceeds the rate is answered late and not dropped: to the asker a part that does not come looks
// like a source that is dead, and it would turn to another one.
//
// Peers that fetch one body or state ask for the same parts at about the same time, and one that
// alone has it serves all others. So what was served last is kept as frames, and read from the disk
// and hashed once.
//
// Bounded: the digests that wait, for each peer (a correct replica has fewer on their way), and the
// frames that are kept.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "pbft/core/state/context.hpp"
#include "pbft/core/state/part_store.hpp"

namespace prophecy::pbft {

class PartServer {
 public:
  static constexpr std::size_t kWaitingMax = 256;  // digests of one peer

  PartServer(Context& context, const PartStore& parts)
      : context_(context), parts_(parts), peers_(context.quorum.replicas) {}

  // Requires a replica, and that it was it that has asked. What is not here is not answered.
  void serve(NodeId peer, const std::vector<Digest>& digests, ReplicaActions& out);
  void on_tick(ReplicaActions& out);
  // When there is something to serve again.
  [[nodiscard]] TimePoint next_timer() const;

 private:
  struct Peer {
    std::deque<Digest> waiting;
    std::uint64_t bytes = 0;  // handed over since
    TimePoint since;
  };

  // A part that was read and checked, as a frame.
  struct Served {
    Digest part{};
    Frame frame;
  };

  void serve_waiting(NodeId to, ReplicaActions& out);
  // Null when the part is not here, or is damaged.
  [[nodiscard]] Frame frame_of(const Digest& part);

  Context& context_;
  const PartStore& parts_;
  std::vector<Peer> peers_;
  std::deque<Served> served_;  // the last ones, oldest first
  std::uint64_t served_cost_ = 0;
};

}  // namespace prophecy::pbft
