#include "replica_client/group.hpp"

namespace prophecy::replica_client {

std::string_view to_string(ReplicatedFailure failure) {
  switch (failure) {
    case ReplicatedFailure::too_few_replicas:
      return "too-few-replicas";
    case ReplicatedFailure::no_agreement:
      return "no-agreement";
    case ReplicatedFailure::overloaded:
      return "overloaded";
    case ReplicatedFailure::writes_refused:
      return "writes-refused";
    case ReplicatedFailure::uncertain_write:
      return "uncertain-write";
  }
  return "";
}

void start_fast_read(http::OriginPool& origin, http::OriginExchange& exchange,
                     std::string_view wire, const FastForm& form) {
  http::ExchangeRequest request;
  request.wire = wire;
  request.answers_head = form.is_head;
  request.repeat_when_stale = true;
  // What an origin adds to the answer to HEAD by mistake would be taken for the next answer.
  // And nobody else is to wait for what comes in pieces, as slowly as its reader wants.
  request.pipelined = form.is_verified && !form.is_head && form.piece_bytes == 0;
  request.piece_bytes = form.piece_bytes;
  request.whole_bytes = form.whole_bytes;
  origin.start(exchange, request);
}

}  // namespace prophecy::replica_client
