#include "simulation/world.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "pbft/wire/frame_header.hpp"

namespace prophecy::simulation {
namespace {

// After the network has healed, so much virtual time is enough to get going again,
constexpr Duration kLivenessBound = seconds(20);
// and so much for each call that had to wait for the one before it in its session.
constexpr Duration kCallBound = milliseconds(500);
// And so much more, when faulty clients and stalls of disks have ended too, for every replica to
// have caught up. Its primary is given up once in ten seconds for a silent peer's sake.
constexpr Duration kCatchUpTime = seconds(13);
// And where a replica may have been cut off for minutes, which waits up to one between its fetches.
constexpr Duration kFetchPause = seconds(61);
// And where writes crash: replicas that lag behind the others repeat each, and then wait for the
// checkpoint behind it, for four seconds an interval.
constexpr Duration kRepetitionTime = seconds(60);
constexpr std::uint64_t kStepsBetweenLooks = 20;
constexpr Duration kTurnTriedEvery = milliseconds(20);
// So soon a replica that has lost its memory, and is correct from then on, is a member again.
constexpr Duration kReturnBound = seconds(12);
// No run needs nearly as many; one that does has a group that talks to itself for ever.
constexpr std::uint64_t kStepsMax = 5'000'000;
constexpr std::uint64_t kLongStepsMax = 20 * kStepsMax;
// Of an earlier life: so many steps, and another seed of the same kind of keys.
constexpr std::uint64_t kEarlierSteps = 3000;
constexpr std::uint64_t kSeedsApart = 50'000'000;

}  // namespace

World::World(Scenario scenario, bool trace)
    : scenario_(std::move(scenario)),
      trace_(trace, scheduler_),
      checker_(scenario_),
      network_(scenario_, scheduler_, trace_,
               [this](NodeId to, const pbft::Frame& frame) { deliver(to, frame); }),
      strangers_(scenario_, scheduler_,
                 [this](NodeId from, const pbft::Outgoing& outgoing, Duration delay) {
                   network_.send(from, outgoing, delay);
                 }) {
  add_nodes();
  add_key_hosts();
  if (strangers_.are_there()) strangers_.remember(earlier_life());
}

// Of the same group, whose calls are others, on a network that loses frames.
std::deque<pbft::Frame> World::earlier_life() const {
  Scenario earlier = scenario_;
  earlier.seed += kSeedsApart;
  if (scenario_.canary != Canary::signatures_outlive) earlier.canary = Canary::none;
  earlier.is_earlier_life = true;
  earlier.bounds = nullptr;
  std::erase_if(earlier.ingredients, [](const Ingredient& ingredient) {
    return ingredient.kind != IngredientKind::calls;
  });
  Ingredient loss;
  loss.kind = IngredientKind::loss;
  loss.percent = 20;
  earlier.ingredients.push_back(loss);
  World world(std::move(earlier), false);
  world.strangers_.only_record();
  world.begin();
  for (std::uint64_t i = 0; i < kEarlierSteps && world.step(); ++i) {
  }
  return world.strangers_.recorded();
}

Keys World::keys() const {
  if (scenario_.canary == Canary::gullible_signatures) return Keys::gullible;
  if (scenario_.canary == Canary::gullible_macs) return Keys::trusting;
  if (scenario_.canary == Canary::signatures_outlive) return Keys::timeless;
  return Keys::cheap;
}

void World::add_nodes() {
  const auto send = [this](NodeId from, const pbft::Outgoing& outgoing, Duration delay) {
    strangers_.overhear(outgoing.frame);
    network_.send(from, outgoing, delay);
  };
  const Life life = scenario_.is_earlier_life ? Life::earlier : Life::present;
  if (scenario_.has_real_keys()) changing_rings_ = changing_key_rings(scenario_.replicas(), life);
  const auto ring = [&](NodeId node) -> const pbft::KeyRing& {
    return scenario_.has_real_keys() ? changing_rings_.at(node)
                                     : key_ring_of(keys(), node, scenario_.replicas(), life);
  };
  for (NodeId node = 0; node < scenario_.replicas(); ++node) {
    services_.push_back(std::make_unique<HostedRegisters>(scenario_.canary, node));
    replicas_.push_back(std::make_unique<ReplicaHost>(scenario_, ring(node), scheduler_, checker_,
                                                      lies_, *services_.back(),
                                                      send_of(node, send)));
  }
  for (const Ingredient& ingredient : scenario_.ingredients) {
    if (ingredient.kind != IngredientKind::twins) continue;
    twins_.push_back(std::make_unique<Twins>(scenario_, ingredient, ring(ingredient.node),
                                             scheduler_, lies_, send));
  }
  for (NodeId client = 0; client < scenario_.clients; ++client) {
    clients_.push_back(std::make_unique<ClientHost>(scenario_, ring(kFirstClientId + client),
                                                    scheduler_, checker_, send));
  }
  for (const Ingredient& ingredient : scenario_.ingredients) {
    if (ingredient.kind != IngredientKind::bad_client) continue;
    bad_clients_.push_back(std::make_unique<BadClient>(scenario_, ingredient, ring(ingredient.node),
                                                       scheduler_, send));
  }
  add_rollovers(send);
}

void World::add_rollovers(const ReplicaHost::Send& send) {
  for (const Ingredient& ingredient : scenario_.ingredients) {
    if (ingredient.kind == IngredientKind::stolen_key) {
      thieves_.push_back(std::make_unique<Thief>(
          scenario_, ingredient, key_ring_of(keys(), ingredient.node, scenario_.replicas()),
          scheduler_, lies_, send));
    } else if (ingredient.kind == IngredientKind::new_keys) {
      rollovers_.push_back(std::make_unique<KeyRollover>(
          ingredient, Random(scenario_.seed, kPurposeIngredient + ingredient.number), scheduler_,
          trace_));
    }
  }
}

const Twins* World::twins_of(NodeId replica) const {
  const auto found = std::find_if(twins_.begin(), twins_.end(),
                                  [&](const auto& twins) { return twins->node() == replica; });
  return found == twins_.end() ? nullptr : found->get();
}

ReplicaHost::Send World::send_of(NodeId replica, const ReplicaHost::Send& send) {
  return [this, replica, send](NodeId from, const pbft::Outgoing& outgoing, Duration delay) {
    const Twins* twins = twins_of(replica);
    if (twins == nullptr || twins->speaks_with(Twins::Which::first, outgoing.to)) {
      send(from, outgoing, delay);
    }
  };
}

void World::add_key_hosts() {
  for (const auto& [node, ring] : changing_rings_) {
    const KeyHost::Send send = [this, node = node](const pbft::Outgoing& outgoing) {
      if (node < replicas_.size()) return replicas_[node]->send(outgoing);
      network_.send(node, outgoing, {});
    };
    key_hosts_.emplace(node, std::make_unique<KeyHost>(ring, scenario_.seed, scheduler_, send));
  }
}

void World::on_key_message(NodeId to, const pbft::Frame& frame) {
  const auto host = key_hosts_.find(to);
  if (host == key_hosts_.end()) return;
  if (to < replicas_.size() && !replicas_[to]->hears(frame)) return;
  if (const auto lie = lies_.kind_of(frame)) lies_.count(*lie);
  host->second->on_frame(*frame);
  for (const NodeId wrong : host->second->take_wrong()) {
    if (scenario_.is_blameless(wrong) && scenario_.is_blameless(to)) {
      checker_.fail("the key of node " + std::to_string(wrong) + " is taken for another's");
    }
  }
}

void World::announce(const Ingredient& ingredient) {
  const std::string text =
      "[" + std::to_string(ingredient.number) + "] " + simulation::describe(ingredient);
  scheduler_.at(ingredient.from, [this, text] { trace_.line("begins: " + text); });
  if (ingredient.until == TimePoint::max()) return;
  scheduler_.at(ingredient.until, [this, text] { trace_.line("ends: " + text); });
}

void World::plan_accident(const Ingredient& ingredient) {
  const auto at = [&](TimePoint time, void (World::*what)(const Ingredient&)) {
    scheduler_.at(time, [this, ingredient, what] { (this->*what)(ingredient); });
  };
  switch (ingredient.kind) {
    case IngredientKind::crash:
    case IngredientKind::restart:
    case IngredientKind::power_loss:
    case IngredientKind::lost_disk:
    case IngredientKind::lost_service:
    case IngredientKind::lost_services:
    case IngredientKind::wrong_service:
    case IngredientKind::rotten_state:
    case IngredientKind::rotten_disk:
      at(ingredient.from, &World::strike);
      if (ingredient.until != TimePoint::max()) at(ingredient.until, &World::mend);
      break;
    default:
      break;
  }
}

void World::at_each(std::uint64_t nodes, const std::function<void(ReplicaHost&)>& what) {
  for (NodeId node = 0; node < replicas_.size(); ++node) {
    if (contains(nodes, node)) what(*replicas_[node]);
  }
}

void World::crash(NodeId node, bool loses_power) {
  replicas_[node]->crash(loses_power);
  network_.on_process_ended(node);
}

void World::strike(const Ingredient& ingredient) {
  switch (ingredient.kind) {
    case IngredientKind::power_loss:
      for (NodeId node = 0; node < replicas_.size(); ++node) {
        if (contains(ingredient.nodes, node)) crash(node, true);
      }
      return;
    case IngredientKind::lost_disk:
      if (ingredient.turn == 0 && !one_more_may_be_faulty()) return;
      crash(ingredient.node, true);
      replicas_[ingredient.node]->lose_disk();
      return;
    case IngredientKind::wrong_service:
      if (is_untold_somewhere() && is_too_much(ingredient)) return;
      unnoticed_at_[ingredient.node] = replicas_[ingredient.node]->status().last_executed;
      return replicas_[ingredient.node]->spoil_service();
    case IngredientKind::rotten_state:
      return replicas_[ingredient.node]->rot();
    case IngredientKind::rotten_disk:
      return at_each(ingredient.nodes,
                     [&](ReplicaHost& replica) { replica.rot_disk(ingredient.percent); });
    case IngredientKind::lost_service:
      if (is_too_much(ingredient)) return;
      struck_.insert(ingredient.number);
      return replicas_[ingredient.node]->lose_service();
    case IngredientKind::lost_services:
      return at_each(ingredient.nodes, [](ReplicaHost& replica) { replica.lose_service(); });
    default:
      crash(ingredient.node, false);
      return refuse(ingredient);
  }
}

// The machine of a process that has ended refuses connections. Not all peers see it, and some only
// when the process is there again.
void World::refuse(const Ingredient& crash) {
  Random random(scenario_.seed, kPurposeRefusals + kPurposeIngredient * crash.number);
  for (NodeId peer = 0; peer < replicas_.size(); ++peer) {
    const Duration delay = milliseconds(random.between(20, 400));
    if (peer == crash.node || random.chance(25)) continue;
    scheduler_.after(delay,
                     [this, peer, gone = crash.node] { replicas_[peer]->peer_is_gone(gone); });
  }
}

void World::begin_second_turn(TimePoint since) {
  const std::uint64_t first = scenario_.faulty_in_turn(1);
  for (NodeId node = 0; node < replicas_.size(); ++node) {
    const pbft::ReplicaStatus& status = replicas_[node]->status();
    const bool is_back = !replicas_[node]->crashed() && status.silent_until == 0 &&
                         status.recovery == pbft::RecoveryState::none;
    if (!contains(first, node) || is_back) continue;
    if (scheduler_.now() - since > kReturnBound) {
      checker_.fail("replica " + std::to_string(node) +
                    " has lied, is correct now, and is no member again");
    }
    return scheduler_.after(kTurnTriedEvery, [this, since] { begin_second_turn(since); });
  }
  trace_.line("the second turn begins");
  for (const auto& replica : replicas_)
    replica->begin_second_turn();
}

void World::mend(const Ingredient& ingredient) {
  if (ingredient.kind == IngredientKind::lost_service) {
    if (struck_.contains(ingredient.number)) replicas_[ingredient.node]->service_returns();
    return;
  }
  if (ingredient.kind == IngredientKind::lost_services) {
    return at_each(ingredient.nodes, [](ReplicaHost& replica) { replica.service_returns(); });
  }
  for (NodeId node = 0; node < replicas_.size(); ++node) {
    const bool down = node == ingredient.node || contains(ingredient.nodes, node);
    const Ingredient* for_good = scenario_.find(IngredientKind::crash, node);
    if (down && (for_good == nullptr || for_good->from > scheduler_.now())) {
      // A repair that was under way is forgotten, and so are the others' claims.
      const auto unnoticed = unnoticed_at_.find(node);
      if (unnoticed != unnoticed_at_.end())
        unnoticed->second = replicas_[node]->status().last_executed;
      replicas_[node]->restart();
    }
  }
}

// Who has lost its memory is one of the f until it votes again.
bool World::one_more_may_be_faulty() const {
  std::uint64_t faulty = scenario_.liars() | scenario_.faulty_in_the_end();
  for (const Ingredient& ingredient : scenario_.ingredients) {
    if (ingredient.kind == IngredientKind::rotten_disk) faulty |= ingredient.nodes;
  }
  for (NodeId node = 0; node < replicas_.size(); ++node) {
    const pbft::ReplicaStatus& status = replicas_[node]->status();
    if (status.silent_until > 0 || status.recovery != pbft::RecoveryState::none) {
      faulty |= std::uint64_t{1} << node;
    }
  }
  return static_cast<std::uint32_t>(std::popcount(faulty)) < scenario_.faults;
}

bool World::is_untold_somewhere() const {
  const auto& all = scenario_.ingredients;
  return std::any_of(all.begin(), all.end(), [&](const Ingredient& ingredient) {
    return ingredient.kind == IngredientKind::untold_states &&
           ingredient.is_active(scheduler_.now());
  });
}

// With f faulty ones beside it, or one that cannot tell its state, a checkpoint may be stable that
// only f correct replicas have the state of, which proves it to nobody. Then laggards need the
// batches, and what begins anew from its disk has none of before.
bool World::is_too_much(const Ingredient& lost_service) const {
  const auto& all = scenario_.ingredients;
  return (!one_more_may_be_faulty() || is_untold_somewhere()) &&
         std::any_of(all.begin(), all.end(), [&](const Ingredient& other) {
           return (other.kind == IngredientKind::power_loss ||
                   other.kind == IngredientKind::restart) &&
                  other.until > lost_service.from;
         });
}

// What a frame says of its sender has to be proved by its MAC.
void World::deliver(NodeId to, const pbft::Frame& frame) {
  const auto header = pbft::peek_header(*frame);
  if (header && pbft::is_key_message(header->type)) return on_key_message(to, frame);
  if (to < replicas_.size()) {
    deliver_to_replica(to, header ? header->sender : 0, frame);
  } else if (to >= kFirstClientId && to - kFirstClientId < clients_.size()) {
    if (const auto lie = lies_.kind_of(frame)) lies_.count(*lie);
    clients_[to - kFirstClientId]->on_frame(*frame);
  }
  for (const auto& client : bad_clients_) {
    if (client->id() == to) client->on_frame(*frame);
  }
}

ReplicaHost::Speaker World::speaker_of(const pbft::Frame& frame) const {
  const bool is_thiefs = std::any_of(thieves_.begin(), thieves_.end(),
                                     [&](const auto& thief) { return thief->sent(frame); });
  if (is_thiefs) return ReplicaHost::Speaker::thief;
  return strangers_.sent(frame) ? ReplicaHost::Speaker::stranger : ReplicaHost::Speaker::member;
}

void World::deliver_to_replica(NodeId to, NodeId from, const pbft::Frame& frame) {
  const ReplicaHost::Speaker speaker = speaker_of(frame);
  const Twins* twins = twins_of(to);
  if (twins == nullptr || twins->speaks_with(Twins::Which::first, from)) {
    replicas_[to]->on_frame(frame, speaker);
  }
  for (const auto& second : twins_) {
    if (second->node() == to && second->speaks_with(Twins::Which::second, from)) {
      second->on_frame(frame, speaker);
    }
  }
  for (const auto& thief : thieves_) {
    if (thief->node() == to) thief->on_frame(frame, speaker);
  }
}

bool World::finished() const {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](const auto& client) { return client->finished(); });
}

bool World::step() {
  if (++steps_ > (scenario_.is_long ? kLongStepsMax : kStepsMax))
    checker_.fail("the group does not come to rest");
  return checker_.ok() && scheduler_.step();
}

void World::start_replicas() {
  const auto unmarked = std::find_if(
      scenario_.ingredients.begin(), scenario_.ingredients.end(),
      [](const Ingredient& other) { return other.kind == IngredientKind::unmarked_disks; });
  for (NodeId node = 0; node < replicas_.size(); ++node) {
    ReplicaHost& replica = *replicas_[node];
    if (unmarked == scenario_.ingredients.end()) {
      replica.start();
      continue;
    }
    replica.lose_disk();
    if (contains(unmarked->nodes, node)) {
      scheduler_.at(TimePoint{} + unmarked->offset, [&replica] { replica.start(); });
    } else {
      replica.start();
    }
  }
}

void World::begin() {
  for (const auto& [node, host] : key_hosts_)
    host->start();
  start_replicas();
  for (const auto& twins : twins_)
    twins->start();
  for (const auto& client : clients_)
    client->start();
  for (const auto& client : bad_clients_)
    client->start();
  strangers_.start();
  for (const auto& thief : thieves_)
    thief->start();
  for (const auto& rollover : rollovers_) {
    rollover->start({replicas_, clients_, [this](NodeId member) -> const pbft::KeyRing& {
                       std::uint64_t replaced = 0;
                       for (const Ingredient& other : scenario_.ingredients) {
                         if (other.kind == IngredientKind::new_keys)
                           replaced |= std::uint64_t{1} << other.node;
                       }
                       return later_key_ring_of(member, scenario_.replicas(), replaced,
                                                scenario_.canary == Canary::keeps_old_keys);
                     }});
  }
}

RunResult World::run() {
  begin();
  TimePoint second_turn{};
  for (const Ingredient& ingredient : scenario_.ingredients) {
    if (trace_.is_on()) announce(ingredient);
    plan_accident(ingredient);
    if (ingredient.turn == 2) second_turn = ingredient.from;
  }
  if (scenario_.has_turns())
    scheduler_.at(second_turn, [this, second_turn] { begin_second_turn(second_turn); });
  const bool repeats = scenario_.has(IngredientKind::crashing_writes);
  const TimePoint end = scenario_.healed + kLivenessBound + kCallBound * scenario_.longest_queue() +
                        (repeats ? kRepetitionTime : Duration{});
  while (!finished() && scheduler_.now() < end && step()) {
  }
  check_end();
  if (checker_.ok() && scenario_.asks_for_liveness()) {
    const TimePoint until = std::max(scheduler_.now(), scenario_.quiet_from()) + kCatchUpTime +
                            (repeats ? kRepetitionTime : Duration{}) +
                            (scenario_.is_long ? kFetchPause : Duration{});
    const auto has_laggards = [this] {
      return scheduler_.now() < scenario_.healed || !laggard().empty();
    };
    // Not after each step: it costs more than a step.
    while ((steps_ % kStepsBetweenLooks != 0 || has_laggards()) && scheduler_.now() < until &&
           step()) {
    }
    if (checker_.ok() && !laggard().empty()) {
      checker_.fail(laggard() + ", long after the network has healed");
    }
  }
  if (!checker_.ok()) trace_.line("violation: " + checker_.violation());
  return {checker_.violation(), coverage()};
}

Coverage World::coverage() const {
  Coverage coverage;
  coverage.runs = 1;
  coverage.requests_ordered = checker_.ordered_requests();
  for (const auto& client : clients_)
    coverage.calls_agreed += client->agreed();
  for (const auto& replica : replicas_) {
    const pbft::ReplicaCounters& counters = replica->counters();
    coverage.checkpoints += counters.checkpoints_stable;
    coverage.views_entered += counters.views_entered;
    coverage.contents_fetched += counters.contents_fetched;
    coverage.batches_ahead += counters.batches_executed_ahead;
    coverage.batches_undone += counters.batches_undone;
    coverage.restarts += replica->restarts();
    coverage.states_restored += counters.states_restored;
    coverage.parts_fetched += counters.parts_fetched;
    coverage.bodies_fetched += counters.bodies_fetched;
    coverage.bodies_given_up += counters.bodies_given_up;
    for (std::size_t i = 0; i < kPrices; ++i) {
      coverage.price_peaks.at(i) =
          std::max(coverage.price_peaks.at(i), replica->price_peaks().at(i));
    }
  }
  coverage.runs_with_new_view = coverage.views_entered > 0 ? 1 : 0;
  coverage.frames = network_.frames();
  coverage.frames_dropped = network_.frames_dropped();
  coverage.connections_broken = network_.breaks();
  coverage.steps = steps_;
  coverage.lies_reached = lies_.reached();
  for (const auto& [node, host] : key_hosts_)
    coverage.keys_learnt += host->counters().keys_learnt;
  coverage.note(scenario_);
  return coverage;
}

void World::check_end() {
  if (!checker_.ok() || !scenario_.asks_for_liveness()) return;
  for (const auto& client : clients_) {
    if (!client->finished()) {
      checker_.fail(std::to_string(client->open_calls()) +
                    " calls of a client are not answered although the network has healed");
    }
  }
}

// Those that have stopped to misbehave are asked as well: their state was always right. Everybody
// has to have executed everything, to vote again, and to be in the same state.
std::string World::laggard() const {
  for (const auto& rollover : rollovers_) {
    if (!rollover->is_done()) return "the change of keys has not ended";
  }
  std::uint64_t highest = 0;
  for (const auto& replica : replicas_)
    highest = std::max(highest, replica->status().last_executed);
  const std::uint64_t faulty = scenario_.faulty_in_the_end();
  const Bytes expected = checker_.expected_state();
  for (NodeId node = 0; node < replicas_.size(); ++node) {
    const ReplicaHost& replica = *replicas_[node];
    const pbft::ReplicaStatus& status = replica.status();
    if (contains(faulty, node)) continue;
    const std::string who = "replica " + std::to_string(node);
    if (status.last_executed != highest) {
      return who + " has executed " + std::to_string(status.last_executed) + " batches of " +
             std::to_string(highest);
    }
    // A primary that misbehaves need not help it to the checkpoint that it waits for.
    if (status.silent_until > 0 && !contains(faulty, status.primary)) return who + " does not vote";
    // Before the first checkpoint there is nothing to recover from.
    if (status.last_stable == 0) continue;
    if (status.recovery != pbft::RecoveryState::none) return who + " has not recovered";
    if (replicas_[node]->ignores_service()) return who + " gives its service nothing";
    // With a smaller bound than the others' it may be unable to tell their state, or to hold it.
    const Ingredient* full = scenario_.find(IngredientKind::full_states, node);
    if (full != nullptr && full->fills_alone()) continue;
    // What nobody noticed shows at the next checkpoint.
    const auto unnoticed = unnoticed_at_.find(node);
    const bool is_wrong = unnoticed != unnoticed_at_.end();
    const std::uint64_t compared_at = std::min(status.last_stable, replica.told_at());
    if (is_wrong && compared_at <= unnoticed->second) continue;
    // Where f is greater than 1, f+1 others prove it wrong, and repair takes 2f: claims that were
    // lost are not repeated, and the next checkpoint may never come.
    if (is_wrong && scenario_.faults > 1) continue;
    if (services_[node]->state_without_blemishes() != expected) {
      return who + " is in another state";
    }
    // What honestly differs is repaired likewise, unless a faulty replica vouches for it.
    const bool is_vouched_for = scenario_.misbehaves(BehaviourKind::siding_roots) ||
                                scenario_.misbehaves(BehaviourKind::lying_roots);
    if (status.last_stable <= replica.differed_at() || is_vouched_for ||
        !scenario_.network_works()) {
      continue;
    }
    if (services_[node]->state() != expected) return who + " has not been repaired";
  }
  return "";
}

}  // namespace prophecy::simulation
