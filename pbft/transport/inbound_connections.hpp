// The accepted connections of a replica, and who has to go when there are too many. A connection
// is unproven until a frame with a valid MAC came over it. Strangers can crowd out only each
// other: the oldest unproven connection gives way to a new one, proven ones stay.
//
// Single-threaded.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "pbft/transport/frame_connection.hpp"

namespace prophecy::pbft {

class InboundConnections {
 public:
  InboundConnections(const TransportSettings& settings, TransportCounters& counters)
      : settings_(settings), counters_(counters) {}

  // Takes the socket, or closes it at the limit.
  void add(Socket socket, FrameConnection::Owner& owner);
  // A frame of this connection was authentic.
  void prove(ConnectionTag tag);
  // Its incomplete frame grew or went. May evict another connection, or this one.
  void note_pending(const FrameConnection& connection);
  // Forgets a connection that has closed.
  void forget(ConnectionTag tag);
  void check_stalls(TimePoint now);
  void close_all();

  // Null when it is gone.
  [[nodiscard]] FrameConnection* find(ConnectionTag tag) const;
  [[nodiscard]] std::size_t size() const { return connections_.size(); }
  [[nodiscard]] std::size_t unproven() const { return unproven_.size(); }

 private:
  void evict_oldest();

  const TransportSettings& settings_;
  TransportCounters& counters_;
  std::unordered_map<ConnectionTag, std::shared_ptr<FrameConnection>> connections_;
  std::map<ConnectionTag, std::size_t> unproven_;  // oldest first; pending bytes of each
  std::size_t unproven_bytes_ = 0;
  ConnectionTag last_tag_ = 0;
};

}  // namespace prophecy::pbft
