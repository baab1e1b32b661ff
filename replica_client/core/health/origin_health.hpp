// One origin of a group as health sees it: what its operator says, whether it answers, and whether
// its word is worth asking for. The three are apart, since an origin that is down may be in
// quarantine as well; the state that is shown is the first of these that holds:
//
//   maint, drain (the operator's)   down (Availability)   quarantined (Standing)
//   slow (Slowness)   ready
//
// Only what is ready is drawn for fast reads, but for the group's minimum (group_health.hpp). No
// state takes a replica out of agreement.
//
// Deterministic; not thread-safe. Time never goes back from call to call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "replica_client/core/health/availability.hpp"
#include "replica_client/core/health/slowness.hpp"
#include "replica_client/core/health/standing.hpp"

namespace prophecy::replica_client {

enum class OriginState : std::uint8_t { ready, drain, maint, down, quarantined, slow };
constexpr std::size_t kOriginStateCount = 6;
[[nodiscard]] std::string_view to_string(OriginState state);

// What the operator wants of an origin.
enum class Administration : std::uint8_t {
  ready,
  drain,  // no new fast reads; with a time, `maint` when that is over
  maint,  // nor checks; what requests meet there is not held against it
};

// What an operator changes about one origin; what is absent stays as it is.
struct OriginChange {
  std::optional<Administration> administration{};
  std::optional<std::uint32_t> weight{};  // from 1 to kWeightMax
  std::optional<Duration> within{};       // with `drain`: then what is left there is cut
  std::string reason{};                   // of the administration
};

// Requests to an origin since it was asked last; how fast reads and votes ended.
struct OriginEvidence {
  std::uint64_t good = 0;
  std::uint64_t bad = 0;
  std::uint64_t unreached = 0;   // of these, those that were not sent
  std::uint64_t disputes = 0;    // lost
  std::uint64_t reads = 0;       // fast reads whose time is known, at least in part
  std::uint64_t slow = 0;        // of these, those that were slow
  std::uint64_t vindicated = 0;  // answers that had lost one, and that the group agreed on later
  // As what most of the bad ones failed: a static token; may be empty.
  std::string_view detail{};

  friend bool operator==(const OriginEvidence&, const OriginEvidence&) = default;
};

class OriginHealth {
 public:
  OriginHealth(const HealthRules& rules, TimePoint now);

  // `detail`: why the check failed, as a short token.
  void on_check(bool passed, std::string_view detail, TimePoint now);
  // `common`: the share of requests that fail at other origins as well.
  void on_evidence(const OriginEvidence& evidence, TimePoint now, double common = 0);
  void on_time(TimePoint now);
  // The share of its requests that failed; nothing while that is not known, or it is not up.
  [[nodiscard]] std::optional<double> failure_share() const {
    return availability_.failure_share();
  }
  // The share of its fast reads that were slow; nothing while that is not known, or it is not up.
  [[nodiscard]] std::optional<double> slow_share() const;
  // Compares that with the share of others.
  void judge_slowness(double others, TimePoint now);
  // `ready` ends a quarantine, a probation and a sit-out of a slow one, unless it ends a drain.
  // A drain ends in maintenance `within` a time, if there is one.
  void set(Administration administration, std::string reason, TimePoint now,
           std::optional<Duration> within = std::nullopt);

  [[nodiscard]] OriginState state() const { return state_; }
  [[nodiscard]] Administration administration() const { return administration_; }
  // The end of a drain with a time.
  [[nodiscard]] std::optional<TimePoint> drain_end() const { return drain_end_; }
  // In maintenance by that end: what is under way there is cut.
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  [[nodiscard]] TimePoint since() const { return since_; }
  // Why it is in this state, for people.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] bool on_probation() const {
    return standing_.state() == Standing::State::probation;
  }

 private:
  // Brings the state up to date. `cause` becomes the reason if that makes it ready.
  void follow(std::string_view cause, TimePoint now);
  [[nodiscard]] bool is_up() const { return availability_.state() == Availability::State::up; }
  [[nodiscard]] OriginState current() const;

  HealthRules rules_;
  Administration administration_ = Administration::ready;
  std::optional<TimePoint> drain_end_;
  bool is_cut_ = false;
  Availability availability_;
  Standing standing_;
  Slowness slowness_;
  OriginState state_ = OriginState::ready;
  TimePoint since_;
  std::string reason_ = "started";
  // One of them becomes the reason when what stood in front of it ends.
  std::string operators_reason_;
  std::string down_reason_;
  std::string quarantine_reason_;
  std::string slow_reason_;
};

}  // namespace prophecy::replica_client
