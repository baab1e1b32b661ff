#include "sketcher/client/connection_set.hpp"

namespace prophecy::sketcher {

ClientConnection& ConnectionSet::add(std::unique_ptr<ClientConnection> connection) {
  connection->set_position(connections_.size());
  connections_.push_back(std::move(connection));
  return *connections_.back();
}

// The last one takes the place of the removed one.
std::unique_ptr<ClientConnection> ConnectionSet::remove(ClientConnection& connection) {
  const std::size_t position = connection.position();
  std::unique_ptr<ClientConnection> removed = std::move(connections_[position]);
  if (position + 1 < connections_.size()) {
    connections_[position] = std::move(connections_.back());
    connections_[position]->set_position(position);
  }
  connections_.pop_back();
  return removed;
}

}  // namespace prophecy::sketcher
