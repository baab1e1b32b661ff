// How a listener or a connection to an origin speaks TLS, as the configuration says it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace prophecy::transport {

enum class TlsVersion : std::uint8_t { tls1_2, tls1_3 };

enum class ClientCertificates : std::uint8_t {
  off,       // not asked for
  optional,  // a client may show one; a wrong one ends the handshake
  required,
};

struct CertificateFiles {
  std::filesystem::path chain;                // PEM: the server's own first, then its issuers
  std::filesystem::path key;                  // PEM, readable by its owner alone
  std::optional<std::filesystem::path> ocsp;  // the authority's answer about it (DER), stapled
};

struct TlsServerSettings {
  std::vector<CertificateFiles> certificates;  // the first is for clients that name none of them
  TlsVersion version_min = TlsVersion::tls1_2;
  ClientCertificates client_certificates = ClientCertificates::off;
  std::filesystem::path client_ca;  // PEM; empty without client certificates
  // What ALPN may choose; at least one.
  bool http1 = true;
  bool http2 = true;
};

struct TlsClientSettings {
  std::filesystem::path ca;                     // PEM
  std::string server_name;                      // that its certificate has to have; or an address;
                                                // empty: each connection has one of its own
  std::optional<CertificateFiles> certificate;  // our own
  TlsVersion version_min = TlsVersion::tls1_2;
  bool http2 = false;  // asked for by ALPN
};

}  // namespace prophecy::transport
