#include "sketcher/config/listener_settings.hpp"

#include <algorithm>

namespace prophecy::sketcher {
namespace {

using transport::ClientCertificates;
using transport::TlsServerSettings;

void read_protocols(ConfigSection& section, ListenerSettings& listener) {
  const auto names = section.texts("protocols", std::vector<std::string>{"h2", "http/1.1"});
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
  for (ConfigSection& files : section.sections("certificates")) {
    transport::CertificateFiles certificate;
    certificate.chain = files.path("chain");
    certificate.key = files.path("key");
    if (files.has("ocsp")) certificate.ocsp = files.path("ocsp");
    tls.certificates.push_back(std::move(certificate));
  }
  if (tls.certificates.empty()) {
    section.mistake("certificates", "expected at least one { chain = \"FILE\", key = \"FILE\" }");
  }
  tls.version_min =
      static_cast<transport::TlsVersion>(section.choice("version_min", {"1.2", "1.3"}, 0));
  tls.client_certificates = static_cast<ClientCertificates>(
      section.choice("client_certificates", {"off", "optional", "required"}, 0));
  if (tls.client_certificates != ClientCertificates::off) tls.client_ca = section.path("client_ca");
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
  for (ConfigSection& section : root.sections("listener")) {
    ListenerSettings listener;
    listener.address = section.endpoint("address");
    if (is_taken(listener.address, listeners)) {
      section.mistake("address", "another [[listener]] has it");
    }
    read_protocols(section, listener);
    if (section.has("tls")) listener.tls = read_tls(section.section("tls"), listener);
    listener.peers = read_peer_settings(section);
    listeners.push_back(std::move(listener));
  }
  if (listeners.empty()) root.mistake("listener", "missing; expected at least one [[listener]]");
  return listeners;
}

}  // namespace prophecy::sketcher
