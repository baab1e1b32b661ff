#include "sketcher/connection_set.hpp"

namespace prophecy::sketcher {

ClientConnection& ConnectionSet::add(std::unique_ptr<ClientConnection> connection) {
  connection->set_position(connections_.size());
  connections_.push_back(std::move(connection));
  return *connections_.back();
}

// The last one takes the place of the removed one.
void ConnectionSet::remove(ClientConnection& connection) {
  const std::size_t position = connection.position();
  std::swap(connections_[position], connections_.back());
  connections_[position]->set_position(position);
  connections_.pop_back();
}

}  // namespace prophecy::sketcher
