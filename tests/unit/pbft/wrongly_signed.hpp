// Requests with a wrong signature under right MACs.
#pragma once

#include "pbft/group.hpp"

namespace prophecy::pbft::test {

// With a signature that is none, as its client alone can make it.
inline Frame wrongly_signed(const Frame& request) {
  const Frame frame = retransmitted(request);
  RequestMessage message = *decode_request(*frame, kReplicas);
  const Bytes junk(kSignatureSize, 7);
  message.signature = junk;
  return renew_request(message, ring(message.client));
}

}  // namespace prophecy::pbft::test
