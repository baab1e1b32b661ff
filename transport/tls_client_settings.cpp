#include "transport/tls_client_settings.hpp"

namespace prophecy::transport {

TlsClientSettings read_tls_client(ConfigSection section) {
  TlsClientSettings tls;
  tls.ca = section.path("ca");
  tls.server_name = section.text("server_name");
  if (tls.server_name.empty()) section.mistake("server_name", "expected a name or an address");
  if (section.has("certificate") || section.has("key")) {
    tls.certificate.emplace();
    tls.certificate->chain = section.path("certificate");
    tls.certificate->key = section.path("key");
  }
  return tls;
}

}  // namespace prophecy::transport
