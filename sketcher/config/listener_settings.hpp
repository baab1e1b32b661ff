// [[listener]]: an address that clients come to, and what is spoken there.
#pragma once

#include <optional>
#include <vector>

#include "base/config/config.hpp"
#include "base/endpoint.hpp"
#include "sketcher/config/forwarding_settings.hpp"
#include "transport/tls_settings.hpp"

namespace prophecy::sketcher {

struct ListenerSettings {
  Endpoint address;
  bool http1 = true;
  bool http2 = true;
  std::optional<transport::TlsServerSettings> tls;
  PeerSettings peers;
};

[[nodiscard]] std::vector<ListenerSettings> read_listeners(ConfigSection root);

}  // namespace prophecy::sketcher
