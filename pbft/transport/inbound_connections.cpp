#include "pbft/transport/inbound_connections.hpp"

#include <vector>

#include "base/assert.hpp"

namespace prophecy::pbft {

void InboundConnections::add(Socket socket, FrameConnection::Owner& owner) {
  ++counters_.accepted;
  const bool full = connections_.size() >= settings_.connections_max;
  if (unproven_.size() >= settings_.unproven_connections_max || (full && !unproven_.empty())) {
    evict_oldest();
  } else if (full) {
    ++counters_.closed_limit;
    return;  // the socket closes as it goes
  }
  prepare_connection(socket);
  const ConnectionTag tag = ++last_tag_;
  auto connection =
      std::make_shared<FrameConnection>(std::move(socket), tag, settings_, counters_, owner);
  connections_.emplace(tag, connection);
  unproven_.emplace(tag, 0);
  connection->start();
}

void InboundConnections::prove(ConnectionTag tag) {
  const auto entry = unproven_.find(tag);
  if (entry == unproven_.end()) return;
  unproven_bytes_ -= entry->second;
  unproven_.erase(entry);
}

void InboundConnections::note_pending(const FrameConnection& connection) {
  const auto entry = unproven_.find(connection.tag());
  if (entry == unproven_.end()) return;
  unproven_bytes_ += connection.pending_bytes() - entry->second;
  entry->second = connection.pending_bytes();
  while (unproven_bytes_ > settings_.unproven_bytes_max && !unproven_.empty()) evict_oldest();
}

void InboundConnections::forget(ConnectionTag tag) {
  prove(tag);
  connections_.erase(tag);
}

void InboundConnections::evict_oldest() {
  ASSERT(!unproven_.empty());
  ++counters_.closed_evicted;
  const std::shared_ptr<FrameConnection> connection = connections_[unproven_.begin()->first];
  connection->close(CloseReason::evicted);  // leads to forget()
}

void InboundConnections::check_stalls(TimePoint now) {
  std::vector<std::shared_ptr<FrameConnection>> stalled;
  for (const auto& [tag, connection] : connections_) {
    if (connection->is_stalled(now)) stalled.push_back(connection);
  }
  for (const auto& connection : stalled) {
    ++counters_.closed_stalled;
    connection->close(CloseReason::stalled);
  }
}

void InboundConnections::close_all() {
  for (const auto& [tag, connection] : connections_) connection->close(CloseReason::stopped);
  connections_.clear();
  unproven_.clear();
  unproven_bytes_ = 0;
}

FrameConnection* InboundConnections::find(ConnectionTag tag) const {
  const auto entry = connections_.find(tag);
  return entry != connections_.end() ? entry->second.get() : nullptr;
}

}  // namespace prophecy::pbft
