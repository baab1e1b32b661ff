// A server's certificate with its chain, its key and what its authority says about it, read from
// files and checked against each other.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/error.hpp"
#include "transport/tls_settings.hpp"

namespace prophecy::transport {

struct FreeX509 {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using X509Ptr = std::unique_ptr<X509, FreeX509>;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeKey>;

// What is stapled to the handshake, until the authority's word expires.
struct OcspAnswer {
  std::string der;
  std::time_t expires = 0;  // 0: never
};

struct Certificate {
  std::vector<X509Ptr> chain;  // never empty
  KeyPtr key;
  std::vector<std::string> names;  // DNS names of the subjectAltName, lower case, sorted
  std::optional<OcspAnswer> ocsp;

  [[nodiscard]] X509& leaf() const { return *chain.front(); }
};

[[nodiscard]] Result<Certificate> load_certificate(const CertificateFiles& files);

// All certificates of a PEM file, at least one.
[[nodiscard]] Result<std::vector<X509Ptr>> load_certificates(const std::filesystem::path& path);
// Refuses a file that others may read, and one that wants a pass phrase.
[[nodiscard]] Result<KeyPtr> load_key(const std::filesystem::path& path);

}  // namespace prophecy::transport
