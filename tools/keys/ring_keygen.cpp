#include "tools/keys/ring_keygen.hpp"

#include <algorithm>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/wipe.hpp"
#include "dht/core/view.hpp"
#include "http/text.hpp"
#include "tools/keys/key_files.hpp"
#include "transport/certificate.hpp"

namespace prophecy::tools {
namespace {

using transport::KeyPtr;
using transport::X509Ptr;

constexpr long kValidSeconds = 10L * 365 * 24 * 3600;
// A clock that is a little slow does not refuse what was made a moment ago.
constexpr long kValidBeforeSeconds = 3600;
constexpr const char* kAuthority = "ring-ca";

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};

struct Identity {
  X509Ptr certificate;
  KeyPtr key;
};

Error failed(const std::string& what) {
  ERR_clear_error();
  return {ErrorKind::io, what};
}

bool add_extension(X509& certificate, X509& issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  const bool added = extension != nullptr && X509_add_ext(&certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

// All but the extensions and the signature. Serial numbers are random: nobody keeps count.
bool begin(X509& certificate, EVP_PKEY& key, const std::string& name) {
  unsigned char serial[16];
  if (RAND_bytes(serial, sizeof serial) != 1) return false;
  serial[0] = static_cast<unsigned char>((serial[0] & 0x3f) | 0x40);
  BIGNUM* const number = BN_bin2bn(serial, sizeof serial, nullptr);
  const bool numbered = number != nullptr &&
                        BN_to_ASN1_INTEGER(number, X509_get_serialNumber(&certificate)) != nullptr;
  BN_free(number);
  X509_NAME* const subject = X509_get_subject_name(&certificate);
  return numbered && X509_set_version(&certificate, X509_VERSION_3) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(&certificate), -kValidBeforeSeconds) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(&certificate), kValidSeconds) != nullptr &&
         X509_set_pubkey(&certificate, &key) == 1 &&
         X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                    0) == 1;
}

Result<Identity> new_identity(const std::string& name) {
  Identity made{X509Ptr(X509_new()), KeyPtr(EVP_EC_gen("P-256"))};
  if (!made.certificate || !made.key || !begin(*made.certificate, *made.key, name))
    return failed("no certificate can be made");
  return made;
}

Result<Identity> make_authority() {
  auto made = new_identity("prophecy ring");
  if (!made) return made;
  X509& certificate = *made->certificate;
  const bool done =
      X509_set_issuer_name(&certificate, X509_get_subject_name(&certificate)) == 1 &&
      add_extension(certificate, certificate, NID_basic_constraints,
                    "critical,CA:TRUE,pathlen:0") &&
      add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") &&
      add_extension(certificate, certificate, NID_subject_key_identifier, "hash") &&
      X509_sign(&certificate, made->key.get(), EVP_sha256()) > 0;
  if (!done) return failed("no authority can be made");
  return made;
}

Result<Identity> make_member(const std::string& name, const Identity& authority) {
  auto made = new_identity(name);
  if (!made) return made;
  X509& certificate = *made->certificate;
  X509& issuer = *authority.certificate;
  const bool done =
      X509_set_issuer_name(&certificate, X509_get_subject_name(&issuer)) == 1 &&
      add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(certificate, issuer, NID_key_usage, "critical,digitalSignature") &&
      add_extension(certificate, issuer, NID_ext_key_usage, "serverAuth,clientAuth") &&
      add_extension(certificate, issuer, NID_subject_alt_name, "DNS:" + name) &&
      X509_sign(&certificate, authority.key.get(), EVP_sha256()) > 0;
  if (!done) return failed("no certificate can be made for " + name);
  return made;
}

std::string text_of(BIO& bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(&bio, &bytes);
  return {bytes, static_cast<std::size_t>(std::max(size, 0L))};
}

Result<> add_files(const std::string& name, const Identity& identity, std::vector<KeyFile>& files) {
  const std::unique_ptr<BIO, FreeBio> certificate(BIO_new(BIO_s_mem()));
  const std::unique_ptr<BIO, FreeBio> key(BIO_new(BIO_s_secmem()));
  if (!certificate || !key ||
      PEM_write_bio_X509(certificate.get(), identity.certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(key.get(), identity.key.get(), nullptr, nullptr, 0, nullptr,
                               nullptr) != 1) {
    return failed("a certificate cannot be written");
  }
  files.push_back({name + ".pem", text_of(*certificate), FileSecrecy::open});
  files.push_back({name + ".key", text_of(*key), FileSecrecy::secret});
  return {};
}

Result<Identity> load_authority(const std::filesystem::path& directory) {
  auto loaded =
      transport::load_certificate({.chain = directory / (std::string(kAuthority) + ".pem"),
                                   .key = directory / (std::string(kAuthority) + ".key"),
                                   .ocsp = {}});
  if (!loaded) return loaded.error();
  if (X509_check_ca(&loaded->leaf()) == 0)
    return Error{ErrorKind::invalid, std::string(kAuthority) + ".pem: no authority's certificate"};
  return Identity{std::move(loaded->chain.front()), std::move(loaded->key)};
}

Result<> check_names(const std::vector<std::string>& members) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!dht::is_name(members[i])) {
      return Error{ErrorKind::invalid, "\"" + members[i] +
                                           "\": expected a member's name, of 1 to 64 letters, "
                                           "digits, \".\", \"-\", \"_\""};
    }
    const bool is_second =
        http::equal_ignoring_case(members[i], "ca") ||
        std::any_of(
            members.begin(), members.begin() + static_cast<std::ptrdiff_t>(i),
            [&](const std::string& other) { return http::equal_ignoring_case(other, members[i]); });
    if (is_second)
      return Error{ErrorKind::invalid,
                   members[i] + ": expected names unlike each other and \"ca\""};
  }
  return {};
}

}  // namespace

Result<std::vector<std::filesystem::path>> generate_ring_keys(const RingKeygenRequest& request) {
  if (auto checked = check_names(request.members); !checked) return checked.error();
  std::error_code ignored;
  const bool has_authority =
      std::filesystem::exists(request.directory / (std::string(kAuthority) + ".pem"), ignored) &&
      std::filesystem::exists(request.directory / (std::string(kAuthority) + ".key"), ignored);
  auto authority = has_authority ? load_authority(request.directory) : make_authority();
  if (!authority) return authority.error();
  std::vector<KeyFile> files;
  if (!has_authority) {
    if (auto added = add_files(kAuthority, *authority, files); !added) return added.error();
  }
  for (const std::string& name : request.members) {
    const auto member = make_member(name, *authority);
    if (!member) return member.error();
    if (auto added = add_files("ring-" + name, *member, files); !added) return added.error();
  }
  auto made = create_files(request.directory, files);
  for (KeyFile& file : files) {
    if (file.secrecy == FileSecrecy::secret) const WipeAtEnd wiped(file.content);
  }
  return made;
}

}  // namespace prophecy::tools
