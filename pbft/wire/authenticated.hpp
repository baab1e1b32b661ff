// What a request's authenticator is over: of one that is signed the signature as well, so that
// nobody but its client can put one behind it.
#pragma once

#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

// `content` is the request's digest.
[[nodiscard]] inline Digest authenticated_digest(const RequestMessage& request,
                                                 const Digest& content) {
  if (request.signature.empty()) return content;
  Sha256 hash;
  hash.update(content);
  hash.update(request.signature);
  return hash.finish();
}

}  // namespace prophecy::pbft
