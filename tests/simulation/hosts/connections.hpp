// `Connections` carries the frames of a `Network` over links that are narrow. What a node sends
// another one stays in its order, and leaves at so many bytes in a millisecond. Beyond what a queue
// holds the oldest frames are dropped, as a replica's outgoing queues do. With a connection that
// breaks, all that is on it is lost; the next frame opens another one at once.
//
// Each pair of nodes has a width of its own, in each direction: nodes share no uplink. Nor do
// frames that are sent before a link becomes narrow, or after it was, wait for those in between.
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
  // A frame was dropped in front of a link.
  using Drop = std::function<void(NodeId from, NodeId to, const pbft::Frame& frame)>;

  Connections(Scheduler& scheduler, Deliver deliver, Drop drop);

  struct Limits {
    std::uint64_t bytes_per_ms = 0;
    Duration longest_queue{};  // a queue holds what leaves in this time
  };
  // `delay` is that of the way, behind the queue.
  void send(NodeId from, NodeId to, const pbft::Frame& frame, const Limits& limits, Duration delay);
  void break_off(NodeId from, NodeId to);
  // Likewise, all connections of a node whose process has ended.
  void break_off_all(NodeId node);

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
  Deliver deliver_;
  Drop drop_;
  std::map<Ends, Connection> connections_;
};

}  // namespace prophecy::simulation
