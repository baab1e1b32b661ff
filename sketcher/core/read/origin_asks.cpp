#include "sketcher/core/read/origin_asks.hpp"

#include <bit>
#include <utility>

#include "sketcher/core/read/mutation.hpp"

namespace prophecy::sketcher {

using http::ExchangeEnd;
using Kind = ReadAction::Kind;

void OriginAsks::start(ReadGroup& group, RequestCounters& counters, Failing failing, bool hedged,
                       const replica_client::FastForm& asked, TimePoint now) {
  group_ = &group;
  counters_ = &counters;
  failing_ = failing;
  hedged_ = hedged;
  asked_ = asked;
  in_pieces_ = false;
  tried_ = delayed_ = 0;
  if (hedged) {
    if (const auto delay = group.hedges().on_read()) {
      hedge_armed_ = true;
      actions_.add({.kind = Kind::arm_hedge, .delay = *delay});
    }
  }
  const auto replica = group.draw(tried_);
  ASSERT(replica.has_value());
  ask(0, *replica, now);
}

void OriginAsks::ask(std::uint8_t slot, NodeId replica, TimePoint now) {
  asks_[slot] = {.active = true, .replica = replica, .since = now};
  tried_ |= replica_client::bit_of(replica);
  actions_.add({.kind = Kind::ask_origin, .slot = slot, .replica = replica});
}

void OriginAsks::cancel(std::uint8_t slot) {
  if (std::exchange(asks_[slot].active, false)) actions_.add(Kind::cancel_origin, slot);
}

void OriginAsks::disarm_hedge() {
  if (std::exchange(hedge_armed_, false)) actions_.add(Kind::disarm_hedge);
}

void OriginAsks::cancel() {
  disarm_hedge();
  cancel(0);
  cancel(1);
}

void OriginAsks::give_up(const std::array<ExchangeEnd, kSlots>& ends) {
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    if (asks_[slot].active) count(asks_[slot].replica, ends[slot]);
  }
  cancel();
}

void OriginAsks::on_hedge_time(TimePoint now) {
  hedge_armed_ = false;
  const auto replica = group_->draw_healthy(tried_ | delayed_);
  if (!replica) return;
  if (!is_mutated(Mutation::hedges_unpaid) && !group_->hedges().take()) return;
  counters_->hedged.add();
  ask(1, *replica, now);
}

OriginAsks::Step OriginAsks::on_end(std::uint8_t slot, ExchangeEnd end, TimePoint now) {
  asks_[slot].active = false;
  const bool is_whole = end == ExchangeEnd::answered && !in_pieces_;
  if (is_whole) {
    decide(slot, now);
  } else {
    count(asks_[slot].replica, end);
  }
  if (end == ExchangeEnd::delayed) note_delayed(slot);
  if (asks_[1 - slot].active) return Step::waits;
  if (slot == 1 && !is_whole && is_mutated(Mutation::hedge_lost)) return Step::waits;
  disarm_hedge();
  const bool is_over = in_pieces_ || end == ExchangeEnd::answered || !is_replaced(end);
  return is_over || !ask_another(now) ? Step::over : Step::waits;
}

// From here on it is put behind no others.
void OriginAsks::note_delayed(std::uint8_t slot) {
  const auto bit = replica_client::bit_of(asks_[slot].replica);
  tried_ &= ~bit;
  if (is_mutated(Mutation::delayed_again)) return;
  delayed_ |= bit;
  asked_.is_alone = true;
}

void OriginAsks::on_pieces(std::uint8_t slot, TimePoint now) {
  if (!std::exchange(in_pieces_, true)) decide(slot, now);
}

OriginAsks::Step OriginAsks::reject(std::uint8_t slot, TimePoint now) {
  cancel(slot);
  in_pieces_ = false;
  return on_end(slot, ExchangeEnd::malformed, now);
}

void OriginAsks::decide(std::uint8_t slot, TimePoint now) {
  disarm_hedge();
  const auto other = static_cast<std::uint8_t>(1 - slot);
  if (hedged_) {
    note_latency(asks_[slot], now);
    if (asks_[other].active) note_latency(asks_[other], now);
    if (slot == 1) {
      counters_->hedges_won.add();
      if (asks_[other].active) group_->counters(asks_[other].replica).overtaken.add();
    }
  }
  if (!asks_[other].active) return;
  // It was only slower: it may be asked again should the winner's answer be refused.
  tried_ &= ~replica_client::bit_of(asks_[other].replica);
  cancel(other);
}

void OriginAsks::note_latency(const Ask& ask, TimePoint now) {
  const Duration latency = now - ask.since;
  replica_client::HedgePolicy& hedges = group_->hedges();
  if (hedges.is_slow(latency)) group_->counters(ask.replica).slow.add();
  hedges.on_latency(ask.replica, latency);
}

// An answer that is too large is no fault of its origin: the others' are too large as well.
bool OriginAsks::is_replaced(ExchangeEnd end) const {
  if (is_mutated(Mutation::no_failover)) return false;
  if (failing_ == Failing::to_another) return end != ExchangeEnd::too_large;
  return http::is_unsent(end) || end == ExchangeEnd::stale || end == ExchangeEnd::broken ||
         end == ExchangeEnd::delayed;
}

bool OriginAsks::ask_another(TimePoint now) {
  if (is_mutated(Mutation::asks_without_bound)) tried_ = 0;
  const auto tried = static_cast<std::uint32_t>(std::popcount(tried_));
  const bool is_beyond_faults = tried > group_->faults();
  // No agreement follows a stream, and correct origins run out of places for streams, too.
  if (is_beyond_faults && !asked_.is_streamed) return false;
  const auto failed = tried_ | delayed_;
  const auto replica = is_beyond_faults ? group_->draw_healthy(failed) : group_->draw(failed);
  if (!replica) return false;
  ask(0, *replica, now);
  return true;
}

}  // namespace prophecy::sketcher
