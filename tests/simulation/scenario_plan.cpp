#include "simulation/scenario_calm.hpp"
#include "simulation/scenario_long.hpp"
#include "simulation/scenario_planner.hpp"

namespace prophecy::simulation {
namespace {

// Of a batch at most, in the largest group, with the bodies that it names.
constexpr std::uint64_t kBatchBytes = 3000 + 8 * (kSimulatedPaddingMax + 64 + kSimulatedBodyCost);
// A small one, so that results are forgotten.
constexpr std::uint64_t kTightReplyCache = 8192;

}  // namespace

Ingredient& Planner::add(IngredientKind kind) {
  Ingredient ingredient;
  ingredient.kind = kind;
  return scenario_.ingredients.emplace_back(ingredient);
}

void Planner::add_share(IngredientKind kind, std::uint64_t percent) {
  if (percent > 0) add(kind).percent = percent;
}

void Planner::add_lateness(std::uint64_t percent, std::uint64_t longest_ms) {
  if (percent == 0) return;
  Ingredient& lateness = add(IngredientKind::lateness);
  lateness.percent = percent;
  lateness.offset = milliseconds(longest_ms);
}

void Planner::add_misconduct(NodeId node, BehaviourKind behaviour, std::uint64_t from,
                             std::uint64_t until) {
  Ingredient& ingredient = add(IngredientKind::misconduct);
  ingredient.node = node;
  ingredient.behaviour = behaviour;
  ingredient.from = at(from);
  if (until > 0) ingredient.until = at(until);
}

std::uint64_t Planner::pick(std::uint32_t wanted, std::uint64_t taken) {
  std::uint64_t picked = 0;
  while (count(picked) < wanted) {
    const std::uint64_t one = bit(static_cast<NodeId>(random_.below(scenario_.replicas())));
    if ((taken & one) == 0) picked |= one;
  }
  return picked;
}

BehaviourKind Planner::draw(BehaviourKind first, BehaviourKind end) {
  return static_cast<BehaviourKind>(
      random_.between(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(end) - 1));
}

void Planner::plan_size() {
  const std::uint64_t size = random_.below(100);
  scenario_.faults = size < 60 ? 1 : size < 85 ? 2 : size < 95 ? 3 : 4;
  if (subject_ == Subject::origins) scenario_.faults = size < 85 ? 1 : 2;
  if (scenario_.canary != Canary::none) scenario_.faults = 1;
}

void Planner::plan_settings() {
  auto& settings = scenario_.replica;
  settings.faults = scenario_.faults;
  settings.batches_in_flight_max = static_cast<std::uint32_t>(random_.between(1, 8));
  settings.partial_batches_in_flight_max =
      static_cast<std::uint32_t>(random_.between(1, settings.batches_in_flight_max));
  settings.batch_requests_max = static_cast<std::uint32_t>(random_.between(1, 8));
  settings.checkpoint_interval = random_.between(1, 6);
  settings.checkpoint_bytes = random_.chance(30) ? random_.between(10, 60) : 1 << 20;
  settings.window = settings.checkpoint_interval * random_.between(2, 4);
  // Operations by digest are larger, and read piece by piece then.
  if (random_.chance(50)) settings.operation_front_bytes = random_.between(1, kSimulatedLeafBytes);
  settings.retained_batches = random_.chance(50) ? 512 : random_.below(32);
  settings.tentative_execution = random_.chance(50);
  scenario_.ahead = random_.chance(80) ? UINT64_MAX : random_.next();
  settings.status_interval = milliseconds(random_.between(20, 60));
  settings.heartbeat_interval = milliseconds(random_.between(200, 1000));
  settings.view_change_timeout = milliseconds(random_.between(60, 500));
  settings.view_change_timeout_max = seconds(4);
  if (random_.chance(20)) settings.cached_reply_bytes_max = kTightReplyCache;
  if (random_.chance(20)) settings.queue_requests_max = random_.between(4, 40);
  if (random_.chance(20)) {
    settings.checkpoint_bytes = std::min<std::uint64_t>(settings.checkpoint_bytes, kBatchBytes);
    settings.log_bytes_max = 2 * settings.checkpoint_interval * kBatchBytes;
    settings.body_cost = kSimulatedBodyCost;
  }
  scenario_.delay_max = milliseconds(random_.between(1, 10));
  length_ = random_.chance(15) ? 4 : 1;
  healed_at_ms_ = length_ * 1000;
  scenario_.healed = at(healed_at_ms_);
}

void Planner::plan_faulty() {
  const auto faulty = static_cast<std::uint32_t>(random_.between(0, scenario_.faults));
  const auto lying = static_cast<std::uint32_t>(random_.between(0, faulty));
  liars_ = random_.chance(10) ? bit(0) : pick(lying, 0);  // the first primary more often
  const std::uint32_t left = faulty - std::min(faulty, count(liars_));
  crashed_ = pick(left > 0 ? static_cast<std::uint32_t>(random_.between(0, left)) : 0, liars_);
  for (std::uint64_t rest = crashed_; rest != 0; rest &= rest - 1) {
    Ingredient& crash = add(IngredientKind::crash);
    crash.node = static_cast<NodeId>(std::countr_zero(rest));
    crash.from = at(random_.between(0, 400 * length_));
  }
  plan_lies(liars_);
  plan_wrong_clock();
  plan_accidents();
}

void Planner::plan_lies(std::uint64_t liars) {
  for (std::uint64_t rest = liars; rest != 0; rest &= rest - 1) {
    const auto node = static_cast<NodeId>(std::countr_zero(rest));
    if (random_.chance(12)) {
      Ingredient& twins = add(IngredientKind::twins);
      twins.node = node;
      twins.offset = milliseconds(random_.between(20, 400));
      if (random_.chance(60)) continue;
    }
    const bool for_ever = random_.chance(60);
    const std::uint64_t several = random_.between(1, 4);
    for (std::uint64_t i = 0; i < several; ++i) {
      const bool lies = i == 0 || random_.chance(60);
      const BehaviourKind behaviour = lies ? draw_lie() : draw(BehaviourKind::silent, kFirstLie);
      const bool never_ends = for_ever || behaviour == BehaviourKind::lying_keys;
      const std::uint64_t from = random_.chance(50) ? 0 : random_.below(500 * length_);
      const std::uint64_t until = from + random_.between(50, 700 * length_);
      add_misconduct(node, behaviour, from, never_ends ? 0 : until);
      plan_occasion(behaviour, from);
    }
  }
}

// Beyond what the others tolerate, for a time or for good: one of the faulty.
void Planner::plan_wrong_clock() {
  if (count(liars_ | crashed_) >= scenario_.faults || !random_.chance(15)) return;
  Ingredient& clock = add(IngredientKind::wall_clock);
  clock.node = static_cast<NodeId>(std::countr_zero(pick(1, liars_ | crashed_)));
  clock.nodes = bit(clock.node);
  clock.offset = seconds(random_.between(9, 100));
  if (random_.chance(50)) clock.offset = -clock.offset;
  clock.from = at(random_.below(500 * length_));
  if (random_.chance(50)) clock.until = clock.from + milliseconds(random_.between(20, 600));
  liars_ |= bit(clock.node);
}

// As far as is tolerated, forth and back.
void Planner::plan_clock_steps() {
  if (!machines_.chance(20)) return;
  for (NodeId replica = 0; replica < scenario_.replicas(); ++replica) {
    if (contains(scenario_.liars(), replica) || machines_.chance(50)) continue;
    Ingredient& clock = add(IngredientKind::wall_clock);
    clock.node = replica;
    clock.nodes = bit(replica);
    clock.offset = milliseconds(machines_.below(3000)) - milliseconds(1500);
    clock.from = at(machines_.below(600 * length_));
    if (machines_.chance(70)) clock.until = clock.from + milliseconds(machines_.between(5, 600));
  }
}

// The new process has a clock that is set back, in half of the cases. It is drawn to the
// microsecond, as a clock that shows exactly what it showed when the earlier process began would
// give two requests one timestamp. Not where operations go by digest: a replica that alone has the
// body of a later request, whose client is no more, holds the place of its session, and asks no
// further.
void Planner::plan_client_restarts() {
  if (!machines_.chance(15)) return;
  for (std::uint64_t several = machines_.between(1, 3); several > 0; --several) {
    Ingredient& restart = add(IngredientKind::client_restart);
    restart.node = kFirstClientId + static_cast<NodeId>(machines_.below(scenario_.clients));
    restart.from = at(machines_.below(600 * length_));
    const bool has_bodies = scenario_.percent_of(IngredientKind::large_operations, at(0)) > 0;
    if (machines_.chance(50) && !has_bodies)
      restart.offset = -microseconds(machines_.between(1000, 3'000'000));
  }
}

// Handlers that crash, at each origin alike or at such that count as faulty; states that cannot be
// captured or restored for a while, at any replica; and states that are full.
void Planner::plan_origins() {
  const std::uint64_t all = scenario_.all_replicas();
  const std::uint64_t more_often = subject_ == Subject::origins ? 4 : 1;
  if (origins_.chance(12 * more_often)) {
    Ingredient& crashes = add(IngredientKind::crashing_writes);
    crashes.nodes = all;
    crashes.percent = origins_.between(2, 30);
    if (origins_.chance(40)) crashes.count = static_cast<std::uint32_t>(origins_.between(1, 4));
    if (origins_.chance(30)) crashes.offset = milliseconds(origins_.between(10, 400));
    const std::uint64_t faulty = faulty_with_disks();
    if (origins_.chance(40) && count(faulty) < scenario_.faults) {
      NodeId node = 0;
      do {
        node = static_cast<NodeId>(origins_.below(scenario_.replicas()));
      } while (contains(faulty, node));
      crashes.nodes = bit(node);
    }
    for (std::uint64_t rest = liars_; rest != 0; rest &= rest - 1) {
      if (origins_.chance(50)) continue;
      add_misconduct(static_cast<NodeId>(std::countr_zero(rest)), BehaviourKind::lying_states, 0,
                     0);
    }
  }
  if (origins_.chance(8 * more_often)) {
    Ingredient& untold = add(IngredientKind::untold_states);
    // At one: where none can tell its state, a group that then falls idle has none to give to a
    // replica that was started again, before the next checkpoint.
    untold.nodes = bit(static_cast<NodeId>(origins_.below(scenario_.replicas())));
    // Not from the beginning: without a first state a replica takes no part.
    untold.from = at(100 + origins_.below(300 * length_));
    untold.until = untold.from + milliseconds(origins_.between(50, 500 * length_));
  }
  const bool has_others = scenario_.has(IngredientKind::crashing_writes) ||
                          scenario_.has(IngredientKind::untold_states);
  const bool is_needed = subject_ == Subject::origins && !has_others;
  if (origins_.chance(12 * more_often) || is_needed) plan_full_states();
}

// At all replicas alike, or at one that counts as faulty: bounds that differ at more make groups
// with more than f faulty replicas.
void Planner::plan_full_states() {
  Ingredient full;
  full.kind = IngredientKind::full_states;
  full.nodes = scenario_.all_replicas();
  full.count = static_cast<std::uint32_t>(origins_.between(1, 12));
  if (origins_.chance(30)) full.raised_at = origins_.between(2, 40);
  std::uint64_t faulty = faulty_with_disks() | crashed_;
  for (const Ingredient& other : scenario_.ingredients) {
    if (other.kind == IngredientKind::misconduct) faulty |= bit(other.node);
    if (other.kind == IngredientKind::rotten_disk || other.kind == IngredientKind::untold_states ||
        other.kind == IngredientKind::crashing_writes) {
      faulty |= other.nodes;
    }
  }
  if (origins_.chance(30) && count(faulty) < scenario_.faults) {
    do {
      full.node = static_cast<NodeId>(origins_.below(scenario_.replicas()));
    } while (contains(faulty, full.node));
    full.nodes = bit(full.node);
  }
  scenario_.ingredients.push_back(full);
}

// One that can be told in this group.
BehaviourKind Planner::draw_lie() {
  if (scenario_.has_real_keys() && random_.chance(30)) return BehaviourKind::lying_keys;
  const BehaviourKind behaviour = draw(kFirstLie, BehaviourKind::lying_keys);
  // Where one is faulty, no other may lose its memory.
  const bool is_alone = scenario_.faults == 1 && behaviour == BehaviourKind::lying_pledges;
  return is_alone ? BehaviourKind::lying_silence : behaviour;
}

// For a lie that is told to those in need alone. Who it befalls is asked when it is time: one that
// loses its disk is one of the faulty.
void Planner::plan_occasion(BehaviourKind behaviour, std::uint64_t from) {
  const bool about_memory = behaviour == BehaviourKind::lying_pledges;
  const bool about_state =
      behaviour == BehaviourKind::lying_roots || behaviour == BehaviourKind::false_parts;
  if (!about_memory && !about_state) return;
  const std::uint64_t several = about_memory ? random_.between(2, 5) : 1;
  for (std::uint64_t i = 0; i < several; ++i) {
    Ingredient& occasion = add(about_memory || random_.chance(50) ? IngredientKind::lost_disk
                                                                  : IngredientKind::lost_service);
    occasion.node = static_cast<NodeId>(std::countr_zero(pick(1, liars_ | crashed_)));
    occasion.from = at(std::min(from + random_.below(500 * length_), healed_at_ms_ - 300));
    occasion.until = occasion.from + milliseconds(random_.between(10, 300));
  }
}

// Those that do not lie may change places.
void Planner::plan_misconduct_in_turn() {
  const std::uint32_t places = scenario_.faults - count(liars_ | crashed_);
  if (places == 0 || !random_.chance(60)) return;
  std::uint64_t from = random_.below(200);
  while (from < healed_at_ms_) {
    const std::uint64_t until = from + random_.between(50, 500);
    const std::uint64_t now = pick(places, liars_ | crashed_);
    const bool last = until >= healed_at_ms_;
    for (std::uint64_t rest = now; rest != 0; rest &= rest - 1) {
      const std::uint64_t several = random_.between(1, 2);
      for (std::uint64_t i = 0; i < several; ++i) {
        add_misconduct(static_cast<NodeId>(std::countr_zero(rest)),
                       draw(BehaviourKind::silent, kFirstLie), from,
                       last && random_.chance(60) ? 0 : until);
      }
    }
    from = until;
  }
}

void Planner::plan_network() {
  // Views end between a batch's two certificates.
  if (random_.chance(20)) {
    add_share(IngredientKind::lost_votes, random_.between(30, 90));
    scenario_.replica.view_change_timeout = milliseconds(random_.between(60, 150));
  }
  if (!random_.chance(70)) return;
  add_share(IngredientKind::repetition, random_.below(10));
  add_share(IngredientKind::loss, random_.below(30));
  add_share(IngredientKind::corruption, random_.below(10));
  add_lateness(random_.below(20), random_.chance(70) ? 80 : 1500);
}

void Planner::plan_partitions() {
  const std::uint64_t several = random_.below(2 + length_);
  for (std::uint64_t i = 0; i < several; ++i) {
    const std::uint64_t from = random_.below(400 * length_);
    const std::uint64_t until = from + random_.between(50, 500 * length_);
    const std::uint64_t cut_off = random_.below(std::uint64_t{1} << scenario_.replicas());
    if (cut_off == 0) continue;
    Ingredient& partition = add(IngredientKind::partition);
    partition.from = at(from);
    partition.until = at(until);
    partition.nodes = cut_off;
  }
}

// Disks that are intact make nobody faulty, so this may befall anybody, and all at once.
void Planner::plan_accidents() {
  const auto befall = [&](IngredientKind kind) -> Ingredient& {
    const std::uint64_t from = random_.below(healed_at_ms_ - 300);
    Ingredient& accident = add(kind);
    accident.node = static_cast<NodeId>(random_.below(scenario_.replicas()));
    accident.from = at(from);
    accident.until = at(from + random_.between(10, 300));
    return accident;
  };
  if (random_.chance(40)) {
    const std::uint64_t several = random_.between(1, 5);
    for (std::uint64_t i = 0; i < several; ++i)
      befall(IngredientKind::restart);
  }
  if (random_.chance(25)) {
    Ingredient& dark = befall(IngredientKind::power_loss);
    const std::uint64_t all = scenario_.all_replicas();
    dark.nodes = random_.chance(50) ? all : random_.next() & all;
  }
  if (random_.chance(30)) {
    const std::uint64_t several = random_.between(1, 3);
    for (std::uint64_t i = 0; i < several; ++i)
      befall(IngredientKind::lost_disk);
  }
  if (random_.chance(20)) befall(IngredientKind::lost_service);
  if (scenario_.faults > count(liars_ | crashed_) && random_.chance(20)) {
    Ingredient& wrong = befall(IngredientKind::wrong_service);
    wrong.node = static_cast<NodeId>(std::countr_zero(pick(1, liars_ | crashed_)));
    wrong.until = TimePoint::max();
    liars_ |= bit(wrong.node);
  }
}

void Planner::plan_clocks() {
  if (!random_.chance(70)) return;
  const auto skew = [&](NodeId node) {
    Ingredient& clock = add(IngredientKind::clock);
    clock.node = node;
    clock.offset = milliseconds(random_.below(10'000));
    clock.drift_ppm = static_cast<std::int64_t>(random_.below(40'001)) - 20'000;
  };
  for (NodeId replica = 0; replica < scenario_.replicas(); ++replica) {
    if (random_.chance(70)) skew(replica);
  }
  for (NodeId client = 0; client < scenario_.clients; ++client)
    skew(kFirstClientId + client);
}

void Planner::plan_load() {
  scenario_.clients = static_cast<std::uint32_t>(random_.between(1, 3));
  scenario_.sessions = static_cast<std::uint32_t>(random_.between(1, 4));
  scenario_.append_percent = random_.between(20, 90);
  scenario_.read_only_percent = random_.below(101);
  scenario_.linearizable_reads = random_.chance(50);
  for (NodeId client = 0; client < scenario_.clients; ++client) {
    std::uint64_t left = random_.between(4, 40 * length_ / scenario_.faults);
    while (left > 0) {
      Ingredient& calls = add(IngredientKind::calls);
      calls.node = kFirstClientId + client;
      calls.count = static_cast<std::uint32_t>(std::min(left, random_.between(2, 12)));
      calls.from = at(random_.below(600 * length_));
      calls.until = calls.from + milliseconds(random_.between(10, 400));
      left -= calls.count;
    }
  }
  // A result that is forgotten cannot be had again: only where nobody waits for a large one.
  if (scenario_.replica.cached_reply_bytes_max != kTightReplyCache) {
    add_share(IngredientKind::large_results, random_.below(60));
  }
  if (random_.chance(60)) add_share(IngredientKind::large_operations, random_.below(80));
  if (random_.chance(30)) add_share(IngredientKind::impatience, random_.below(30));
}

// Together with the faulty ones at most f: a reply that only one correct replica could give is lost
// to another one that comes by its state through a transfer.
void Planner::plan_read_failures() {
  if (!random_.chance(30)) return;
  std::uint64_t faulty = scenario_.faulty_in_the_end() | scenario_.liars();
  for (const Ingredient& ingredient : scenario_.ingredients) {
    if (ingredient.kind == IngredientKind::lost_disk) faulty |= bit(ingredient.node);
  }
  if (count(faulty) >= scenario_.faults) return;
  add(IngredientKind::read_failures).nodes = pick(scenario_.faults - count(faulty), faulty);
}

// At all of them alike, as a large write is, or at some.
void Planner::plan_slow_services() {
  if (!machines_.chance(15)) return;
  const std::uint64_t all = scenario_.all_replicas();
  Ingredient& slow = add(IngredientKind::slow_service);
  slow.nodes = machines_.chance(60) ? all : machines_.next() & all;
  slow.percent = machines_.between(2, 20);
  slow.offset = milliseconds(machines_.between(500, 2500));
  slow.from = at(machines_.below(400 * length_));
  slow.until = slow.from + milliseconds(machines_.between(100, 600 * length_));
}

// A disk that has failed once may refuse for good. Of what the group has promised it keeps too
// little, so that together with the faulty ones it is at most f. Not from the beginning: without a
// first state on its disk a replica takes no part.
void Planner::plan_refusing_disks() {
  const std::uint64_t faulty = faulty_with_disks();
  if (count(faulty) >= scenario_.faults || !machines_.chance(30)) return;
  std::uint64_t nodes = faulty;
  while (count(nodes) < scenario_.faults)
    nodes |= bit(static_cast<NodeId>(machines_.below(scenario_.replicas())));
  Ingredient& disk = add(IngredientKind::refusing_disk);
  disk.nodes = nodes & ~faulty;
  disk.from = at(100 + machines_.below(400 * length_));
  if (machines_.chance(60)) {
    disk.until = disk.from + milliseconds(machines_.between(100, 1000 * length_));
  }
}

std::uint64_t Planner::faulty_with_disks() const {
  std::uint64_t faulty = scenario_.faulty_in_the_end() | scenario_.liars();
  for (const Ingredient& ingredient : scenario_.ingredients) {
    if (ingredient.kind == IngredientKind::lost_disk) faulty |= bit(ingredient.node);
    const bool of_several = ingredient.kind == IngredientKind::read_failures ||
                            ingredient.kind == IngredientKind::refusing_disk;
    if (of_several) faulty |= ingredient.nodes;
  }
  return faulty;
}

// What lay there is gone, at any time. Together with the faulty ones at most f: the others have it.
void Planner::plan_rotten_disks() {
  const std::uint64_t faulty = faulty_with_disks();
  if (count(faulty) >= scenario_.faults || !disks_.chance(40)) return;
  NodeId node = 0;
  do {
    node = static_cast<NodeId>(disks_.below(scenario_.replicas()));
  } while (contains(faulty, node));
  for (std::uint64_t several = disks_.between(1, 3); several > 0; --several) {
    Ingredient& rot = add(IngredientKind::rotten_disk);
    rot.nodes = bit(node);
    rot.percent = disks_.between(1, 60);
    rot.from = at(disks_.below(healed_at_ms_));
  }
}

// For longer than any time-out, or in short.
void Planner::plan_stalled_disks() {
  if (!disks_.chance(15)) return;
  const std::uint64_t all = scenario_.all_replicas();
  for (std::uint64_t several = disks_.between(1, 3); several > 0; --several) {
    Ingredient& stall = add(IngredientKind::stalled_disk);
    stall.nodes = disks_.between(1, all);
    stall.from = at(disks_.below(healed_at_ms_));
    const bool is_long = disks_.chance(20);
    stall.until = stall.from + milliseconds(is_long ? 10'000 : disks_.between(20, 1000));
  }
}

// For longer than any time-out, or in short.
void Planner::plan_halts() {
  if (!halts_.chance(15)) return;
  const std::uint64_t all = scenario_.all_replicas();
  for (std::uint64_t several = halts_.between(1, 3); several > 0; --several) {
    Ingredient& halted = add(IngredientKind::halted);
    halted.nodes = halts_.chance(50) ? all : halts_.between(1, all);
    halted.from = at(halts_.below(healed_at_ms_));
    halted.until = halted.from + milliseconds(halts_.between(20, halts_.chance(20) ? 5000 : 1000));
  }
}

// The links carry as little as a trickle, or so much that nobody is held up. Replicas behind a
// trickle are as good as cut off, which plan_unmarked_disks() has no use for.
void Planner::plan_narrow_links() {
  if (scenario_.has(IngredientKind::unmarked_disks) || !links_.chance(15)) return;
  const std::uint64_t all = scenario_.all_replicas();
  Ingredient& links = add(IngredientKind::narrow_links);
  links.nodes = links_.chance(50) ? all : links_.between(1, all);
  links.count = static_cast<std::uint32_t>(8 << links_.below(8));
  links.offset = milliseconds(links_.between(20, 800));
  if (links_.chance(50)) links.percent = links_.between(1, 4);
  links.from = at(links_.below(500 * length_));
  links.until = at(healed_at_ms_);
}

// A replica that is cut off from the others while they come together, or begins once more, is taken
// for one that has lost its memory; and so is one to which a faulty replica has not pledged what it
// pledged to another.
void Planner::plan_unmarked_disks() {
  const bool is_apart = std::any_of(
      scenario_.ingredients.begin(), scenario_.ingredients.end(), [](const Ingredient& other) {
        return other.kind == IngredientKind::partition || other.kind == IngredientKind::crash ||
               other.kind == IngredientKind::restart || other.kind == IngredientKind::power_loss ||
               other.kind == IngredientKind::lost_disk || other.kind == IngredientKind::twins ||
               (other.kind == IngredientKind::misconduct &&
                (other.behaviour == BehaviourKind::lying_silence ||
                 other.behaviour == BehaviourKind::lying_pledges ||
                 other.behaviour == BehaviourKind::mutating));
      });
  if (is_apart || !machines_.chance(60)) return;
  Ingredient& disks = add(IngredientKind::unmarked_disks);
  disks.nodes = machines_.next() & scenario_.all_replicas();
  disks.offset = milliseconds(machines_.below(1500));
  // A stall or a halt holds up the assembly of some for longer than the others wait, and these have
  // lost their memory then: with a faulty one beside them too many.
  const std::uint64_t all = scenario_.all_replicas();
  const bool are_held_up = std::any_of(
      scenario_.ingredients.begin(), scenario_.ingredients.end(), [all](const Ingredient& other) {
        return other.kind == IngredientKind::stalled_disk ||
               (other.kind == IngredientKind::halted && other.nodes != all);
      });
  if (are_held_up) scenario_.ingredients.pop_back();
}

Scenario Planner::plan() {
  plan_size();
  plan_settings();
  plan_load();
  plan_faulty();
  plan_misconduct_in_turn();
  plan_network();
  plan_partitions();
  plan_clocks();
  plan_read_failures();
  plan_bad_clients();
  plan_slow_services();
  plan_refusing_disks();
  plan_rotten_disks();
  plan_stalled_disks();
  plan_halts();
  plan_unmarked_disks();
  plan_strangers();
  plan_clock_steps();
  plan_client_restarts();
  plan_origins();
  plan_narrow_links();
  plan_shared_session();
  plan_accomplices();
  if (scenario_.canary != Canary::none) {
    plan_canary();
  } else if (subject_ == Subject::origins) {
    // No scene leaves it out.
  } else if (is_long(scenario_.seed)) {
    set_long_scene(scenario_);
  } else {
    set_scene(scenario_);
  }
  scenario_.number_ingredients();
  return std::move(scenario_);
}

Scenario make_scenario(std::uint64_t seed, Canary canary, Subject subject) {
  return Planner(seed, canary, subject).plan();
}

}  // namespace prophecy::simulation
