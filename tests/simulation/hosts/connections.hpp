// Connections over links that are narrow. What a node sends to another one stays in its order, and
// leaves at so many bytes in a millisecond. Beyond what a queue holds the oldest frames are
// dropped, as a replica's outgoing queues do. With a connection that breaks, all that is on it is
// lost.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "pbft/core/state/actions.hpp"
#include "simulation/hosts/scheduler.hpp"

namespace prophecy::simulation {

class Connections {
 public:
  using Deliver = std::function<void(NodeId to, const pbft::Frame& frame)>;

  // Both outlive this.
  Connections(Scheduler& scheduler, const Deliver& deliver);

  struct Limits {
    std::uint64_t bytes_per_ms = 0;
    Duration longest_queue{};  // a queue holds what leaves in this time
  };
  // `delay` is that of the way, behind the queue. The direction counts: each has its own limits.
  void send(NodeId from, NodeId to, const pbft::Frame& frame, const Limits& limits, Duration delay);
  void break_off(NodeId from, NodeId to);

 private:
  struct Waiting {
    pbft::Frame frame;
    std::uint64_t bytes_per_ms = 0;
    Duration delay{};
  };
  struct Connection {
    std::deque<Waiting> queue;
    std::size_t bytes_queued = 0;
    bool is_sending = false;
    TimePoint last_arrival{};
    std::uint64_t breaks = 0;
  };
  using Ends = std::pair<NodeId, NodeId>;

  void send_next(Ends ends);

  Scheduler& scheduler_;
  const Deliver& deliver_;
  std::map<Ends, Connection> connections_;
};

}  // namespace prophecy::simulation
