// Whether an origin answers at all, by checks and by what requests met. States:
//
//   up --(fall checks fail | failures_max requests fail)--> down --(rise checks pass)--> up
//
// What requests met takes an origin out for a pause at least, for its checks may pass meanwhile;
// without checks it is up again when the pause is over. One that comes back is on trial: the first
// failure that no success makes up for takes it out again, for twice as long, up to pause_max.
//
// Failures that all origins have are no origin's fault: a client's own fields, or a URL, may make
// each of them fail. Such a share of the failures is not counted. GroupHealth hands it in as the
// (f+1)-th smallest share of the group, which f faulty origins cannot raise above that of the worst
// correct one.
//
// Deterministic; not thread-safe. Time never goes back from call to call.
#pragma once

#include <cstdint>
#include <optional>

#include "replica_client/core/health/rules.hpp"

namespace prophecy::replica_client {

class Availability {
 public:
  enum class State : std::uint8_t { up, down };

  explicit Availability(const HealthRules& rules) : rules_(rules) {}

  void on_check(bool passed, TimePoint now);
  // Requests since the last call. `unreached` of the bad ones never got to the origin: no request's
  // content brings that about. `common` is the share of the others that fails at other origins as
  // well. What comes while it is down was under way, and says nothing new.
  void on_requests(std::uint64_t good, std::uint64_t bad, TimePoint now,
                   std::uint64_t unreached = 0, double common = 0);
  // The share of its requests of late that failed; nothing when it is down, or there were too few.
  [[nodiscard]] std::optional<double> failure_share() const;
  void on_time(TimePoint now);

  [[nodiscard]] State state() const { return state_; }

 private:
  void forget_old_requests(TimePoint now);
  void go_down();
  void go_up(TimePoint now);

  HealthRules rules_;
  State state_ = State::up;
  std::uint32_t passed_ = 0;  // checks, in a row
  std::uint32_t failed_ = 0;  // likewise
  double failures_ = 0;       // of requests, less successes and common ones; below failures_max
  std::uint64_t requests_of_late_ = 0;
  std::uint64_t failures_of_late_ = 0;
  TimePoint halved_at_{};
  TimePoint last_failure_{};
  bool paused_ = false;  // down because of requests
  TimePoint pause_end_{};
  Duration pause_{};  // the last one; zero when it is forgotten
  TimePoint trial_end_{};
};

}  // namespace prophecy::replica_client
