#include "replica_client/group.hpp"

namespace prophecy::replica_client {

void start_fast_read(http::OriginPool& origin, http::OriginExchange& exchange,
                     std::string_view wire, const FastForm& form) {
  http::ExchangeRequest request;
  request.wire = wire;
  request.answers_head = form.is_head;
  request.repeat_when_stale = true;
  request.verified = form.is_verified;
  // What an origin adds to the answer to HEAD by mistake would be taken for the next answer. And
  // nobody else is to wait for what comes in pieces, as slowly as its reader wants.
  request.pipelined = form.is_verified && !form.is_alone && !form.is_head && form.piece_bytes == 0;
  request.piece_bytes = form.piece_bytes;
  request.whole_bytes = form.whole_bytes;
  request.streamed = form.is_streamed;
  origin.start(exchange, request);
}

}  // namespace prophecy::replica_client
