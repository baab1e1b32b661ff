// `GroupContext` is one replica group in one worker: the connections to it, the core that decides
// its reads, and the reports about its origins.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <memory>
#include <span>

#include <boost/asio/io_context.hpp>

#include "base/log.hpp"
#include "replica_client/group.hpp"
#include "sketcher/core/policy/report_rate.hpp"
#include "sketcher/core/read/group_core.hpp"
#include "sketcher/group/group_calls.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/shared/divergence.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

// What a group needs of the worker that asks it. All outlive it.
struct GroupEnvironment {
  boost::asio::io_context& loop;
  const Settings& settings;
  http::OriginTimeouts& origin_timeouts;
  http::BodyPool& bodies;
  http::ComingAnswers& coming;
  DivergenceReporter& divergences;
  Logger& log;
  const SharedState& shared;
  ActivityTable& activity;
  Dice& dice;
  std::uint32_t worker = 0;                // its index
  std::uint64_t first_timestamp = 0;       // for the PBFT client's sessions
  const Acceptance* acceptance = nullptr;  // null without a ring
};

class GroupContext final : public OriginReports, private replica_client::RefutationHandler {
 public:
  GroupContext(const GroupEnvironment& environment, HistoryTable& table,
               const GroupSettings& settings, const GroupInstallation& installation,
               GroupState& state, WriteFloors floors, std::span<OriginCounters> origins);

  [[nodiscard]] const GroupSettings& settings() const { return settings_; }
  [[nodiscard]] const sketch::Profile& profile() const { return installation_.profile; }
  [[nodiscard]] const sketch::SketchFunction& sketch() const { return installation_.sketch; }
  [[nodiscard]] replica_client::ReplicaGroup& group() { return *group_; }
  // What decides the reads, and the shell that carries out what it asks of the group.
  [[nodiscard]] GroupCore& core() { return core_; }
  [[nodiscard]] const GroupCore& core() const { return core_; }
  [[nodiscard]] GroupCalls& calls() { return calls_; }
  // All but those that change nothing.
  [[nodiscard]] bool refuses_writes() const {
    return settings_.kind == GroupKind::vote && !settings_.takes_writes;
  }
  [[nodiscard]] OriginCounters& counters(NodeId replica) { return origins_[replica]; }
  // Counts it, and sends evidence to the master of kReportsAtOnce, then of one in kReportInterval:
  // the master has the same bound for all workers, and this one keeps the channel free for the
  // other origins.
  void report(Divergence& divergence) override;
  // Of one of its shadows, with the same bound. Counts nothing.
  void report_shadow(Divergence& divergence, const Endpoint& address);
  // An origin let a field out that is for its own front end alone. Logged at most once a minute and
  // origin.
  void on_leak(NodeId replica, std::string_view field) override;

 private:
  [[nodiscard]] std::unique_ptr<replica_client::ReplicaGroup> make_group(
      const GroupEnvironment& environment, GroupState& state);
  void on_refuted(const replica_client::Refutation& refutation) override {
    calls_.on_refuted(refutation);
  }
  void on_strong_agreement(std::uint64_t call) override { calls_.on_strong_agreement(call); }
  void on_vote(NodeId replica, http::ExchangeEnd end) override;

  struct Leaks {
    std::uint64_t untold = 0;
    TimePoint told_again{};  // not before
  };

  const GroupSettings& settings_;
  const GroupInstallation& installation_;
  std::span<OriginCounters> origins_;  // by replica
  DivergenceReporter& divergences_;
  Logger& log_;
  std::vector<Leaks> leaks_;          // by replica
  std::vector<ReportRate> evidence_;  // by replica
  std::vector<ReportRate> shadow_evidence_;
  GroupCore core_;
  std::unique_ptr<replica_client::ReplicaGroup> group_;
  GroupCalls calls_;
};

}  // namespace prophecy::sketcher
