// What one worker has of one group: the group itself, how its requests and answers are read, its
// place in the order of answers, and what is counted of its origins.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <memory>
#include <span>

#include <boost/asio/io_context.hpp>

#include "base/log.hpp"
#include "base/random.hpp"
#include "replica_client/core/health/draw.hpp"
#include "replica_client/group.hpp"
#include "sketch/sketch.hpp"
#include "sketcher/core/activity_table.hpp"
#include "sketcher/core/report_rate.hpp"
#include "sketcher/group_reads.hpp"
#include "sketcher/installation.hpp"
#include "sketcher/shared_state.hpp"

namespace prophecy::sketcher {

// What a group needs of the worker that asks it. All outlive it.
struct GroupEnvironment {
  boost::asio::io_context& loop;
  const Settings& settings;
  http::OriginTimeouts& origin_timeouts;
  http::BodyPool& bodies;
  DivergenceReporter& divergences;
  Logger& log;
  const SharedState& shared;
  ActivityTable& activity;
  std::uint32_t worker = 0;           // its index
  std::uint64_t first_timestamp = 0;  // for the PBFT client's sessions
};

class GroupContext final : public GroupReadHost, private replica_client::RefutationHandler {
 public:
  GroupContext(const GroupEnvironment& environment, const GroupSettings& settings,
               const GroupInstallation& installation, GroupState& state, WriteFloors floors,
               std::span<OriginCounters> origins);

  [[nodiscard]] const GroupSettings& settings() const { return settings_; }
  [[nodiscard]] const sketch::Profile& profile() const { return installation_.profile; }
  [[nodiscard]] const sketch::SketchFunction& sketch() const { return installation_.sketch; }
  [[nodiscard]] SigmaOrder& order() override { return state_.numbers->order; }
  [[nodiscard]] const WriteFloors& floors() const override { return floors_; }
  // What was answered until now about this URI is not valid for reads any more.
  void make_out_of_date(std::string_view authority, std::string_view target);
  [[nodiscard]] replica_client::ReplicaGroup& group() override { return *group_; }
  [[nodiscard]] sketch::AnswerCanonicalizer& answer_canonicalizer() { return canonicalizer_; }
  // All but those that change nothing.
  [[nodiscard]] bool refuses_writes() const {
    return settings_.kind == GroupKind::vote && !settings_.takes_writes;
  }
  [[nodiscard]] OriginCounters& counters(NodeId replica) { return origins_[replica]; }
  using ReplicaSet = replica_client::ReplicaSet;
  // Whom to ask for a fast read: uniformly among those whose health allows it, then among the
  // others, and none of `tried`. Nothing when all are tried.
  [[nodiscard]] std::optional<NodeId> draw(SecureRandom& random, ReplicaSet tried) const;
  // Likewise, but only among those whose health allows it.
  [[nodiscard]] std::optional<NodeId> draw_healthy(SecureRandom& random, ReplicaSet tried) const;
  // Counts it; evidence is written of kEvidenceAtOnce of an origin, then of one in
  // kEvidenceInterval.
  void report(Divergence& divergence) override;
  void on_vindicated(NodeId replica) override { counters(replica).vindications.add(); }
  void on_compared(const Sketch& key, bool transition) override;
  // Of one of its shadows. Counts nothing.
  void report_shadow(Divergence& divergence, const Endpoint& address);
  // Of what is taken out of its messages.
  [[nodiscard]] const sketch::FieldCounters& fields() const { return fields_; }
  // An origin let a field out that is for its own front end alone. Told of at most once a minute
  // and origin.
  void on_leak(NodeId replica, std::string_view field) override;
  [[nodiscard]] std::optional<Sketch> sketch_of(const sketch::AnswerForm& form) const override;

 private:
  [[nodiscard]] std::unique_ptr<replica_client::ReplicaGroup> make_group(
      const GroupEnvironment& environment);
  void on_refuted(const replica_client::Refutation& refutation) override;
  void on_vote(NodeId replica, http::ExchangeEnd end) override;

  const GroupSettings& settings_;
  const GroupInstallation& installation_;
  GroupState& state_;
  WriteFloors floors_;
  std::span<OriginCounters> origins_;  // by replica
  DivergenceReporter& divergences_;
  Logger& log_;
  ActivityTable& activity_;
  sketch::FieldCounters fields_;
  struct Leaks {
    std::uint64_t untold = 0;
    TimePoint told_again{};  // not before
  };
  std::vector<Leaks> leaks_;          // by replica
  std::vector<ReportRate> evidence_;  // by replica
  std::unique_ptr<replica_client::ReplicaGroup> group_;
  sketch::AnswerCanonicalizer canonicalizer_;
};

}  // namespace prophecy::sketcher
