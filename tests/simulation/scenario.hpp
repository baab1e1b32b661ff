// What a seed stands for: the size of the group, its settings, the faults of nodes and network,
// and the load. Nothing of it changes during a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "pbft/core/settings.hpp"
#include "simulation/random.hpp"

namespace prophecy::simulation {

// A deliberate defect, to show that the checks find it.
enum class Canary : std::uint8_t {
  none,
  small_quorum,          // one vote fewer, and a primary that proposes two batches at one number
  double_execution,      // a correct replica executes an operation twice
  wrong_result,          // f+1 replicas get a wrong result from their service
  lost_write,            // f+1 replicas' services forget an append they confirmed
  small_view_change,     // views begin with f+1 view-change messages, beside a replica that lies
  reply_accepted_early,  // a client is content with one reply, beside a replica that lies
};

struct NetworkPlan {
  std::uint64_t loss_percent = 0;
  std::uint64_t repeat_percent = 0;
  std::uint64_t corrupt_percent = 0;
  std::uint64_t late_percent = 0;  // delayed far behind later messages
  Duration delay_max = milliseconds(2);
};

struct PartitionPlan {
  TimePoint from;
  TimePoint until;
  std::uint64_t cut_off = 0;  // bits of replicas that hear each other and nobody else
};

struct CrashPlan {
  NodeId replica = 0;
  TimePoint at;
};

struct Scenario {
  std::uint32_t faults = 1;
  [[nodiscard]] std::uint32_t replicas() const { return 3 * faults + 1; }

  pbft::ReplicaSettings replica;
  NetworkPlan network;
  std::vector<PartitionPlan> partitions;
  std::vector<CrashPlan> crashes;
  std::uint64_t byzantine = 0;        // bits of replicas
  std::optional<NodeId> equivocator;  // of them, one that proposes two histories as primary
  std::uint64_t read_failures = 0;    // bits of replicas whose service fails reads at times
  bool linearizable_reads = false;
  std::uint32_t clients = 1;
  std::uint32_t sessions = 2;  // of each client
  std::uint32_t calls = 20;    // of each client
  std::uint64_t append_percent = 50;
  std::uint64_t read_only_percent = 50;  // of the reads
  std::uint64_t impatient_percent = 0;   // calls with a short deadline, or cancelled
  std::uint64_t large_percent = 20;      // results that only one replica sends
  TimePoint healed;                      // from here on the network only delays
  Canary canary = Canary::none;

  // Of a defect, nothing but that it is found is asked.
  [[nodiscard]] bool asks_for_liveness() const { return canary != Canary::small_quorum; }
  [[nodiscard]] bool is_byzantine(NodeId replica_id) const {
    return ((byzantine >> replica_id) & 1) != 0;
  }
};

[[nodiscard]] Scenario make_scenario(std::uint64_t seed, Canary canary);
[[nodiscard]] std::string describe(const Scenario& scenario);

}  // namespace prophecy::simulation
