#include "consistency/group/pbft_service.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "consistency/group/pbft_plan.hpp"
#include "simulation/group_keys.hpp"

namespace prophecy::consistency {
namespace {

// Of a group of four, in one step of the world. Others have as many for each pair of agents.
constexpr std::uint64_t kEventsMax = 70;
constexpr std::uint64_t kPairs = 16;
constexpr std::uint64_t kStrikePermille = 12;
constexpr std::uint64_t kPowerLossPercent = 40;
constexpr std::uint64_t kGroupRestartPercent = 20;
constexpr std::uint64_t kDarkMsMax = 300;
constexpr std::uint64_t kStartingPercent = 30;
constexpr std::uint32_t kSessions = 64;
constexpr std::uint32_t kFewSessions = 2;
constexpr NodeId kSketcher = kFirstClientId;
constexpr NodeId kElsewhere = kFirstClientId + 1;
// Numbers of requests in a batch beyond this are those of other requests.
constexpr Sigma kOthersFrom = 0x8000;

}  // namespace

// One write elsewhere.
class PbftService::Writer final : public ReplicatedHandler {
 public:
  Writer(PbftService& service, Then then) : service_(service), then_(std::move(then)) {}
  void on_replicated_answer(replica_client::ReplicatedAnswer) override { end(true); }
  void on_replicated_failure(replica_client::ReplicatedFailure) override { end(false); }

 private:
  void end(bool is_done) {
    then_(is_done);
    std::erase_if(service_.writers_, [this](const auto& writer) { return writer.get() == this; });
  }

  PbftService& service_;
  Then then_;
};

PbftService::PbftService(std::uint64_t seed, std::size_t places, const RunSettings& settings,
                         const sketch::Profile& profile, simulation::Random& random,
                         Listener listener)
    : Service(settings, profile, random, std::move(listener)),
      scenario_(plan_group(seed, settings)),
      trace_(false, scheduler_),
      checker_(scenario_),
      network_(scenario_, scheduler_, trace_,
               [this](NodeId to, const pbft::Frame& frame) { deliver(to, frame); }),
      shared_{
          .settings = settings,
          .random = random,
          .origins = origins(),
          .forms = forms(),
          .on_written = [this](const std::string& value) { this->listener().on_written(value); },
          .is_starting = random.chance(kStartingPercent)},
      workers_(places) {
  add_agents();
  elsewhere_ = make_member(kElsewhere, 0, kSessions);
}

PbftService::~PbftService() = default;

void PbftService::add_agents() {
  for (NodeId node = 0; node < scenario_.replicas(); ++node) {
    origins_.push_back(std::make_unique<AgentService>(node, shared_));
    const auto& keys = simulation::key_ring_of(simulation::Keys::cheap, node, scenario_.replicas());
    agents_.push_back(std::make_unique<simulation::ReplicaHost>(
        scenario_, keys, scheduler_, checker_, lies_, *origins_.back(),
        [this](NodeId from, const pbft::Outgoing& outgoing, Duration delay) {
          network_.send(from, outgoing, delay);
        }));
    agents_.back()->start();
  }
}

std::shared_ptr<GroupMember> PbftService::make_member(NodeId client, std::uint32_t first_session,
                                                      std::uint32_t sessions) {
  ++members_;
  pbft::ClientSettings client_settings = plan_client(scenario_, settings());
  client_settings.first_session = first_session;
  client_settings.session_count = sessions;
  client_settings.first_timestamp = members_ << 32;  // as the time of its start
  return std::make_shared<GroupMember>(
      members_, settings().variant.world, client_settings, plan_deadline(settings()),
      simulation::key_ring_of(simulation::Keys::cheap, client, scenario_.replicas()), scheduler_,
      GroupMember::Listener{
          .on_refuted = [this](const auto& vote) { on_refuted(vote); },
          .on_strong = [this](std::uint64_t call) { listener().on_strong(call); },
          .on_answer = [this](std::uint64_t call, auto& answer) { on_answer(call, answer); },
          .on_end = [this] { has_ended_ = true; },
          .on_wrong_evidence = [this](const std::string& what) { listener().on_violation(what); },
          .send = [this](NodeId from,
                         const pbft::Outgoing& outgoing) { network_.send(from, outgoing, {}); }});
}

// Workers of one sketcher share its client id.
void PbftService::begin_worker(std::size_t place) {
  if (workers_[place]) overloads_ += workers_[place]->counters().overloaded;
  const std::uint32_t sessions = settings().has_few_calls ? kFewSessions : kSessions;
  workers_[place] = make_member(kSketcher, static_cast<std::uint32_t>(place) * kSessions, sessions);
}

std::uint64_t PbftService::submit(std::size_t place, std::string_view wire,
                                  ReplicatedHandler& handler) {
  return workers_[place]->submit(wire, handler);
}

GroupMember* PbftService::maker_of(std::uint64_t call) {
  const auto found = std::find_if(workers_.begin(), workers_.end(), [&](const auto& worker) {
    return worker && worker->has_made(call);
  });
  return found == workers_.end() ? nullptr : found->get();
}

void PbftService::cancel(std::uint64_t call) {
  if (GroupMember* const maker = maker_of(call)) maker->cancel(call);
}

void PbftService::write_elsewhere(Key key, const std::string& value, Then then) {
  const std::string wire = "POST /" + std::to_string(key) +
                           " HTTP/1.1\r\nhost: site\r\nuser-agent: elsewhere\r\n\r\n" + value;
  writers_.push_back(std::make_unique<Writer>(*this, std::move(then)));
  static_cast<void>(elsewhere_->submit(wire, *writers_.back()));
}

// A client drops what is of another's session.
void PbftService::deliver(NodeId to, const pbft::Frame& frame) {
  if (to < agents_.size()) return agents_[to]->on_frame(frame);
  if (to == kElsewhere) return elsewhere_->on_frame(*frame);
  for (const auto& worker : workers_) {
    if (worker) worker->on_frame(*frame);
  }
}

void PbftService::on_answer(std::uint64_t call, replica_client::ReplicatedAnswer& answer) {
  ++agreed_;
  show_liars(answer.form);
  const BrokenWorld broken = settings().variant.world;
  if (broken == BrokenWorld::group_by_arrival) answer.sigma = agreed_;
  if (broken == BrokenWorld::group_strong_early) listener().on_strong(call);
}

// Where correct origins do not differ, neither do their votes: the group has one order.
void PbftService::on_refuted(const replica_client::Refutation& vote) {
  if (!settings().is_noisy && !settings().is_liar(vote.replica)) {
    listener().on_violation("the vote of correct origin " + std::to_string(vote.replica) + " on " +
                            std::string(vote.target) + " is refuted");
  }
  listener().on_refuted(vote);
}

void PbftService::advance() {
  if (is_hanging()) return;
  if (!is_calm() && random().below(1000) < kStrikePermille) strike_agent();
  has_ended_ = false;
  const std::uint64_t most = kEventsMax * agents_.size() * agents_.size() / kPairs;
  for (std::uint64_t events = random().between(1, most); events > 0 && !has_ended_; --events)
    ASSERT(scheduler_.step());  // agents send heart-beats for ever
  if (!checker_.ok()) listener().on_violation(checker_.violation());
}

// No more than one of them is down at a time: the one that breaks the protocol, if there is one.
void PbftService::strike_agent() {
  const auto down = std::find_if(agents_.begin(), agents_.end(),
                                 [](const auto& agent) { return agent->crashed(); });
  if (down != agents_.end()) return (*down)->restart();
  const std::size_t struck =
      settings().has_bad_agent ? settings().correct() : random().below(agents_.size());
  agents_[struck]->crash(random().chance(kPowerLossPercent));
}

void PbftService::restart_group() {
  if (!random().chance(kGroupRestartPercent)) return;
  ++restarts_;
  for (const auto& agent : agents_) {
    agent->crash(true);
    scheduler_.after(milliseconds(random().below(kDarkMsMax)),
                     [host = agent.get()] { host->restart(); });
  }
}

// Behind all that has been executed, and in front of all that is not proposed yet.
Sigma PbftService::place_other() {
  const Sigma batch = shared_.newest >> 16 << 16;
  others_ = std::max(others_, batch | kOthersFrom) + 1;
  return others_;
}

void PbftService::calm_down() {
  Service::calm_down();
  shared_.calm_behind = shared_.newest;
  scenario_.healed = scheduler_.now();
  for (const auto& agent : agents_)
    agent->restart();
}

void PbftService::count(Tally& tally) const {
  std::uint64_t overloads = overloads_;
  for (const auto& worker : workers_)
    overloads += worker ? worker->counters().overloaded : 0;
  tally.add(Met::overloads, overloads);
  tally.add(Met::agreed_by_agents, agreed_);
  tally.add(Met::agent_group_restarts, restarts_);
  for (const auto& agent : agents_) {
    tally.add(Met::agent_restarts, agent->restarts());
    tally.add(Met::views_entered, agent->counters().views_entered);
    tally.add(Met::states_restored, agent->counters().states_restored);
    tally.add(Met::executed_ahead, agent->counters().batches_executed_ahead);
  }
}

}  // namespace prophecy::consistency
