#include "pbft/transport/inbound_connections.hpp"

#include <algorithm>
#include <vector>

#include "base/assert.hpp"

namespace prophecy::pbft {

void InboundConnections::add(Socket socket, FrameConnection::Owner& owner) {
  ++counters_.accepted;
  const bool full = connections_.size() >= settings_.connections_max;
  if (unproven_.size() >= settings_.unproven_connections_max || (full && !unproven_.empty())) {
    evict(least_shown());
  } else if (full) {
    ++counters_.closed_limit;
    return;  // the socket closes as it goes
  }
  std::unique_ptr<LinkChannel> tls = settings_.tls ? settings_.tls->accept() : nullptr;
  if (settings_.tls && !tls) return;  // there is no memory: likewise
  prepare_connection(socket);
  const ConnectionTag tag = ++last_tag_;
  auto connection = std::make_shared<FrameConnection>(std::move(socket), std::move(tls), tag,
                                                      settings_, counters_, owner);
  connections_.emplace(tag, Entry{connection});
  unproven_.emplace(tag, 0);
  connection->start();
}

void InboundConnections::prove(ConnectionTag tag, NodeId member) {
  if (!remove_unproven(tag)) return;
  connections_.at(tag).member = member;
  std::set<ConnectionTag>& own = proven_[member];
  own.insert(tag);
  if (own.size() <= settings_.connections_per_member_max) return;
  ++counters_.closed_crowded;
  const ConnectionTag newest_but_one = *std::next(own.rbegin());
  const std::shared_ptr<FrameConnection> crowded = connections_.at(newest_but_one).connection;
  crowded->close(CloseReason::evicted);  // leads to forget()
}

bool InboundConnections::is_of(ConnectionTag tag, NodeId member) const {
  const auto proven = proven_.find(member);
  return proven != proven_.end() && proven->second.contains(tag);
}

bool InboundConnections::remove_unproven(ConnectionTag tag) {
  const auto entry = unproven_.find(tag);
  if (entry == unproven_.end()) return false;
  unproven_bytes_ -= entry->second;
  unproven_.erase(entry);
  return true;
}

void InboundConnections::note_pending(const FrameConnection& connection) {
  const auto entry = unproven_.find(connection.tag());
  if (entry == unproven_.end()) return;
  unproven_bytes_ += connection.pending_bytes() - entry->second;
  entry->second = connection.pending_bytes();
  while (unproven_bytes_ > settings_.unproven_bytes_max && !unproven_.empty())
    evict(unproven_.begin()->first);
}

void InboundConnections::forget(ConnectionTag tag) {
  const auto entry = connections_.find(tag);
  if (entry == connections_.end()) return;
  if (!remove_unproven(tag)) proven_[entry->second.member].erase(tag);
  connections_.erase(entry);
}

ConnectionTag InboundConnections::least_shown() const {
  ASSERT(!unproven_.empty());
  const auto unsecured = std::find_if(unproven_.begin(), unproven_.end(), [this](const auto& each) {
    return !connections_.at(each.first).connection->is_secured();
  });
  return unsecured != unproven_.end() ? unsecured->first : unproven_.begin()->first;
}

void InboundConnections::evict(ConnectionTag tag) {
  ++counters_.closed_evicted;
  const std::shared_ptr<FrameConnection> connection = connections_.at(tag).connection;
  connection->close(CloseReason::evicted);  // leads to forget()
}

void InboundConnections::check_stalls(TimePoint now) {
  std::vector<std::shared_ptr<FrameConnection>> stalled;
  for (const auto& [tag, entry] : connections_) {
    if (entry.connection->is_stalled(now)) stalled.push_back(entry.connection);
  }
  for (const auto& connection : stalled) {
    ++counters_.closed_stalled;
    connection->close(CloseReason::stalled);
  }
}

void InboundConnections::close_all() {
  for (const auto& [tag, entry] : connections_)
    entry.connection->close(CloseReason::stopped);
  connections_.clear();
  unproven_.clear();
  unproven_bytes_ = 0;
  proven_.clear();
}

FrameConnection* InboundConnections::find(ConnectionTag tag) const {
  const auto entry = connections_.find(tag);
  return entry != connections_.end() ? entry->second.connection.get() : nullptr;
}

}  // namespace prophecy::pbft
