// `StreamPools` are the connections on which one worker streams answers of a group's origins. They
// are apart from those of other reads: a stream holds its connection for as long as it lasts.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "http/client/origin_pool.hpp"

namespace prophecy::sketcher {

class StreamPools {
 public:
  // By replica. Each takes `streams_max` streams, and none waits for a place.
  StreamPools(boost::asio::io_context& loop, std::vector<http::OriginSettings> origins,
              std::size_t streams_max, http::OriginTimeouts& timeouts) {
    for (http::OriginSettings& origin : origins) {
      origin.connections_max = streams_max;
      origin.queue_max = 0;
      origin.pipeline_max = 1;
      pools_.emplace_back(loop, std::move(origin), timeouts);
    }
  }

  [[nodiscard]] http::OriginPool& at(NodeId replica) { return pools_[replica]; }

 private:
  std::deque<http::OriginPool> pools_;  // they do not move
};

}  // namespace prophecy::sketcher
