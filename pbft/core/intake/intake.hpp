// Requests as they come from clients, or from a backup on a client's behalf: to the primary's
// queue, to the primary, to the service, or answered from the cache. Those by digest go on when
// their bodies are here.
#pragma once

#include <map>
#include <vector>

#include "pbft/core/execution/execution.hpp"
#include "pbft/core/ordering/held_requests.hpp"
#include "pbft/core/ordering/patience.hpp"
#include "pbft/core/ordering/request_queue.hpp"
#include "pbft/core/state/client_table.hpp"
#include "pbft/core/state/context.hpp"

namespace prophecy::pbft {

class Intake {
 public:
  Intake(Context& context, ClientTable& clients, RequestQueue& queue, ExecutionStage& execution,
         Patience& patience, HeldRequests& held)
      : context_(context),
        clients_(clients),
        queue_(queue),
        execution_(execution),
        patience_(patience),
        held_(held) {}

  // True when the request was authentic.
  bool on_request(ByteView frame, TimePoint now, ReplicaActions& out);
  void on_forward(ByteView frame, TimePoint now, ReplicaActions& out);
  // A view has begun: what waits is the new primary's.
  void on_new_view(ReplicaActions& out);
  // Goes on with requests by digest, and lets go of what is ordered: after these bodies have
  // settled, and after batches were ordered. Looks at the sessions alone that they concern.
  void on_settled(const std::vector<BodyName>& bodies, ReplicaActions& out);
  void on_ordered(ReplicaActions& out);
  void on_tick(ReplicaActions& out);
  // Sends the primary what it is held to order: the first request of each client that this backup
  // has, signed, and again where the primary may have dropped it. After every event.
  void pass_on_waiting(ReplicaActions& out);
  [[nodiscard]] TimePoint next_timer() const;

 private:
  [[nodiscard]] bool is_leading() const {
    return context_.is_primary() && context_.state == ReplicaState::normal;
  }
  [[nodiscard]] bool is_authentic(RequestMessage& request, const Digest& digest);
  [[nodiscard]] bool is_ordered(const RequestMessage& request, const Session& session) const;
  void order(const RequestMessage& request, ByteView frame, const Digest& digest,
             std::optional<NodeId> forwarder, TimePoint now, ReplicaActions& out);
  bool handle(ByteView frame, std::optional<NodeId> forwarder, TimePoint now, ReplicaActions& out);
  void hold(const RequestMessage& request, ByteView frame, const Digest& digest,
            std::optional<NodeId> forwarder, ReplicaActions& out);
  // At all of them.
  void on_bodies(ReplicaActions& out);
  void look_at(const std::vector<SessionName>& sessions, ReplicaActions& out);
  void go_on_in(NodeId client, std::uint32_t session, ReplicaActions& out);
  void go_on_with(HeldRequest& held, ReplicaActions& out);
  // To all others, once in each view.
  void tell_of(HeldRequest& held, ReplicaActions& out);
  void spread(HeldRequest& held, ReplicaActions& out);
  [[nodiscard]] static Duration time_to_spread(const HeldRequest& held);
  [[nodiscard]] bool awaits_voters(HeldRequest& held);
  // False when there is no room for it now.
  [[nodiscard]] bool enqueue(const RequestMessage& request, ByteView frame, const Digest& digest,
                             const RequestQueue::HeldBody& body,
                             RequestQueue::Place place = RequestQueue::Place::last);
  [[nodiscard]] bool is_following() const {
    return !context_.is_primary() && context_.state == ReplicaState::normal;
  }
  void answer_stale(const RequestMessage& request, Session& session, ReplicaActions& out);
  // When a signed request of this client may be passed on; one is counted if that is now.
  [[nodiscard]] TimePoint may_pass_on_at(NodeId client);
  void pass_on(ByteView frame, ReplicaActions& out);

  Context& context_;
  ClientTable& clients_;
  RequestQueue& queue_;
  ExecutionStage& execution_;
  Patience& patience_;
  HeldRequests& held_;
  std::vector<RequestQueue::Displaced> displaced_;  // by the request that came last
  std::vector<SessionName> ordered_;                // whose requests were ordered last
  Allowance passed_on_;                             // signed requests, to other replicas
  std::map<NodeId, Allowance> passed_on_of_client_;
};

}  // namespace prophecy::pbft
