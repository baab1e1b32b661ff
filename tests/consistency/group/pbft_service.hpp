// `PbftService` is a service whose group is a real one: replica cores and PBFT clients as the
// programs have them, in front of the world's origins (agent_service.hpp, group_member.hpp). The
// network between them loses, repeats, damages and delays frames; agents are killed and restarted,
// one at a time or all at once; views change as they have to.
//
// The group has a virtual time of its own, which passes with advance() alone. Its hosts, its
// network and the checks of its order are those of prophecy-sim.
#pragma once

#include <memory>
#include <vector>

#include "consistency/group/agent_service.hpp"
#include "consistency/group/group_member.hpp"
#include "consistency/group/service.hpp"
#include "simulation/checker.hpp"
#include "simulation/hosts/network.hpp"
#include "simulation/hosts/replica_host.hpp"
#include "simulation/hosts/scheduler.hpp"
#include "simulation/hosts/trace.hpp"

namespace prophecy::consistency {

class PbftService final : public Service {
 public:
  // Requires a group with an order. `places`: of workers.
  PbftService(std::uint64_t seed, std::size_t places, const RunSettings& settings,
              const sketch::Profile& profile, simulation::Random& random, Listener listener);
  ~PbftService() override;

  void begin_worker(std::size_t place) override;
  std::uint64_t submit(std::size_t place, std::string_view wire,
                       ReplicatedHandler& handler) override;
  void cancel(std::uint64_t call) override;
  // Through another client of the group.
  void write_elsewhere(Key key, const std::string& value, Then then) override;
  // Some events, up to one by which a call ends.
  void advance() override;
  // The power fails. The agents go on from their disks, and so do calls that are under way.
  void restart_group() override;
  [[nodiscard]] Sigma place_other() override;
  void count(Tally& tally) const override;
  void calm_down() override;

 private:
  class Writer;

  void add_agents();
  [[nodiscard]] std::shared_ptr<GroupMember> make_member(NodeId client, std::uint32_t first_session,
                                                         std::uint32_t sessions);
  void deliver(NodeId to, const pbft::Frame& frame);
  void on_answer(std::uint64_t call, replica_client::ReplicatedAnswer& answer);
  void on_refuted(const replica_client::Refutation& vote);
  void strike_agent();
  [[nodiscard]] GroupMember* maker_of(std::uint64_t call);

  simulation::Scenario scenario_;
  simulation::Scheduler scheduler_;
  simulation::Trace trace_;
  simulation::Checker checker_;
  simulation::Lies lies_;
  simulation::Network network_;
  AgentService::Shared shared_;
  std::vector<std::unique_ptr<AgentService>> origins_;
  std::vector<std::unique_ptr<simulation::ReplicaHost>> agents_;
  std::vector<std::shared_ptr<GroupMember>> workers_;  // by place
  std::vector<std::unique_ptr<Writer>> writers_;       // elsewhere, of calls under way
  std::shared_ptr<GroupMember> elsewhere_;
  std::uint64_t members_ = 0;  // that there ever were
  std::uint64_t agreed_ = 0;
  std::uint64_t overloads_ = 0;  // of members that are no more
  std::uint64_t restarts_ = 0;   // of the whole group
  Sigma others_ = 0;             // of this batch
  bool has_ended_ = false;       // a call, in this step
};

}  // namespace prophecy::consistency
