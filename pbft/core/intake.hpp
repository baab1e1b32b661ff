// Requests as they come from clients, or from a backup on a client's behalf: to the primary's
// queue, to the primary, to the service, or answered from the cache.
#pragma once

#include "pbft/core/client_table.hpp"
#include "pbft/core/context.hpp"
#include "pbft/core/execution.hpp"
#include "pbft/core/patience.hpp"
#include "pbft/core/request_queue.hpp"

namespace prophecy::pbft {

class Intake {
 public:
  Intake(Context& context, ClientTable& clients, RequestQueue& queue, ExecutionStage& execution,
         Patience& patience)
      : context_(context),
        clients_(clients),
        queue_(queue),
        execution_(execution),
        patience_(patience) {}

  // True when the request was authentic.
  bool on_request(ByteView frame, TimePoint now, ReplicaActions& out);
  void on_forward(ByteView frame, TimePoint now, ReplicaActions& out);
  // A view has begun: what waits is the new primary's.
  void on_new_view(ReplicaActions& out);

 private:
  [[nodiscard]] bool is_leading() const {
    return context_.is_primary() && context_.state == ReplicaState::normal;
  }
  void order(const RequestMessage& request, ByteView frame, const Digest& digest, bool forwarded,
             TimePoint now, ReplicaActions& out);
  bool handle(ByteView frame, bool forwarded, TimePoint now, ReplicaActions& out);
  void enqueue(const RequestMessage& request, ByteView frame, const Digest& digest);
  void pass_on(ByteView frame, ReplicaActions& out);

  Context& context_;
  ClientTable& clients_;
  RequestQueue& queue_;
  ExecutionStage& execution_;
  Patience& patience_;
};

}  // namespace prophecy::pbft
