#include "sketcher/config/listener_settings.hpp"

#include <algorithm>

namespace prophecy::sketcher {
namespace {

using transport::ClientCertificates;
using transport::TlsServerSettings;

void read_protocols(ConfigSection& section, ListenerSettings& listener) {
  const auto names =
      section.texts({"protocols",
                     "Protocols of the listener. With TLS, ALPN selects one; without, HTTP/2 needs "
                     "prior knowledge. `\"http/1.1\"` includes HTTP/1.0."},
                    std::vector<std::string>{"h2", "http/1.1"});
  const auto has = [&names](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  listener.http2 = has("h2");
  listener.http1 = has("http/1.1");
  const bool known = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return name == "h2" || name == "http/1.1";
  });
  if (!known || names.empty())
    section.mistake("protocols", "expected \"h2\", \"http/1.1\" or both");
}

TlsServerSettings read_tls(ConfigSection section, const ListenerSettings& listener) {
  TlsServerSettings tls;
  tls.http1 = listener.http1;
  tls.http2 = listener.http2;
  for (ConfigSection& files :
       section.sections({"certificates",
                         "At least one. Clients get the certificate with the name that they "
                         "request, wildcards included; among several with the same names, one that "
                         "they can verify; and without a name or a match the first."})) {
    transport::CertificateFiles certificate;
    certificate.chain = files.path(
        Key{"chain", "PEM file of the server's certificate and its issuers."}.reloaded());
    certificate.key =
        files.path(Key{"key", "PEM file of its key, which only its owner may read."}.reloaded());
    if (files.has("ocsp"))
      certificate.ocsp = files.path(Key{
          "ocsp", "DER file of the authority's OCSP response, which is stapled until it expires."}
                                        .otherwise("none")
                                        .reloaded());
    tls.certificates.push_back(std::move(certificate));
  }
  if (tls.certificates.empty()) {
    section.mistake("certificates", "expected at least one { chain = \"FILE\", key = \"FILE\" }");
  }
  tls.version_min = static_cast<transport::TlsVersion>(
      section.choice({"version_min", "The oldest version of TLS."}, {"1.2", "1.3"}, 0));
  tls.client_certificates = static_cast<ClientCertificates>(section.choice(
      {"client_certificates",
       "`\"off\"`: not requested. `\"optional\"`: a client may present one; an invalid one ends "
       "the handshake. `\"required\"`: without one the handshake fails."},
      {"off", "optional", "required"}, 0));
  if (auto with = section.when(tls.client_certificates != ClientCertificates::off,
                               "`client_certificates` is not `\"off\"`"))
    tls.client_ca =
        with->path(Key{"client_ca", "PEM file of the authorities that sign clients' certificates."}
                       .reloaded());
  return tls;
}

// The start tells of an address that another program has.
bool is_taken(const Endpoint& address, const std::vector<ListenerSettings>& listeners) {
  return address.port != 0 &&
         std::any_of(listeners.begin(), listeners.end(),
                     [&](const ListenerSettings& other) { return other.address == address; });
}

}  // namespace

std::vector<ListenerSettings> read_listeners(ConfigSection root) {
  std::vector<ListenerSettings> listeners;
  for (ConfigSection& section : root.sections(
           {"listener",
            "At least one, but for a sketcher whose role in `[ring]` is `\"response\"`."})) {
    ListenerSettings listener;
    listener.address =
        section.endpoint({"address",
                          "Address to accept clients on. An IPv6 address accepts no IPv4 clients, "
                          "not even `\"[::]:80\"`: configure a listener for each."});
    if (is_taken(listener.address, listeners)) {
      section.mistake("address", "expected an address that no other [[listener]] has");
    }
    read_protocols(section, listener);
    if (section.has("tls"))
      listener.tls = read_tls(
          section.section({"tls",
                           "With this table, a `[[listener]]` uses TLS. Cipher suites and groups "
                           "are fixed: those of TLS 1.3, and the ones of TLS 1.2 with forward "
                           "secrecy and authenticated encryption. Sessions are resumed by tickets, "
                           "by any worker; their keys change every hour."}),
          listener);
    listener.peers = read_peer_settings(section);
    listeners.push_back(std::move(listener));
  }
  return listeners;
}

}  // namespace prophecy::sketcher
