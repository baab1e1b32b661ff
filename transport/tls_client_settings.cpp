#include "transport/tls_client_settings.hpp"

namespace prophecy::transport {

TlsClientSettings read_tls_client(ConfigSection section) {
  TlsClientSettings tls;
  tls.ca = section.path(Key{"ca", "PEM file of the trusted authorities."}.reloaded());
  tls.server_name = section.text(
      {"server_name", "The name or the address that the origin's certificate must have."});
  if (tls.server_name.empty()) section.mistake("server_name", "expected a name or an address");
  if (section.has("certificate") || section.has("key")) {
    tls.certificate.emplace();
    tls.certificate->chain = section.path(
        Key{"certificate", "PEM file of this program's own certificate; needs `key` as well."}
            .otherwise("none")
            .reloaded());
    tls.certificate->key = section.path(
        Key{"key", "PEM file of the key of `certificate`."}.otherwise("none").reloaded());
  }
  return tls;
}

}  // namespace prophecy::transport
