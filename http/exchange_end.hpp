// `ExchangeEnd` names how one request to an origin has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace prophecy::http {

enum class ExchangeEnd : std::uint8_t {
  answered,    // the response is whole and well-formed
  not_sent,    // no byte of the request has left: the origin cannot have seen it
  stale,       // a kept-alive connection was closed before any byte of the answer
  broken,      // closed within the exchange
  timed_out,   // no whole answer within the answer time
  malformed,   // the answer is not HTTP, or more than was asked for
  too_large,   // the answer is beyond a limit
  overloaded,  // our own load: too many wait for a connection, or this did all its time; not sent
  // The TLS handshake has failed, and nothing was sent:
  untrusted,   // no authority that we believe has signed the origin's certificate
  expired,     // the certificate, or one above it; or it is not valid yet
  wrong_name,  // it is somebody else's
  tls_failed,  // something else is wrong
  // Our own load, of one that was sent: answers that were coming held too much (ComingAnswers).
  shed,
  // It waited behind other reads on its connection for too long, and is to be asked of another
  // origin. Says nothing of the answer that would have come.
  delayed,
  // A streamed answer brought nothing for too long. Some do by their nature: it says nothing of the
  // origin.
  quiet,
};
constexpr std::size_t kExchangeEndCount = 15;
[[nodiscard]] std::string_view to_string(ExchangeEnd end);

constexpr bool is_tls_failure(ExchangeEnd end) {
  return end == ExchangeEnd::untrusted || end == ExchangeEnd::expired ||
         end == ExchangeEnd::wrong_name || end == ExchangeEnd::tls_failed;
}
// The origin cannot have seen the request.
constexpr bool is_unsent(ExchangeEnd end) {
  return end == ExchangeEnd::not_sent || end == ExchangeEnd::overloaded || is_tls_failure(end);
}

}  // namespace prophecy::http
