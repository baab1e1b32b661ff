// The part of World that counts what was met, and reports what only the whole of it shows.
#include "consistency/world.hpp"

namespace prophecy::consistency {

void World::check_sizes() {
  cost_.check("read-machine-bytes", sizeof(sketcher::ReadMachine));
  cost_.check("body-relay-bytes", sizeof(sketcher::BodyRelay));
  cost_.check("group-core-bytes", sizeof(sketcher::GroupCore));
}

void World::note_endless() {
  std::string what = "service: not answered within the bound of events-to-an-end:";
  for (const auto& client : clients_) {
    if (!client->is_idle()) what += " " + client->describe();
  }
  breach_.note(what);
}

void World::count_all() {
  tally_.add(Met::fast, counters_.answered_fast.get());
  tally_.add(Met::out_of_date, counters_.out_of_date.get());
  tally_.add(Met::coalesced, counters_.coalesced.get());
  tally_.add(Met::group_restarts, counters_.group_restarts.get());
  tally_.add(Met::unsketchable, counters_.unsketchable.get());
  tally_.add(Met::hedged, counters_.hedged.get());
  tally_.add(Met::hedges_won, counters_.hedges_won.get());
  tally_.add(Met::over_budget, counters_.over_budget.get());
  tally_.add(Met::blocks_begun, large_.begun.get());
  tally_.add(Met::blocks_completed, large_.completed.get());
  tally_.add(Met::blocks_broken, large_.broken.get());
  tally_.add(Met::blocks_switched, large_.switched.get());
  tally_.add(Met::blocks_refuted, large_.blocks_refuted.get());
  tally_.add(Met::blocks_let_go, large_.let_go.get());
  service_->count(tally_);
  clients_.clear();
  workers_.clear();
}

void World::note_wanted(const Wanted& wanted) {
  last_wanted_ = wanted;
  tally_.add(Met::heads, wanted.is_head ? 1 : 0);
  tally_.add(Met::observed, wanted.mode == sketcher::RouteMode::observe ? 1 : 0);
  tally_.add(Met::listed, wanted.listed != Mark::none ? 1 : 0);
}

std::optional<OperationId> World::begin_own_read(std::string_view wire) {
  const PageRequest request = parse_page_request(wire);
  if (!request.is_of_register()) return std::nullopt;
  return recorder_.begin(request.key, request.is_head, Kind::read, nullptr, instant_);
}

void World::check_hedges() {
  const std::size_t paid = counters_.reads.get() / 20 + 1;
  const std::size_t hedged = counters_.hedged.get();
  if (hedged > paid) cost_.check("hedges-saved", hedged - paid, workers_born_);
}

void World::note_unserved(std::string_view why) {
  if (failing_percent_ > 0) return;
  breach_.note("service: a read fails though nothing else does: " + std::string(why));
}

}  // namespace prophecy::consistency
