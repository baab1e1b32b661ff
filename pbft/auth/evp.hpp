// Owners of OpenSSL's objects, for the sources of this folder.
#pragma once

#include <memory>

#include <openssl/evp.h>

namespace prophecy::pbft {

struct FreeEvp {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};
using EvpDigestContext = std::unique_ptr<EVP_MD_CTX, FreeEvp>;
using EvpKey = std::unique_ptr<EVP_PKEY, FreeEvp>;
using EvpKeyContext = std::unique_ptr<EVP_PKEY_CTX, FreeEvp>;

}  // namespace prophecy::pbft
