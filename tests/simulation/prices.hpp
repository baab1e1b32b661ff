// `Prices` is the oracle of what one event may cause at one replica, what one sender may, what a
// second may cost, and how much memory a replica may take: the table of docs/protocol.md, section
// "Prices".
//
// A step is one event that a replica was handed, with all that it asked for in answer. Replicas
// that lie pay as well: what their core does is right.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>

#include "pbft/core/state/actions.hpp"
#include "simulation/cheap_keys.hpp"
#include "simulation/checker.hpp"
#include "simulation/memory_account.hpp"
#include "tests/support/bounds_table.hpp"

namespace prophecy::simulation {

enum class Price : std::uint8_t {
  part_bytes_per_step,
  frames_per_step,
  bytes_per_step,
  executions_per_step,
  written_bytes_per_step,
  signatures_per_step,
  signatures_made_per_step,
  replies_per_step,
  replies_per_second,
  signatures_of_strangers,
  tags_per_step,
  hashed_bytes_per_step,
  looks_per_step,
  looks_per_second,
  frames_per_second,
  tags_per_second,
  bytes_per_second,
  signatures_per_second,
  hashed_bytes_per_second,
  replica_bytes,
  growth_bytes,
  count_,
};
constexpr std::size_t kPrices = static_cast<std::size_t>(Price::count_);

// As the table names them.
constexpr std::array<std::string_view, kPrices> kPriceNames{
    "part-bytes-per-step",      "frames-per-step",        "bytes-per-step",
    "executions-per-step",      "written-bytes-per-step", "signatures-per-step",
    "signatures-made-per-step", "replies-per-step",       "replies-per-second",
    "signatures-of-strangers",  "tags-per-step",          "hashed-bytes-per-step",
    "looks-per-step",           "looks-per-second",       "frames-per-second",
    "tags-per-second",          "bytes-per-second",       "signatures-per-second",
    "hashed-bytes-per-second",  "replica-bytes",          "growth-bytes"};

// The highest that were paid, by Price.
using PricePeaks = std::array<std::uint64_t, kPrices>;

class Prices {
 public:
  // Without bounds nothing is checked.
  Prices(const Scenario& scenario, Checker& checker, NodeId replica);

  enum class Cause : std::uint8_t { member, stranger };
  void begin_step(Cause cause);
  // Of the step that has begun: who it was shows later.
  void set_cause(Cause cause) { cause_ = cause; }
  // How much of an event's actions its earlier steps have asked for.
  struct Asked {
    std::size_t sends = 0;
    std::size_t executions = 0;
    std::size_t writes = 0;
  };
  [[nodiscard]] static Asked asked_for(const pbft::ReplicaActions& actions) {
    return {actions.sends.size(), actions.executions.size(), actions.writes.size()};
  }
  // `looks` as the replica counts them.
  void end_step(const pbft::ReplicaActions& actions, std::uint64_t looks, TimePoint now,
                const Asked& before);
  // The process has ended, and remembers nothing.
  void forget();
  // While this replica's core is at work, what is allocated is its own.
  [[nodiscard]] MemoryUser use_memory() const { return MemoryUser(account_); }
  [[nodiscard]] const PricePeaks& peaks() const { return peaks_; }

 private:
  // One request: client, session, timestamp, and whether it is a read outside the order. A faulty
  // client may ask for both under one timestamp.
  using Request = std::tuple<NodeId, std::uint32_t, std::uint64_t, bool>;
  struct Replies {
    TimePoint since;
    std::uint64_t in_second = 0;
    std::uint64_t step = 0;
    std::uint64_t in_step = 0;
  };
  // What one second has cost so far.
  struct Second {
    TimePoint since;
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
    std::uint64_t tags = 0;
    std::uint64_t signatures = 0;
    std::uint64_t hashed = 0;
    std::uint64_t looks = 0;
  };

  void check(Price price, std::uint64_t number);
  [[nodiscard]] std::uint64_t sent_bytes(const pbft::ReplicaActions& actions, std::size_t first);
  void count_reply(const pbft::Outgoing& outgoing, TimePoint now);
  // Checks what the step that has just ended has cost, and the second with it.
  void check_second(TimePoint now, const Second& cost);
  void check_memory(TimePoint now);

  const Scenario& scenario_;
  std::array<std::uint64_t, kPrices> bounds_{};
  Checker& checker_;
  NodeId replica_;
  Cause cause_ = Cause::member;
  KeyWork before_{};
  std::uint64_t hashed_before_ = 0;
  std::uint64_t looks_before_ = 0;
  std::uint64_t steps_ = 0;
  std::map<Request, Replies> replies_;
  TimePoint strangers_since_{};
  std::uint64_t strangers_signatures_ = 0;
  Second second_;
  std::uint32_t account_;
  std::uint64_t others_bytes_;  // in that account when this began
  // Of a long run, the least memory that was in use in each part: whatever grows shows there.
  std::uint64_t least_early_ = UINT64_MAX;
  std::uint64_t least_late_ = UINT64_MAX;
  TimePoint late_since_{};
  PricePeaks peaks_{};
};

}  // namespace prophecy::simulation
