#include "transport/tls_failure.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace prophecy::transport {

std::string_view reason_of_failed_handshake() {
  const unsigned long error = ERR_peek_error();
  if (error == 0) return "TLS: the client has left";
  const int reason = ERR_GET_REASON(error);
  switch (reason) {
    case SSL_R_NO_SHARED_CIPHER:
      return "TLS: no shared cipher";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_WRONG_VERSION_NUMBER:
      return "TLS: protocol version";
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
      return "TLS: plain HTTP";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return "TLS: client certificate";
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return "TLS: the client has left";
    default:
      return reason >= SSL_AD_REASON_OFFSET ? "TLS: alert from the client" : "TLS: other";
  }
}

}  // namespace prophecy::transport
