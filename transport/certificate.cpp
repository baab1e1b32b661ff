#include "transport/certificate.hpp"

#include <algorithm>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/file.hpp"
#include "base/wipe.hpp"

namespace prophecy::transport {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;
constexpr std::size_t kOcspBytesMax = 64 << 10;

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct FreeNames {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
struct FreeOcspResponse {
  void operator()(OCSP_RESPONSE* response) const { OCSP_RESPONSE_free(response); }
};
struct FreeOcspBasic {
  void operator()(OCSP_BASICRESP* response) const { OCSP_BASICRESP_free(response); }
};
struct FreeOcspId {
  void operator()(OCSP_CERTID* id) const { OCSP_CERTID_free(id); }
};

Error wrong(const std::filesystem::path& path, const std::string& what) {
  ERR_clear_error();
  return {ErrorKind::invalid, path.string() + ": " + what};
}

// Asked for when a key is encrypted: there is nobody to type it.
int no_pass_phrase(char* /*into*/, int /*size*/, int /*writing*/, void* /*data*/) {
  return -1;
}

std::unique_ptr<BIO, FreeBio> reader_of(const std::string& text) {
  return std::unique_ptr<BIO, FreeBio>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::vector<std::string> names_of(X509& certificate) {
  std::vector<std::string> names;
  const std::unique_ptr<GENERAL_NAMES, FreeNames> all(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type != GEN_DNS) continue;
    std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                     static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
      return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    });
    names.push_back(std::move(text));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::time_t seconds_of(const ASN1_GENERALIZEDTIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return ::timegm(&parts);
}

// That it is well-formed, says "good", and is about this certificate. Its signature is for the
// clients to check: they trust the authority, and we only carry its word.
Result<OcspAnswer> load_ocsp(const std::filesystem::path& path, const Certificate& certificate) {
  auto der = read_file(path, kOcspBytesMax);
  if (!der) return der.error();
  const auto* bytes = reinterpret_cast<const unsigned char*>(der->data());
  const std::unique_ptr<OCSP_RESPONSE, FreeOcspResponse> response(
      d2i_OCSP_RESPONSE(nullptr, &bytes, static_cast<long>(der->size())));
  if (!response) return wrong(path, "not an OCSP response in DER");
  if (OCSP_response_status(response.get()) != OCSP_RESPONSE_STATUS_SUCCESSFUL) {
    return wrong(path, "an OCSP response that says no more than that there is none");
  }
  const std::unique_ptr<OCSP_BASICRESP, FreeOcspBasic> basic(
      OCSP_response_get1_basic(response.get()));
  if (!basic) return wrong(path, "an OCSP response of an unknown kind");
  if (certificate.chain.size() < 2) {
    return wrong(path, "cannot be checked: the certificate's issuer is not in its chain");
  }
  const std::unique_ptr<OCSP_CERTID, FreeOcspId> id(
      OCSP_cert_to_id(nullptr, &certificate.leaf(), certificate.chain[1].get()));
  int status = 0;
  ASN1_GENERALIZEDTIME* next_update = nullptr;
  if (!id || OCSP_resp_find_status(basic.get(), id.get(), &status, nullptr, nullptr, nullptr,
                                   &next_update) != 1) {
    return wrong(path, "an OCSP response about another certificate");
  }
  if (status != V_OCSP_CERTSTATUS_GOOD) return wrong(path, "says that the certificate is not good");
  return OcspAnswer{.der = std::move(*der), .expires = seconds_of(next_update)};
}

}  // namespace

Result<std::vector<X509Ptr>> load_certificates(const std::filesystem::path& path) {
  const auto text = read_file(path, kFileBytesMax);
  if (!text) return text.error();
  const auto reader = reader_of(*text);
  std::vector<X509Ptr> certificates;
  for (;;) {
    X509Ptr next(PEM_read_bio_X509(reader.get(), nullptr, no_pass_phrase, nullptr));
    if (!next) break;
    certificates.push_back(std::move(next));
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!at_end || certificates.empty()) return wrong(path, "no PEM file of certificates");
  ERR_clear_error();
  return certificates;
}

Result<KeyPtr> load_key(const std::filesystem::path& path) {
  auto text = read_secret_file(path, kFileBytesMax);
  if (!text) return text.error();
  const WipeAtEnd wipe(*text);
  KeyPtr key(PEM_read_bio_PrivateKey(reader_of(*text).get(), nullptr, no_pass_phrase, nullptr));
  if (!key) return wrong(path, "no private key in PEM without a pass phrase");
  return key;
}

Result<Certificate> load_certificate(const CertificateFiles& files) {
  Certificate certificate;
  auto chain = load_certificates(files.chain);
  if (!chain) return chain.error();
  certificate.chain = std::move(*chain);
  auto key = load_key(files.key);
  if (!key) return key.error();
  certificate.key = std::move(*key);
  if (X509_check_private_key(&certificate.leaf(), certificate.key.get()) != 1) {
    return wrong(files.key, "not the key of " + files.chain.string());
  }
  certificate.names = names_of(certificate.leaf());
  if (!files.ocsp) return certificate;
  auto ocsp = load_ocsp(*files.ocsp, certificate);
  if (!ocsp) return ocsp.error();
  certificate.ocsp = std::move(*ocsp);
  return certificate;
}

}  // namespace prophecy::transport
