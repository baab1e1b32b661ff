// The open client connections of a worker, with a bound on their number.
#pragma once

#include <memory>
#include <vector>

#include "sketcher/client/client_connection.hpp"

namespace prophecy::sketcher {

class ConnectionSet {
 public:
  explicit ConnectionSet(std::size_t connections_max) : connections_max_(connections_max) {}

  ClientConnection& add(std::unique_ptr<ClientConnection> connection);
  // Hands it back, for whoever may not destroy it yet.
  [[nodiscard]] std::unique_ptr<ClientConnection> remove(ClientConnection& connection);

  [[nodiscard]] std::size_t size() const { return connections_.size(); }
  [[nodiscard]] bool empty() const { return connections_.empty(); }
  [[nodiscard]] bool full() const { return connections_.size() >= connections_max_; }

  // `visit` may remove the connection that it is given, and no other.
  template <class Visit>
  void for_each(Visit visit) {
    for (std::size_t i = connections_.size(); i > 0; --i)
      visit(*connections_[i - 1]);
  }

 private:
  std::size_t connections_max_;
  std::vector<std::unique_ptr<ClientConnection>> connections_;
};

}  // namespace prophecy::sketcher
