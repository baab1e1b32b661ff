#include "simulation/coverage.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>

namespace prophecy::simulation {
namespace {

template <typename Counts>
void add_each(Counts& to, const Counts& from) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] += from[i];
}

template <typename Kind, typename Counts>
void write(std::ostringstream& out, std::string_view title, const Counts& counts, Kind first = {}) {
  out << title;
  const char* separator = ": ";
  for (auto i = static_cast<std::size_t>(first); i < counts.size(); ++i) {
    out << separator << to_string(static_cast<Kind>(i)) << " " << counts[i];
    separator = ", ";
  }
  out << "\n";
}

}  // namespace

void Coverage::note(const Scenario& scenario) {
  std::set<IngredientKind> kinds;
  std::set<BehaviourKind> behaviour_kinds;
  std::set<BadClientKind> client_kinds;
  for (const Ingredient& ingredient : scenario.ingredients) {
    kinds.insert(ingredient.kind);
    if (ingredient.kind == IngredientKind::misconduct) behaviour_kinds.insert(ingredient.behaviour);
    if (ingredient.kind == IngredientKind::bad_client) client_kinds.insert(ingredient.bad_client);
  }
  for (const auto kind : kinds)
    ++ingredients[static_cast<std::size_t>(kind)];
  for (const auto kind : behaviour_kinds)
    ++behaviours[static_cast<std::size_t>(kind)];
  for (const auto kind : client_kinds)
    ++bad_clients[static_cast<std::size_t>(kind)];
}

void Coverage::add(const Coverage& other) {
  runs += other.runs;
  long_runs += other.long_runs;
  long_runs_ms += other.long_runs_ms;
  large_runs += other.large_runs;
  large_runs_ms += other.large_runs_ms;
  other_runs_us += other.other_runs_us;
  requests_ordered += other.requests_ordered;
  calls_agreed += other.calls_agreed;
  checkpoints += other.checkpoints;
  views_entered += other.views_entered;
  runs_with_new_view += other.runs_with_new_view;
  contents_fetched += other.contents_fetched;
  batches_ahead += other.batches_ahead;
  batches_undone += other.batches_undone;
  restarts += other.restarts;
  states_restored += other.states_restored;
  parts_fetched += other.parts_fetched;
  bodies_fetched += other.bodies_fetched;
  bodies_given_up += other.bodies_given_up;
  keys_learnt += other.keys_learnt;
  frames += other.frames;
  frames_dropped += other.frames_dropped;
  connections_broken += other.connections_broken;
  steps += other.steps;
  add_each(ingredients, other.ingredients);
  add_each(behaviours, other.behaviours);
  add_each(bad_clients, other.bad_clients);
  add_each(lies_reached, other.lies_reached);
  for (std::size_t i = 0; i < kPrices; ++i)
    price_peaks.at(i) = std::max(price_peaks.at(i), other.price_peaks.at(i));
}

std::string describe(const Coverage& coverage) {
  std::ostringstream out;
  out << coverage.requests_ordered << " requests ordered, " << coverage.calls_agreed
      << " calls agreed, " << coverage.checkpoints << " stable checkpoints, "
      << coverage.views_entered << " views entered in " << coverage.runs_with_new_view << " runs, "
      << coverage.contents_fetched << " contents fetched, " << coverage.batches_ahead
      << " batches executed ahead, " << coverage.batches_undone << " undone, " << coverage.restarts
      << " restarts, " << coverage.states_restored << " states restored, " << coverage.parts_fetched
      << " parts fetched, " << coverage.bodies_fetched << " bodies fetched, "
      << coverage.bodies_given_up << " given up, " << coverage.keys_learnt << " keys learnt, "
      << coverage.frames << " frames, " << coverage.frames_dropped
      << " dropped in front of narrow links, " << coverage.connections_broken
      << " connections broken, " << coverage.steps << " steps\n";
  write<IngredientKind>(out, "runs with", coverage.ingredients);
  write<BehaviourKind>(out, "replicas", coverage.behaviours);
  write<BadClientKind>(out, "clients", coverage.bad_clients);
  write<BehaviourKind>(out, "lies that reached their aim", coverage.lies_reached, kFirstLie);
  out << "highest prices";
  for (std::size_t i = 0; i < kPrices; ++i)
    out << (i == 0 ? ": " : ", ") << kPriceNames.at(i) << " " << coverage.price_peaks.at(i);
  out << "\n";
  return out.str();
}

}  // namespace prophecy::simulation
