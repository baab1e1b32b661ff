// [[listener]]: an address that clients come to.
#pragma once

#include <vector>

#include "base/config.hpp"
#include "base/endpoint.hpp"
#include "sketcher/forwarding_settings.hpp"

namespace prophecy::sketcher {

struct ListenerSettings {
  Endpoint address;
  PeerSettings peers;
};

[[nodiscard]] std::vector<ListenerSettings> read_listeners(ConfigSection root);

}  // namespace prophecy::sketcher
