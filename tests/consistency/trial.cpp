// The end of some runs of `World`: correct origins agree, nothing but liars fails, budgets have
// been paid for. Reads of all modes have to be served while the liars are silent. Then each liar
// lies openly, and has to be named.
#include <algorithm>

#include "base/assert.hpp"
#include "consistency/world.hpp"

namespace prophecy::consistency {
namespace {

constexpr std::size_t kServed = 20;
constexpr std::int64_t kBudgetsPaidMs = 3600LL * 1000;
// Calls to the group take place for reads that fail: votes alone show these liars.
constexpr std::uint64_t kVotesFailingPercent = 30;

}  // namespace

void World::hold_trial() {
  tally_.add(Met::trials);
  clock_ms_ += kBudgetsPaidMs;
  is_clock_still_ = false;
  for (Key key = 0; key < settings_.keys; ++key) {
    for (const bool is_head : {false, true}) {
      const auto outcome = table_.set_mark(key_of(key, is_head), Mark::none);
      ASSERT(outcome == ChangeOutcome::done);
    }
  }
  Liars& liars = service_->origins().liars();
  liars.become_silent();
  trial_ = Trial::of_service;
  serve(kServed);
  const bool is_listed = std::any_of(settings_.listed.begin(), settings_.listed.end(),
                                     [](Mark mark) { return mark != Mark::none; });
  if (violation() || !settings_.can_name_liars() || is_listed) return;
  liars.become_bold();
  trial_ = Trial::of_liars;
  if (!liars.lies_to_reads()) failing_percent_ = kVotesFailingPercent;
  accusation_.begin_trial();
  if (!name_liars(cost_.bound("reads-to-a-name"))) accusation_.check_named();
}

Wanted World::trial_wanted() {
  Wanted wanted = Wanted::plain_read(settings_, random_);
  if (trial_ == Trial::of_liars) return wanted;
  wanted.listed = settings_.listed[wanted.key];
  wanted.is_head = settings_.has_heads && random_.chance(30);
  if (settings_.has_modes && random_.chance(50)) {
    wanted.mode = random_.chance(50) ? sketcher::RouteMode::observe : sketcher::RouteMode::off;
  }
  return wanted;
}

void World::serve(std::size_t reads) {
  for (std::size_t i = 0; i < reads && !violation(); ++i)
    run_trial_read();
}

bool World::name_liars(std::size_t reads) {
  for (std::size_t i = 0; i < reads && !violation(); ++i) {
    run_trial_read();
    if (accusation_.has_named_all()) return true;
  }
  return violation().has_value();
}

// From its beginning to its end, and what it leads to.
void World::run_trial_read() {
  using Phase = SimulatedClient::Phase;
  SimulatedClient& client = *clients_[random_.below(clients_.size())];
  client.advance(Phase::trial);
  const std::size_t events_max = cost_.bound("events-to-an-end");
  for (std::size_t i = 0; i < events_max; ++i) {
    pass_time();
    if (client.is_idle() && i >= 8) return;
    client.advance(Phase::calm);
    service_->advance();
    any_worker().advance();
  }
  note_endless();
}

}  // namespace prophecy::consistency
