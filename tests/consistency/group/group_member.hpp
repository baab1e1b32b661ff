// `GroupMember` is one PBFT client of a real group in a simulated run: a worker of the sketcher, or
// a writer elsewhere. It is the shell of the very PbftCalls that a worker makes its calls with.
//
// No handler is called within submit() and cancel(). Kept by a shared pointer, since the
// scheduler's events outlast it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "consistency/settings.hpp"
#include "replica_client/core/pbft_calls.hpp"
#include "simulation/hosts/scheduler.hpp"

namespace prophecy::consistency {

class GroupMember final : public std::enable_shared_from_this<GroupMember>,
                          private replica_client::RefutationHandler {
 public:
  // Calls are named by numbers that are different for each member there ever was.
  struct Listener {
    std::function<void(const replica_client::Refutation& vote)> on_refuted;
    std::function<void(std::uint64_t call)> on_strong;
    // Before the call's handler learns it; may change it.
    std::function<void(std::uint64_t call, replica_client::ReplicatedAnswer& answer)> on_answer;
    std::function<void()> on_end;  // of a call, one way or the other
    // Evidence that is of no call, or names another request than the call's.
    std::function<void(const std::string& what)> on_wrong_evidence;
    std::function<void(NodeId from, const pbft::Outgoing& outgoing)> send;
  };

  // `number` of all members there have been.
  GroupMember(std::uint64_t number, BrokenWorld broken, const pbft::ClientSettings& settings,
              Duration deadline, const pbft::KeyRing& keys, simulation::Scheduler& scheduler,
              Listener listener);

  std::uint64_t submit(std::string_view wire, replica_client::ReplicatedHandler& handler);
  void cancel(std::uint64_t call);
  void on_frame(ByteView frame);

  [[nodiscard]] NodeId id() const { return id_; }
  [[nodiscard]] bool has_made(std::uint64_t call) const { return call / kCallsMax == number_; }
  [[nodiscard]] const pbft::ClientCounters& counters() const { return calls_.counters(); }

 private:
  static constexpr std::uint64_t kCallsMax = std::uint64_t{1} << 32;

  struct Call final : replica_client::ReplicatedHandler {
    Call(GroupMember& of, replica_client::ReplicatedHandler& whom) : member(of), handler(whom) {}
    void on_replicated_answer(replica_client::ReplicatedAnswer answer) override;
    void on_replicated_failure(replica_client::ReplicatedFailure failure) override;
    GroupMember& member;
    replica_client::ReplicatedHandler& handler;
    std::uint64_t id = 0;  // of the PbftCalls
  };

  [[nodiscard]] std::uint64_t number_of(std::uint64_t id) const { return number_ * kCallsMax + id; }
  void on_refuted(const replica_client::Refutation& refutation) override;
  void on_strong_agreement(std::uint64_t call) override;
  void later(TimePoint time, std::function<void()> what);
  void send();
  void report();
  void arm();

  const std::uint64_t number_;
  const BrokenWorld broken_;
  const NodeId id_;
  simulation::Scheduler& scheduler_;
  Listener listener_;
  replica_client::PbftCalls calls_;
  std::map<std::uint64_t, std::unique_ptr<Call>> handlers_;  // by id
  std::map<std::uint64_t, std::string> targets_;             // of all calls that ever were
  TimePoint armed_for_ = TimePoint::max();
};

}  // namespace prophecy::consistency
