// What an exchange has found out about a request that is to be tunnelled.
#pragma once

#include <cstdint>
#include <string>

namespace prophecy::sketcher {

struct WorkerGroup;
struct RequestCounters;

struct TunnelRequest {
  std::string wire;         // for the origin, with Connection and Upgrade
  std::string upgrade;      // the protocol that the client asks for
  std::uint32_t route = 0;  // its position
  WorkerGroup* group = nullptr;
  RequestCounters* counters = nullptr;  // the route's
};

}  // namespace prophecy::sketcher
