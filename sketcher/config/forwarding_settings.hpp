// What the configuration says about forwarding: who may tell whom a connection or a request is
// from, and what origins are told.
#pragma once

#include "base/address_range.hpp"
#include "base/config/config.hpp"
#include "canonical/forwarding.hpp"

namespace prophecy::sketcher {

// Of a listener.
struct PeerSettings {
  // Every connection begins with a PROXY header, and comes from a trusted peer.
  bool proxy_protocol = false;
  AddressRanges trusted_peers;
};

[[nodiscard]] PeerSettings read_peer_settings(ConfigSection& section);

// [forwarding]
[[nodiscard]] sketch::Forwarding read_forwarding(ConfigSection section);

}  // namespace prophecy::sketcher
