// Requests as they come from clients, or from a backup on a client's behalf: to the primary's
// queue, to the primary, to the service, or answered from the cache.
#pragma once

#include "pbft/core/client_table.hpp"
#include "pbft/core/context.hpp"
#include "pbft/core/execution.hpp"
#include "pbft/core/request_queue.hpp"

namespace prophecy::pbft {

class Intake {
 public:
  Intake(Context& context, ClientTable& clients, RequestQueue& queue, ExecutionStage& execution)
      : context_(context), clients_(clients), queue_(queue), execution_(execution) {}

  // True when the request was authentic.
  bool on_request(ByteView frame, ReplicaActions& out);
  void on_forward(ByteView frame, ReplicaActions& out);

 private:
  void order(const RequestMessage& request, ByteView frame, const Digest& digest, bool forwarded,
             ReplicaActions& out);
  bool handle(ByteView frame, bool forwarded, ReplicaActions& out);

  Context& context_;
  ClientTable& clients_;
  RequestQueue& queue_;
  ExecutionStage& execution_;
};

}  // namespace prophecy::pbft
