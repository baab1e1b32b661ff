#include "sketcher/installation/ring_tls.hpp"

#include <algorithm>
#include <array>

#include "base/digest.hpp"
#include "base/file.hpp"
#include "base/wipe.hpp"
#include "http/text.hpp"

namespace prophecy::sketcher {

namespace {

constexpr std::size_t kAuthorityFingerprintBytes = 16;
constexpr std::size_t kCertificateBytesMax = 1 << 20;

// A file that cannot be read counts as one of its own.
std::string digest_of_files(const RingSettings& settings) {
  std::vector<std::filesystem::path> paths{settings.ca, settings.certificate.chain,
                                           settings.certificate.key};
  if (settings.living && settings.living->zookeeper_tls) {
    const transport::TlsClientSettings& zookeeper = *settings.living->zookeeper_tls;
    paths.push_back(zookeeper.ca);
    if (zookeeper.certificate) {
      paths.push_back(zookeeper.certificate->chain);
      paths.push_back(zookeeper.certificate->key);
    }
  }
  Sha256 hash;
  for (const std::filesystem::path& path : paths) {
    auto read = read_file(path, kCertificateBytesMax);
    std::string content = read ? std::move(*read) : std::string();
    const WipeAtEnd wiped(content);
    hash.update(sha256(as_bytes(content)));
  }
  return to_hex(hash.finish());
}

// Of the certificates in their order.
Result<std::string> fingerprint_of(const std::filesystem::path& ca) {
  auto certificates = transport::load_certificates(ca);
  if (!certificates) return certificates.error();
  Sha256 hash;
  for (const transport::X509Ptr& certificate : *certificates) {
    std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (X509_digest(certificate.get(), EVP_sha256(), digest.data(), &size) != 1)
      return Error{ErrorKind::invalid, ca.string() + ": a certificate has no digest"};
    hash.update(ByteView(digest).first(size));
  }
  return to_hex(ByteView(hash.finish()).first(kAuthorityFingerprintBytes));
}

}  // namespace

// The digest comes first: a file that changes meanwhile is read once more rather than never.
Result<> RingTls::reload(const RingSettings& settings) const {
  std::string digest = digest_of_files(settings);
  auto loaded = server->reload();
  if (auto other = client->reload(); !other && loaded) loaded = other;
  for (const auto& each : zookeeper) {
    if (!each) continue;
    if (auto other = each->reload(); !other && loaded) loaded = other;
  }
  if (loaded) *files = std::move(digest);
  return loaded;
}

Result<RingTls> load_ring_tls(const RingSettings& settings) {
  auto own = transport::load_certificate(settings.certificate);
  if (!own) return own.error();
  const bool is_named = std::any_of(
      own->names.begin(), own->names.end(),
      [&](const std::string& name) { return http::equal_ignoring_case(name, settings.name); });
  if (!is_named) {
    return Error{ErrorKind::invalid, settings.certificate.chain.string() +
                                         ": not a certificate for the DNS name " + settings.name};
  }
  RingTls tls;
  tls.files = std::make_unique<std::string>(digest_of_files(settings));
  transport::TlsServerSettings server;
  server.certificates.push_back(settings.certificate);
  server.version_min = transport::TlsVersion::tls1_3;
  server.client_certificates = transport::ClientCertificates::required;
  server.client_ca = settings.ca;
  server.http1 = false;
  auto loaded_server = transport::TlsServer::load(std::move(server), nullptr);
  if (!loaded_server) return loaded_server.error();
  tls.server = std::move(*loaded_server);
  auto loaded_client = transport::TlsClient::load({.ca = settings.ca,
                                                   .server_name = {},
                                                   .certificate = settings.certificate,
                                                   .version_min = transport::TlsVersion::tls1_3,
                                                   .http2 = true});
  if (!loaded_client) return loaded_client.error();
  tls.client = std::move(*loaded_client);
  auto authority = fingerprint_of(settings.ca);
  if (!authority) return authority.error();
  tls.authority = std::move(*authority);
  return tls;
}

Result<std::vector<std::unique_ptr<transport::TlsClient>>> load_zookeeper_tls(
    const LivingRingSettings& settings) {
  std::vector<std::unique_ptr<transport::TlsClient>> clients(settings.zookeeper.size());
  if (!settings.zookeeper_tls) return clients;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    transport::TlsClientSettings tls = *settings.zookeeper_tls;
    if (tls.server_name.empty()) tls.server_name = settings.zookeeper[i].address;
    auto client = transport::TlsClient::load(std::move(tls));
    if (!client) return client.error();
    clients[i] = std::move(*client);
  }
  return clients;
}

}  // namespace prophecy::sketcher
