#include "simulation/scenario.hpp"

#include <bit>
#include <sstream>

namespace prophecy::simulation {
namespace {

TimePoint at(std::uint64_t ms) {
  return TimePoint{} + milliseconds(ms);
}

// `count` different replicas that are not yet in `taken`.
std::uint64_t pick_replicas(Random& random, std::uint32_t replicas, std::uint32_t count,
                            std::uint64_t taken) {
  std::uint64_t picked = 0;
  while (static_cast<std::uint32_t>(std::popcount(picked)) < count) {
    const std::uint64_t bit = std::uint64_t{1} << random.below(replicas);
    if ((taken & bit) == 0) picked |= bit;
  }
  return picked;
}

void plan_faulty_nodes(Random& random, Scenario& scenario) {
  const auto faulty = static_cast<std::uint32_t>(random.between(0, scenario.faults));
  const auto byzantine = static_cast<std::uint32_t>(random.between(0, faulty));
  scenario.byzantine = pick_replicas(random, scenario.replicas(), byzantine, 0);
  std::uint64_t crashed =
      pick_replicas(random, scenario.replicas(), faulty - byzantine, scenario.byzantine);
  for (; crashed != 0; crashed &= crashed - 1) {
    scenario.crashes.push_back(
        {static_cast<NodeId>(std::countr_zero(crashed)), at(random.between(0, 400))});
  }
}

void plan_network(Random& random, Scenario& scenario) {
  if (random.chance(70)) {
    scenario.network.loss_percent = random.below(30);
    scenario.network.repeat_percent = random.below(10);
    scenario.network.corrupt_percent = random.below(10);
    scenario.network.late_percent = random.below(20);
  }
  scenario.network.delay_max = milliseconds(random.between(1, 10));
}

// Replicas that fall behind for good cannot come back yet (state transfer), so a plan either
// keeps all batches, and may cut off anybody, or cuts off only such as may fail altogether.
void plan_partitions(Random& random, Scenario& scenario) {
  const bool keeps_all = random.chance(60);
  std::uint64_t faulty = scenario.byzantine;
  for (const CrashPlan& crash : scenario.crashes)
    faulty |= std::uint64_t{1} << crash.replica;
  scenario.replica.retained_batches = keeps_all ? 512 : random.between(16, 32);
  const auto spare = scenario.faults - static_cast<std::uint32_t>(std::popcount(faulty));
  if (!keeps_all) {
    scenario.network.loss_percent = 0;
    scenario.network.corrupt_percent = 0;
    scenario.network.late_percent = 0;
  }
  const std::uint64_t count = random.below(3);
  const std::uint64_t victims =
      keeps_all ? 0 : pick_replicas(random, scenario.replicas(), spare, faulty);
  for (std::uint64_t i = 0; i < count; ++i) {
    PartitionPlan partition;
    const std::uint64_t from = random.below(400);
    partition.from = at(from);
    partition.until = at(from + random.between(50, 500));
    partition.cut_off = keeps_all ? random.below(std::uint64_t{1} << scenario.replicas()) : victims;
    scenario.partitions.push_back(partition);
  }
}

void plan_settings(Random& random, Scenario& scenario) {
  auto& settings = scenario.replica;
  settings.faults = scenario.faults;
  settings.batches_in_flight_max = static_cast<std::uint32_t>(random.between(1, 4));
  settings.partial_batches_in_flight_max =
      static_cast<std::uint32_t>(random.between(1, settings.batches_in_flight_max));
  settings.batch_requests_max = static_cast<std::uint32_t>(random.between(1, 8));
  settings.checkpoint_interval = random.between(1, 6);
  settings.checkpoint_bytes = random.chance(30) ? random.between(10, 60) : 1 << 20;
  settings.window = settings.checkpoint_interval * random.between(2, 4);
  settings.view_change_timeout = milliseconds(random.between(100, 500));
  settings.view_change_timeout_max = seconds(4);
  if (random.chance(20)) settings.cached_reply_bytes_max = 8192;
}

void plan_load(Random& random, Scenario& scenario) {
  scenario.clients = static_cast<std::uint32_t>(random.between(1, 3));
  scenario.sessions = static_cast<std::uint32_t>(random.between(1, 4));
  scenario.calls = static_cast<std::uint32_t>(random.between(4, 40 / scenario.faults));
  scenario.append_percent = random.between(20, 90);
  scenario.read_only_percent = random.below(101);
  scenario.impatient_percent = random.chance(30) ? random.below(30) : 0;
  scenario.large_percent = random.below(60);
  scenario.linearizable_reads = random.chance(50);
  // A result that is forgotten cannot be had again: only where nobody waits for a large one.
  if (scenario.replica.cached_reply_bytes_max == 8192) scenario.large_percent = 0;
  // At most f of them: with f faulty ones, f+1 are left that answer.
  if (!scenario.linearizable_reads && random.chance(30)) {
    scenario.read_failures =
        pick_replicas(random, scenario.replicas(), scenario.faults, scenario.byzantine);
    for (const CrashPlan& crash : scenario.crashes) {
      scenario.read_failures &= ~(std::uint64_t{1} << crash.replica);
    }
  }
}

void plan_canary(Random& random, Scenario& scenario) {
  if (scenario.canary == Canary::none) return;
  scenario.faults = 1;
  scenario.replica.faults = 1;
  scenario.network = {};
  scenario.partitions.clear();
  scenario.crashes.clear();
  scenario.read_failures = 0;
  scenario.impatient_percent = 0;
  scenario.byzantine = 0;
  if (scenario.canary == Canary::small_quorum) {
    scenario.byzantine = 1;
    scenario.equivocator = 0;
  }
  if (scenario.canary == Canary::small_view_change) {
    scenario.network.loss_percent = 20;
    scenario.network.late_percent = 20;
    scenario.byzantine = pick_replicas(random, 4, 1, 0);
  }
  if (scenario.canary == Canary::reply_accepted_early) {
    scenario.byzantine = pick_replicas(random, 4, 1, 0);
  }
}

}  // namespace

Scenario make_scenario(std::uint64_t seed, Canary canary) {
  Random random(seed);
  Scenario scenario;
  scenario.canary = canary;
  const std::uint64_t size = random.below(100);
  scenario.faults = size < 60 ? 1 : size < 85 ? 2 : size < 95 ? 3 : 4;
  if (canary != Canary::none) scenario.faults = 1;
  plan_faulty_nodes(random, scenario);
  plan_network(random, scenario);
  plan_partitions(random, scenario);
  plan_settings(random, scenario);
  plan_load(random, scenario);
  if (random.chance(8)) {
    scenario.equivocator = 0;
    scenario.byzantine = 1;
    scenario.crashes.clear();
  }
  plan_canary(random, scenario);
  scenario.healed = at(1000);
  return scenario;
}

std::string describe(const Scenario& s) {
  std::ostringstream out;
  out << "n=" << s.replicas() << " byzantine=0x" << std::hex << s.byzantine << std::dec
      << (s.equivocator ? " (one equivocates)" : "") << " crashes=" << s.crashes.size()
      << " partitions=" << s.partitions.size() << " loss=" << s.network.loss_percent
      << "% corrupt=" << s.network.corrupt_percent << "% clients=" << s.clients << "x" << s.sessions
      << " calls=" << s.calls << " checkpoint=" << s.replica.checkpoint_interval
      << " window=" << s.replica.window << " retained=" << s.replica.retained_batches
      << (s.linearizable_reads ? " linearizable" : "");
  return out.str();
}

}  // namespace prophecy::simulation
