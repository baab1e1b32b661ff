#include "pbft/transport/inbound_connections.hpp"

#include <algorithm>
#include <vector>

#include "base/assert.hpp"

namespace prophecy::pbft {

void InboundConnections::add(Socket socket, FrameConnection::Owner& owner) {
  ++counters_.accepted;
  if (strangers_.tags.size() >= settings_.unproven_connections_max)
    close(least_shown(), counters_.closed_evicted);
  std::unique_ptr<LinkChannel> tls = settings_.tls ? settings_.tls->accept() : nullptr;
  if (settings_.tls && !tls) return;  // there is no memory: the socket closes as it goes
  prepare_connection(socket);
  const ConnectionTag tag = ++last_tag_;
  auto connection = std::make_shared<FrameConnection>(std::move(socket), std::move(tls), tag,
                                                      settings_, counters_, owner);
  connections_.emplace(tag, Entry{connection, &strangers_, {}});
  strangers_.tags.insert(tag);
  connection->start();
}

void InboundConnections::prove(ConnectionTag tag, NodeId member) {
  if (!strangers_.tags.contains(tag)) return;
  Entry& entry = connections_.at(tag);
  const Held held = entry.held;
  count(entry, {});
  strangers_.tags.erase(tag);
  Account& account = members_[member];
  account.is_client = is_client(member);
  account.tags.insert(tag);
  entry.account = &account;
  count(entry, held);

  if (account.is_client) ++client_connections_;
  const std::size_t own_max = account.is_client ? settings_.connections_per_client_max
                                                : settings_.connections_per_replica_max;
  if (account.tags.size() > own_max) close_newest_but_one(account, counters_.closed_crowded);
  if (client_connections_ > settings_.connections_max && account.is_client) {
    const auto places = [](const Account& each) { return each.tags.size(); };
    close_newest_but_one(client_with_most(account, places), counters_.closed_limit);
  }
}

bool InboundConnections::is_of(ConnectionTag tag, NodeId member) const {
  const auto account = members_.find(member);
  return account != members_.end() && account->second.tags.contains(tag);
}

void InboundConnections::note_bytes(const FrameConnection& connection) {
  const auto found = connections_.find(connection.tag());
  if (found == connections_.end()) return;
  Account& account = *found->second.account;
  count(found->second, {connection.queued_bytes(), connection.pending_bytes()});
  limit(account, &Held::unsent, settings_.unsent_bytes);
  if (&account != &strangers_) return limit(account, &Held::pending, settings_.pending_bytes);
  while (strangers_.held.pending > settings_.unproven_bytes_max)
    close(*strangers_.tags.begin(), counters_.closed_evicted);
}

void InboundConnections::count(Entry& entry, const Held& now) {
  const auto add = [&entry, &now](Held& sum) {
    sum.unsent += now.unsent - entry.held.unsent;
    sum.pending += now.pending - entry.held.pending;
  };
  add(entry.account->held);
  if (entry.account->is_client) add(clients_held_);
  entry.held = now;
}

void InboundConnections::limit(Account& account, std::size_t Held::*kind,
                               const TransportSettings::BytesLimit& bounds) {
  while (account.held.*kind > bounds.per_member)
    shed(account, kind);
  if (!account.is_client) return;
  const auto bytes = [kind](const Account& each) { return each.held.*kind; };
  while (clients_held_.*kind > bounds.clients)
    shed(client_with_most(account, bytes), kind);
}

void InboundConnections::shed(const Account& account, std::size_t Held::*kind) {
  const auto most = std::max_element(account.tags.begin(), account.tags.end(),
                                     [this, kind](ConnectionTag left, ConnectionTag right) {
                                       return connections_.at(left).held.*kind <
                                              connections_.at(right).held.*kind;
                                     });
  ASSERT(most != account.tags.end());
  Entry& entry = connections_.at(*most);
  FrameConnection& connection = *entry.connection;
  if (kind == &Held::unsent && connection.drop_oldest()) {
    count(entry, {connection.queued_bytes(), entry.held.pending});
  } else {
    close(*most, counters_.closed_overfull);
  }
}

template <class Measure>
InboundConnections::Account& InboundConnections::client_with_most(Account& first, Measure measure) {
  Account* most = &first;
  for (auto& [member, account] : members_) {
    if (account.is_client && measure(account) > measure(*most)) most = &account;
  }
  return *most;
}

void InboundConnections::forget(ConnectionTag tag) {
  const auto found = connections_.find(tag);
  if (found == connections_.end()) return;
  Account& account = *found->second.account;
  count(found->second, {});
  account.tags.erase(tag);
  if (account.is_client) --client_connections_;
  connections_.erase(found);
}

ConnectionTag InboundConnections::least_shown() const {
  ASSERT(!strangers_.tags.empty());
  const auto unsecured = std::find_if(
      strangers_.tags.begin(), strangers_.tags.end(),
      [this](ConnectionTag tag) { return !connections_.at(tag).connection->is_secured(); });
  return unsecured != strangers_.tags.end() ? *unsecured : *strangers_.tags.begin();
}

void InboundConnections::close(ConnectionTag tag, std::uint64_t& counter) {
  ++counter;
  const std::shared_ptr<FrameConnection> connection = connections_.at(tag).connection;
  connection->close(CloseReason::evicted);
}

void InboundConnections::close_newest_but_one(const Account& account, std::uint64_t& counter) {
  const auto newest = account.tags.rbegin();
  close(account.tags.size() > 1 ? *std::next(newest) : *newest, counter);
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
  strangers_ = {};
  members_.clear();
  client_connections_ = 0;
  clients_held_ = {};
}

FrameConnection* InboundConnections::find(ConnectionTag tag) const {
  const auto entry = connections_.find(tag);
  return entry != connections_.end() ? entry->second.connection.get() : nullptr;
}

}  // namespace prophecy::pbft
