// TLS between members of a ring: version 1.3, HTTP/2, and a certificate on both sides, each with
// its member's name. Read by the master; a child has a copy of its own.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "sketcher/config/ring_settings.hpp"
#include "transport/tls_client.hpp"
#include "transport/tls_server.hpp"

namespace prophecy::sketcher {

struct RingTls {
  std::unique_ptr<transport::TlsServer> server;
  std::unique_ptr<transport::TlsClient> client;
  // A fingerprint of the authority's certificates: which ring it is.
  std::string authority;
  // A digest of all files, as they were when they were read last.
  std::unique_ptr<std::string> files;

  // Each of them keeps what it has when its files are not in order.
  [[nodiscard]] Result<> reload(const RingSettings& settings) const;
};

// Refuses a certificate that does not have our own name.
[[nodiscard]] Result<RingTls> load_ring_tls(const RingSettings& settings);

}  // namespace prophecy::sketcher
