// TLS between members of a ring: version 1.3, HTTP/2, and a certificate on both sides, each with
// its member's name. And TLS to ZooKeeper. Read by the master; a child has a copy of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "sketcher/config/ring_settings.hpp"
#include "transport/tls_client.hpp"
#include "transport/tls_server.hpp"

namespace prophecy::sketcher {

struct RingTls {
  std::unique_ptr<transport::TlsServer> server;
  std::unique_ptr<transport::TlsClient> client;
  // By server of ZooKeeper; null for plain TCP.
  std::vector<std::unique_ptr<transport::TlsClient>> zookeeper;
  // A fingerprint of the authority's certificates: which ring it is.
  std::string authority;
  // A digest of all files, as they were when they were read last.
  std::unique_ptr<std::string> files;

  // Each of them keeps what it has when its files are not in order.
  [[nodiscard]] Result<> reload(const RingSettings& settings) const;
};

// Refuses a certificate that does not have our own name.
[[nodiscard]] Result<RingTls> load_ring_tls(const RingSettings& settings);
// RingTls::zookeeper. Refuses a key that others may read.
[[nodiscard]] Result<std::vector<std::unique_ptr<transport::TlsClient>>> load_zookeeper_tls(
    const LivingRingSettings& settings);

}  // namespace prophecy::sketcher
