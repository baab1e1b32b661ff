// What must hold at every step of a run, whatever the faulty do. The first violation is kept.
//
//  - No two correct replicas execute different requests at one place in the order, and each
//    executes in that order.
//  - They execute it with the same agreed time and seed; that time never goes back.
//  - No replica passes over what another one has executed.
//  - No request is executed twice by one replica, but for those that it undid by going back to a
//    checkpoint.
//  - An agreed ordered answer is that of the sequential history at its place, which comes after
//    the places of all calls that were completed before it was submitted.
//  - A read outside the order shows a state of the history; no older one than was completed
//    before, where that is promised.
//  - On a network that works, no call waits for longer than f primaries and their time-outs explain
//    (*liveness under faults*).
//  - Where replicas and network do nothing wrong, no primary runs into a time-out, whatever clients
//    do (*no view change that no fault explains*).
//  - There, while no view changes, no client has more ordered in front of a call that has arrived
//    than what was on its way, and its turns (*fairness*).
//  - While a state is full, all replicas refuse the same writes, and no others (*full states*).
//  - No correct replica is accused, and none leaves the group without need.
//  - On a network that works, no correct replica gives its state up for one that fewer than f+1
//    correct replicas have; and one whose service is well goes on answering, where nothing is
//    executed ahead (*repair*).
//
// A replica that lies is held to this as well, but for the accusations: its own state is that of a
// correct one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pbft/client/client.hpp"
#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/counters.hpp"
#include "simulation/hosts/register_service.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

// One call of a client, as the client's host knows it.
struct Call {
  NodeId client = 0;
  pbft::CallId id = 0;
  Operation operation;
  pbft::CallKind kind = pbft::CallKind::ordered;
  TimePoint submitted;
  // What was known when it was submitted.
  pbft::Sigma sigma_floor = 0;
  std::uint64_t version_floor = 0;
  // The last place of the order when it had reached every replica, if it was sent at once.
  std::optional<pbft::Sigma> arrived_behind;
  bool impatient = false;
  bool cancelled = false;
};

class Checker {
 public:
  explicit Checker(const Scenario& scenario);

  // What is not ordered yet, and is executed ahead, counts once it is, or once a client was told.
  void on_handed_out(NodeId replica, const pbft::Execution& execution);
  // A process begins: it does not know what an earlier one has executed ahead.
  void on_started(NodeId replica);
  // It is in the state behind this sequence number, whatever it executed before.
  void on_restored(NodeId replica, std::uint64_t sequence);
  void on_submitted(Call& call);
  void on_completed(const Call& call, const pbft::Completion& completion);
  // It has reached every replica.
  void on_arrived(Call& call) const;
  // So long it took.
  void on_waited(const Call& call, Duration waited);
  void on_refuted(NodeId replica);
  // Of so many batches something is on its disk: they are bounded.
  void on_record(NodeId replica, std::uint64_t numbers);
  // The root of its service's state behind this batch.
  void on_state(NodeId replica, std::uint64_t sequence, const Sha256::Digest& root);
  // It takes this state in place of its own, on which it had answered until then.
  void on_given_up(NodeId replica, std::uint64_t sequence, const Sha256::Digest& root);
  // After every step of a replica: its memory is bounded, and it has not left the group.
  void on_status(NodeId replica, const pbft::ReplicaStatus& status);
  // Some replica has the state behind this batch, and knows how much it holds.
  void on_checkpoint(std::uint64_t sequence) { checkpoints_.insert(sequence); }
  // A write, but for one that frees room, is carried out, or refused as the state is full.
  void on_write(NodeId replica, const pbft::Execution& execution, bool refuses);
  void fail(const std::string& what);

  [[nodiscard]] const std::string& violation() const { return violation_; }
  [[nodiscard]] bool ok() const { return violation_.empty(); }
  [[nodiscard]] std::uint64_t ordered_requests() const { return order_.size(); }
  // Of the service, behind everything that is ordered.
  [[nodiscard]] Bytes expected_state() const { return model_.state(); }
  [[nodiscard]] std::uint64_t states_given_up() const { return states_given_up_; }

 private:
  struct Ordered {
    Bytes operation;
    Bytes result;  // of the sequential history
    pbft::AgreedInput input;
  };

  struct Ahead {
    pbft::Sigma sigma = 0;
    Bytes operation;
    pbft::AgreedInput input;
    bool operator==(const Ahead&) const = default;
  };

  using Batch = std::vector<Ahead>;

  // It is the one operation of its place in the order from here on.
  void settle(NodeId replica, const Ahead& execution);
  // Likewise, of a replica that has executed everything in front of it.
  void settle_in_order(NodeId replica, const Ahead& execution);
  void settle_up_to(NodeId replica, std::uint64_t last_ordered);
  // It is not ahead any more. That it was, others may have been told.
  void end_ahead(NodeId replica);
  // A batch executed ahead counts as unsettled until the replica's state is replaced.
  void note_unsettled(NodeId replica);
  // A call was answered there: what f+1 replicas have executed ahead is ordered by that.
  void settle_promised(const Call& call, pbft::Sigma sigma);
  void check_ordered(const Call& call, const pbft::Completion& completion);
  void check_read_only(const Call& call, const pbft::Completion& completion);
  void check_turns(const Call& call, pbft::Sigma sigma);

  // As correct replicas find it, in this batch.
  [[nodiscard]] bool is_full_in(std::uint64_t sequence) const;

  // Of a correct client, whose operations differ.
  [[nodiscard]] bool is_unique(const Operation& operation) const;
  [[nodiscard]] bool is_sent_again(const Operation& operation) const;

  const Scenario& scenario_;
  const std::uint64_t liars_;
  const std::uint64_t bad_clients_;
  RegisterService model_;
  std::map<pbft::Sigma, Ordered> order_;
  std::map<NodeId, pbft::Sigma> last_of_replica_;
  std::map<NodeId, pbft::Sigma> settled_by_replica_;  // the last, or where its state begins
  using Place = std::pair<NodeId, std::uint64_t>;
  std::map<Place, std::set<Sha256::Digest>> states_;  // that a replica has had behind a batch
  std::set<std::uint64_t> checkpoints_;
  std::map<std::uint64_t, std::uint64_t> size_behind_;  // of the state, by batch with requests
  std::map<NodeId, Batch> ahead_;
  std::map<NodeId, std::vector<Batch>> once_ahead_;
  // Executed ahead by processes that have ended since the replica's state was replaced.
  std::map<NodeId, pbft::Sigma> first_unsettled_;
  std::map<NodeId, std::map<std::uint64_t, pbft::Sigma>> executed_by_replica_;  // by operation
  std::uint64_t last_ordered_ = 0;  // by any correct replica
  pbft::Sigma completed_sigma_ = 0;
  std::map<std::uint8_t, std::uint64_t> completed_version_;  // by register
  std::uint64_t states_given_up_ = 0;
  bool has_changed_view_ = false;  // some correct replica
  std::string violation_;
};

}  // namespace prophecy::simulation
