// The accepted connections of a replica, and who has to go when there are too many. A connection
// is unproven until a member has told its key there, in answer to this replica's nonce; then it
// counts as that member's. Valid MACs prove nothing about it: whoever holds a member's frames may
// replay them on connections of his own. Strangers can crowd out only each other: the oldest whose
// handshake is not over gives way, or else the oldest. Of a member's, the newest but one does, as
// older ones have shown to be in use.
//
// Single-threaded.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "base/ids.hpp"
#include "pbft/transport/frame_connection.hpp"

namespace prophecy::pbft {

class InboundConnections {
 public:
  InboundConnections(const TransportSettings& settings, TransportCounters& counters)
      : settings_(settings), counters_(counters) {}

  // Takes the socket, or closes it at the limit.
  void add(Socket socket, FrameConnection::Owner& owner);
  // The member has proven that this connection is its own. May close an older one of it.
  void prove(ConnectionTag tag, NodeId member);
  [[nodiscard]] bool is_of(ConnectionTag tag, NodeId member) const;
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
  // The oldest unproven one whose handshake is not over, or else the oldest unproven one.
  [[nodiscard]] ConnectionTag least_shown() const;
  void evict(ConnectionTag tag);
  // Takes the connection out of the unproven ones; false when it was not among them.
  bool remove_unproven(ConnectionTag tag);

  const TransportSettings& settings_;
  TransportCounters& counters_;
  struct Entry {
    std::shared_ptr<FrameConnection> connection;
    NodeId member = 0;  // once proven
  };
  std::unordered_map<ConnectionTag, Entry> connections_;
  std::map<ConnectionTag, std::size_t> unproven_;  // oldest first; pending bytes of each
  std::size_t unproven_bytes_ = 0;
  std::unordered_map<NodeId, std::set<ConnectionTag>> proven_;  // of each member, oldest first
  ConnectionTag last_tag_ = 0;
};

}  // namespace prophecy::pbft
