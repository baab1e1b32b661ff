// On which accepted connection a client is reached, for each of its sessions: several processes
// share one client's id, each with its own connection and its own range of sessions.
//
// Only what comes on a connection that the client has proven by the exchange of keys is noted: a
// request that was recorded, and is played again by somebody else, is authentic, and must draw
// nothing away. The latest such connection counts, so that a half-open one is in nobody's way.
//
// Bounded by the group's clients and kSessionsMax. Single-threaded.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "pbft/transport/frame_connection.hpp"

namespace prophecy::pbft {

class ClientRoutes {
 public:
  void note(NodeId client, std::uint32_t session, ConnectionTag tag) {
    std::vector<ConnectionTag>& sessions = clients_[client];
    if (session >= sessions.size()) sessions.resize(session + 1);
    sessions[session] = tag;
  }

  // 0: none.
  [[nodiscard]] ConnectionTag find(NodeId client, std::uint32_t session) const {
    const auto sessions = clients_.find(client);
    if (sessions == clients_.end() || session >= sessions->second.size()) return 0;
    return sessions->second[session];
  }

 private:
  std::unordered_map<NodeId, std::vector<ConnectionTag>> clients_;
};

}  // namespace prophecy::pbft
