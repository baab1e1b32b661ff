#include "replica_client/core/health/origin_health.hpp"

#include <utility>

namespace prophecy::replica_client {
namespace {

std::string in_seconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<seconds>(duration).count()) + " s";
}

}  // namespace

std::string_view to_string(OriginState state) {
  switch (state) {
    case OriginState::ready:
      return "ready";
    case OriginState::drain:
      return "drain";
    case OriginState::maint:
      return "maint";
    case OriginState::down:
      return "down";
    case OriginState::quarantined:
      return "quarantined";
    case OriginState::slow:
      return "slow";
  }
  return "";
}

OriginHealth::OriginHealth(const HealthRules& rules, TimePoint now)
    : rules_(rules), availability_(rules), standing_(rules), slowness_(rules), since_(now) {}

void OriginHealth::on_check(bool passed, std::string_view detail, TimePoint now) {
  if (administration_ == Administration::maint) return;
  const bool was_up = is_up();
  availability_.on_check(passed, now);
  if (was_up && !is_up()) down_reason_ = "checks fail: " + std::string(detail);
  follow("checks pass", now);
}

void OriginHealth::on_evidence(const OriginEvidence& evidence, TimePoint now, double common) {
  if (administration_ == Administration::maint || evidence == OriginEvidence{}) return;
  const bool was_up = is_up();
  const auto standing_before = standing_.state();
  availability_.on_requests(evidence.good, evidence.bad, now, evidence.unreached, common);
  standing_.on_disputes(evidence.disputes, now);
  slowness_.on_reads(evidence.reads, evidence.slow, now);
  // Behind them: the one that was overturned may be new.
  if (evidence.vindicated > 0) standing_.on_vindicated(evidence.vindicated, now);
  if (was_up && !is_up()) {
    down_reason_ = "requests fail";
    if (!evidence.detail.empty()) down_reason_ += ": " + std::string(evidence.detail);
  }
  if (standing_.state() == Standing::State::quarantined &&
      standing_before != Standing::State::quarantined) {
    const bool again = standing_before == Standing::State::probation;
    quarantine_reason_ = std::string(again ? "lost a dispute on probation" : "lost disputes") +
                         ", sits out for " + in_seconds(standing_.term());
  }
  follow(evidence.vindicated > 0 ? "the group agreed on its answer later" : "sit-out is over", now);
}

void OriginHealth::on_time(TimePoint now) {
  if (drain_end_ && now >= *drain_end_) {
    drain_end_.reset();
    is_cut_ = true;
    administration_ = Administration::maint;
  }
  const bool was_up = is_up();
  availability_.on_time(now);
  standing_.on_time(now);
  slowness_.on_time(now);
  follow(was_up ? "sit-out is over" : "pause is over", now);
}

std::optional<double> OriginHealth::slow_share() const {
  return is_up() ? slowness_.share() : std::nullopt;
}

void OriginHealth::judge_slowness(double others, TimePoint now) {
  if (slowness_.state() == Slowness::State::slow) return;
  const bool on_trial = slowness_.state() == Slowness::State::trial;
  slowness_.judge(others, now);
  if (slowness_.state() != Slowness::State::slow) return;
  slow_reason_ = std::string(on_trial ? "still answers" : "answers") +
                 " much later than others, sits out for " + in_seconds(slowness_.term());
  follow({}, now);
}

void OriginHealth::set(Administration administration, std::string reason, TimePoint now,
                       std::optional<Duration> within) {
  // What was known before the maintenance says nothing about what comes back from it.
  if (administration_ == Administration::maint && administration != Administration::maint) {
    availability_ = Availability(rules_);
  }
  // Nor does what it disputed; and who says that an origin in quarantine is ready has looked at it.
  if (administration == Administration::ready && administration_ != Administration::drain) {
    standing_ = Standing(rules_);
    slowness_ = Slowness(rules_);
  }
  drain_end_ = within ? std::optional(now + *within) : std::nullopt;
  is_cut_ = false;
  administration_ = administration;
  operators_reason_ = std::move(reason);
  // Of a state that stays, too: the operator may give another reason.
  if (administration != Administration::ready) reason_ = operators_reason_;
  follow(operators_reason_, now);
}

void OriginHealth::follow(std::string_view cause, TimePoint now) {
  const OriginState before = std::exchange(state_, current());
  if (state_ == before) return;
  since_ = now;
  switch (state_) {
    case OriginState::drain:
    case OriginState::maint:
      reason_ = operators_reason_;
      break;
    case OriginState::down:
      reason_ = down_reason_;
      break;
    case OriginState::quarantined:
      reason_ = quarantine_reason_;
      break;
    case OriginState::slow:
      reason_ = slow_reason_;
      break;
    case OriginState::ready:
      reason_ = cause;
      break;
  }
}

OriginState OriginHealth::current() const {
  switch (administration_) {
    case Administration::drain:
      return OriginState::drain;
    case Administration::maint:
      return OriginState::maint;
    case Administration::ready:
      break;
  }
  if (!is_up()) return OriginState::down;
  if (standing_.state() == Standing::State::quarantined) return OriginState::quarantined;
  const bool slow = slowness_.state() == Slowness::State::slow;
  return slow ? OriginState::slow : OriginState::ready;
}

}  // namespace prophecy::replica_client
