// The open client connections of a worker, with a bound on their number.
#pragma once

#include <memory>
#include <vector>

#include "sketcher/client_connection.hpp"

namespace prophecy::sketcher {

class ConnectionSet {
 public:
  explicit ConnectionSet(std::size_t connections_max) : connections_max_(connections_max) {}

  ClientConnection& add(std::unique_ptr<ClientConnection> connection);
  void remove(ClientConnection& connection);

  [[nodiscard]] std::size_t size() const { return connections_.size(); }
  [[nodiscard]] bool empty() const { return connections_.empty(); }
  [[nodiscard]] bool full() const { return connections_.size() >= connections_max_; }

  // `visit` must not add or remove connections.
  template <class Visit>
  void for_each(Visit visit) {
    for (auto& connection : connections_)
      visit(*connection);
  }

 private:
  std::size_t connections_max_;
  std::vector<std::unique_ptr<ClientConnection>> connections_;
};

}  // namespace prophecy::sketcher
