// `SimulatedWorker` is a worker of the sketcher in a simulated run: the real cores of its reads, in
// front of the simulated service. It is the shell of the group's core.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "consistency/group/service.hpp"
#include "consistency/oracles/recorder.hpp"
#include "consistency/origins/origin_links.hpp"
#include "sketcher/core/policy/activity_layout.hpp"
#include "sketcher/core/policy/slow_path_budget.hpp"
#include "sketcher/core/read/group_core.hpp"

namespace prophecy::consistency {

class World;

class SimulatedWorker final : private sketcher::Dice, private sketcher::OriginReports {
 public:
  // In one of the places that the sketcher has for workers.
  SimulatedWorker(World& world, std::size_t place);
  ~SimulatedWorker();
  SimulatedWorker(const SimulatedWorker&) = delete;
  SimulatedWorker& operator=(const SimulatedWorker&) = delete;

  [[nodiscard]] std::size_t place() const { return place_; }
  [[nodiscard]] sketcher::GroupCore& core() { return core_; }
  [[nodiscard]] sketcher::WorkerReads& reads() { return reads_; }
  // Null in runs that share no connections.
  [[nodiscard]] OriginLinks* links() { return links_ ? &*links_ : nullptr; }
  [[nodiscard]] sketcher::SlowPathBudget* budget() { return budget_.get(); }
  [[nodiscard]] sketch::RequestCanonicalizer& canonicalizer() { return canonicalizer_; }
  // Carries out the actions of the group's core. `is_recorded`: calls that they begin belong to
  // operations that a client records.
  void perform(bool is_recorded = true);
  // A vote on a call of the group. False: the call is none of this worker's.
  bool on_refuted(const replica_client::Refutation& vote);
  void on_strong_agreement(std::uint64_t call);
  // Of a call that is no shared read.
  void on_other_refuted(const replica_client::Refutation& vote);
  // The client of this read has left, or its time is over. Others may be answered by what it has
  // begun: the read ends with the calls for its register that are
  // under way.
  void end_with_calls(const OperationId& left);
  // One of the confirming reads under way is answered.
  void advance();
  [[nodiscard]] std::size_t confirmations() const { return confirmations_.size(); }

 private:
  struct Call final : ReplicatedHandler {
    Call(SimulatedWorker& of, std::uint64_t of_number) : worker(of), number(of_number) {}
    void on_replicated_answer(replica_client::ReplicatedAnswer answer) override {
      worker.on_answer(number, std::move(answer));
    }
    void on_replicated_failure(replica_client::ReplicatedFailure failure) override {
      worker.on_failure(number, failure);
    }
    SimulatedWorker& worker;
    std::uint64_t number;
    std::uint64_t id = 0;
    bool is_of_register = false;
    Key key = 0;
    // The read that nobody records: others may see what it brings.
    std::optional<OperationId> own{};
  };
  struct Confirming {
    std::uint64_t number;
    NodeId origin;
    std::string wire;
  };
  struct Left {
    OperationId read;
    std::set<std::uint64_t> calls;  // numbers
  };
  struct Confirmed {
    std::size_t begun = 0;
    std::size_t under_way = 0;
  };

  std::uint32_t below(std::uint32_t bound) override;
  void report(sketcher::Divergence& divergence) override;
  void on_leak(NodeId, std::string_view) override {}
  void carry_out(const sketcher::GroupAction& action, bool is_recorded);
  void confirm(const sketcher::GroupAction& action);
  void end_own(const Call& call);
  void end_left(std::uint64_t call);
  void on_answer(std::uint64_t number, replica_client::ReplicatedAnswer answer);
  void on_failure(std::uint64_t number, replica_client::ReplicatedFailure failure);
  void report_results();
  void know_latencies();
  void make_budget();
  void check_bounds();
  [[nodiscard]] std::size_t whole_seconds() const;
  // Reads that the budget may have paid for, of one client or of all.
  [[nodiscard]] std::size_t paid_reads() const;
  [[nodiscard]] sketcher::ReadGroupParts parts();

  World& world_;
  const std::size_t place_;
  const TimePoint born_;
  alignas(64) std::array<std::byte, sketcher::ActivityParts::kBytesMin> activity_memory_{};
  sketcher::ActivityTable activity_;
  std::vector<sketcher::OriginCounters> origins_;
  sketcher::GroupCore core_;
  sketcher::WorkerReads reads_;
  std::optional<OriginLinks> links_;
  std::unique_ptr<sketcher::SlowPathBudget> budget_;
  bool is_budget_shared_ = false;  // all clients have one, in place of one each
  sketch::RequestCanonicalizer canonicalizer_;
  std::map<std::uint64_t, std::unique_ptr<Call>> calls_;  // by number
  std::map<std::uint64_t, std::uint64_t> numbers_;        // of all calls that ever were, by id
  std::map<std::string, std::size_t> charged_;            // calls, by the client's address
  std::vector<Left> left_;
  std::vector<Confirming> confirmations_;
  std::vector<Confirmed> confirmed_;  // by origin
  bool is_reporting_ = false;
};

}  // namespace prophecy::consistency
