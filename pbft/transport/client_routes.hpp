// On which accepted connections a client is reached, for each of its sessions: several processes
// share one client's id, each with its own connection and its own range of sessions.
//
// Only authenticated requests and hellos are noted, so a mere claim draws nothing away. A recorded
// request that somebody plays again is authentic, though. So two connections are kept for a
// session, the oldest that is still open and the latest, and replies go to both where they differ:
// the player cannot cut off a client that is connected, nor can a half-open connection a client
// that has just come back.
//
// Bounded by the group's clients and kSessionsMax. Single-threaded.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "pbft/transport/frame_connection.hpp"

namespace prophecy::pbft {

struct ClientRoute {
  ConnectionTag oldest = 0;  // 0: none
  ConnectionTag latest = 0;
};

class ClientRoutes {
 public:
  // `is_open` says of a tag whether its connection is still there.
  template <class IsOpen>
  void note(NodeId client, std::uint32_t session, ConnectionTag tag, const IsOpen& is_open) {
    std::vector<ClientRoute>& sessions = clients_[client];
    if (session >= sessions.size()) sessions.resize(session + 1);
    ClientRoute& route = sessions[session];
    route.latest = tag;
    if (route.oldest != tag && (route.oldest == 0 || !is_open(route.oldest))) route.oldest = tag;
  }

  [[nodiscard]] ClientRoute find(NodeId client, std::uint32_t session) const {
    const auto sessions = clients_.find(client);
    if (sessions == clients_.end() || session >= sessions->second.size()) return {};
    return sessions->second[session];
  }

 private:
  std::unordered_map<NodeId, std::vector<ClientRoute>> clients_;
};

}  // namespace prophecy::pbft
