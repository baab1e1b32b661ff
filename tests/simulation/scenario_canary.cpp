#include "simulation/scenario_calm.hpp"
#include "simulation/scenario_keys.hpp"
#include "simulation/scenario_long.hpp"
#include "simulation/scenario_planner.hpp"

namespace prophecy::simulation {

// A scene in which the defect can show: four replicas, load, and what it needs.
void Planner::plan_canary() {
  std::erase_if(scenario_.ingredients, [](const Ingredient& ingredient) {
    return ingredient.kind != IngredientKind::calls && ingredient.kind != IngredientKind::clock;
  });
  liars_ = 0;
  crashed_ = 0;
  const auto anybody = static_cast<NodeId>(random_.below(scenario_.replicas()));
  const auto disturb = [&] {
    add_share(IngredientKind::loss, 20);
    add_lateness(20, 80);
  };
  switch (scenario_.canary) {
    case Canary::small_quorum:
      add_misconduct(0, BehaviourKind::equivocating, 0, 0);
      break;
    case Canary::reply_accepted_early:
      add_misconduct(anybody, BehaviourKind::lying_replies, 0, 0);
      break;
    case Canary::small_view_change:
      disturb();
      add_misconduct(anybody, BehaviourKind::forged_view_changes, 0, 0);
      add_misconduct(anybody, BehaviourKind::lying_votes, 0, 0);
      break;
    case Canary::ignores_pre_prepared:  // a view that does not begin, and then a lie about it
      disturb();
      scenario_.replica.view_change_timeout = milliseconds(60);
      add_misconduct(1, BehaviourKind::forged_view_changes, 0, 0);
      add_misconduct(1, BehaviourKind::forged_new_views, 0, 0);
      break;
    case Canary::tentative_early:  // prepared, answered, and denied in the next view
      disturb();
      scenario_.replica.tentative_execution = true;
      scenario_.replica.view_change_timeout = milliseconds(60);
      add_misconduct(anybody, BehaviourKind::forged_view_changes, 0, 0);
      break;
    case Canary::behind_early: {  // a write that f others deny to a read, beside a laggard
      add_lateness(30, 60);
      scenario_.linearizable_reads = true;
      scenario_.append_percent = 40;
      scenario_.read_only_percent = 100;
      scenario_.sessions = 4;
      for (Ingredient& other : scenario_.ingredients) {
        if (other.kind == IngredientKind::calls) other.count = 12;
      }
      Ingredient& twins = add(IngredientKind::twins);
      twins.node = anybody;
      twins.offset = milliseconds(random_.between(20, 100));
      break;
    }
    case Canary::unproven_checkpoint:
      disturb();
      add_misconduct(anybody, BehaviourKind::forged_view_changes, 0, 0);
      break;
    case Canary::gullible_signatures:
      add_misconduct(anybody, BehaviourKind::lying_checkpoints, 0, 0);
      break;
    case Canary::votes_in_left_view:
      disturb();
      add_misconduct(0, BehaviourKind::slow, 0, healed_at_ms_);
      break;
    case Canary::repeats_writes: {
      Ingredient& crashes = add(IngredientKind::crashing_writes);
      crashes.nodes = scenario_.all_replicas();
      crashes.percent = 20;
      break;
    }
    case Canary::late_handlers: {
      Ingredient& crashes = add(IngredientKind::crashing_writes);
      crashes.nodes = scenario_.all_replicas();
      crashes.percent = 20;
      break;
    }
    case Canary::overfills: {
      Ingredient& full = add(IngredientKind::full_states);
      full.nodes = scenario_.all_replicas();
      full.count = 3;
      break;
    }
    case Canary::pretends_restores:
      for (std::uint64_t i = 0; i < 4; ++i) {
        Ingredient& dark = add(IngredientKind::power_loss);
        dark.nodes = 15;
        dark.from = at(100 + 200 * i + random_.below(100));
        dark.until = dark.from + milliseconds(random_.between(5, 50));
        Ingredient& untold = add(IngredientKind::untold_states);
        untold.nodes = 15;
        untold.from = dark.from;
        untold.until = dark.until + milliseconds(20);
      }
      break;
    case Canary::no_durable_vote:
      disturb();
      for (std::uint64_t i = 0; i < 4; ++i) {
        Ingredient& dark = add(IngredientKind::power_loss);
        dark.nodes = random_.next() & 15;
        dark.from = at(50 + 200 * i + random_.below(100));
        dark.until = dark.from + milliseconds(random_.between(5, 50));
      }
      break;
    case Canary::forgets_at_once:
      disturb();
      for (std::uint64_t i = 0; i < 12; ++i) {
        Ingredient& lost = add(IngredientKind::lost_disk);
        lost.node = static_cast<NodeId>(random_.below(4));
        lost.from = at(20 + 60 * i + random_.below(40));
        lost.until = lost.from + milliseconds(random_.between(1, 10));
      }
      break;
    case Canary::erases_nothing:
      scenario_.replica.checkpoint_interval = 1;
      scenario_.replica.window = 2;
      scenario_.replica.retained_batches = 0;
      scenario_.replica.batch_requests_max = 1;
      break;
    case Canary::repeats_replies:
    case Canary::looks_at_all: {
      Ingredient& client = add(IngredientKind::bad_client);
      client.node = kFirstClientId + 3;
      client.bad_client = scenario_.canary == Canary::looks_at_all ? BadClientKind::missing_bodies
                                                                   : BadClientKind::flooding;
      client.until = at(healed_at_ms_);
      break;
    }
    case Canary::pays_for_strangers:
      add_strangers(64, 1000, 0);
      break;
    case Canary::limits_by_name:  // while a view change is needed
      add_strangers(16, 1000, 100);
      add(IngredientKind::crash).from = at(100);
      break;
    case Canary::no_session_check:
    case Canary::gullible_macs:
      add_misconduct(0, BehaviourKind::ordering_junk, 0, 0);
      break;
    case Canary::prepares_without_body:  // that a primary has, and keeps for itself
      add_misconduct(0, BehaviourKind::false_parts, 0, 0);
      for (std::uint64_t i = 0; i < 3; ++i) {
        Ingredient& client = add(IngredientKind::bad_client);
        client.node = kFirstClientId + 3 + static_cast<NodeId>(random_.below(2));
        client.bad_client = BadClientKind::withheld_bodies;
        client.until = at(healed_at_ms_);
      }
      break;
    case Canary::any_view:  // a committed batch, and an older one that a backup has seen there
      disturb();
      add_share(IngredientKind::lost_votes, 60);
      scenario_.replica.view_change_timeout = milliseconds(60);
      add_misconduct(anybody, BehaviourKind::live_lies, 0, 0);
      add_misconduct(anybody, BehaviourKind::equivocating, 0, 0);
      break;
    case Canary::slow_to_give_up:
      set_calm_scene(scenario_);
      std::erase_if(scenario_.ingredients, [](const Ingredient& ingredient) {
        return ingredient.kind == IngredientKind::large_operations;
      });
      add_misconduct(0, BehaviourKind::silent, 0, 0);
      break;
    case Canary::keeps_no_state:
      set_noisy_scene(scenario_);
      break;
    case Canary::proposes_alone:
      set_fair_scene(scenario_, true);
      break;
    case Canary::serves_last:
      set_greedy_scene(scenario_);
      scenario_.replica.batches_in_flight_max = 2;
      scenario_.replica.partial_batches_in_flight_max = 1;
      scenario_.replica.batch_requests_max = 2;
      scenario_.delay_max = milliseconds(1);
      break;
    case Canary::signatures_outlive:  // a faulty replica repeats what strangers bring
      add_strangers(8, 1000, 0);
      add_misconduct(anybody, BehaviourKind::replaying, 0, 0);
      break;
    case Canary::bears_grudges: {  // against who lied before, while others are silent now
      set_changing_scene(scenario_);
      const auto second = scenario_.faulty_in_turn(2);
      std::erase_if(scenario_.ingredients, [](const Ingredient& other) { return other.turn == 2; });
      add_misconduct(static_cast<NodeId>(std::countr_zero(second)), BehaviourKind::silent, 700, 0);
      scenario_.ingredients.back().turn = 2;
      break;
    }
    case Canary::ends_no_turn:
      set_turns_scene(scenario_);
      break;
    case Canary::counts_halts:
      set_halted_scene(scenario_);
      break;
    case Canary::hoards:
      set_long_scene(scenario_);
      break;
    case Canary::hashes_garbage:
      add_strangers(4, 1000, 0);
      break;
    case Canary::keeps_old_keys:
      set_new_keys_scene(scenario_);
      break;
    case Canary::any_time:
      scenario_.replica.agreed_time_tolerance = std::chrono::hours(24);
      add_misconduct(0, BehaviourKind::false_times, 0, 0);
      break;
    case Canary::one_decision:
      disturb();
      add_misconduct(anybody, BehaviourKind::lying_votes, 0, 0);
      break;
    case Canary::early_checkpoint:
      add_misconduct(anybody, BehaviourKind::lying_checkpoints, 0, 0);
      break;
    case Canary::early_body:
      add_share(IngredientKind::large_operations, 80);
      [[fallthrough]];
    case Canary::early_base:
      for (std::uint64_t i = 0; i < 6; ++i) {
        Ingredient& dark = add(IngredientKind::power_loss);
        dark.nodes = random_.next() & 15;
        dark.from = at(50 + 120 * i + random_.below(100));
        dark.until = dark.from + milliseconds(random_.between(5, 50));
      }
      break;
    case Canary::no_durable_content: {
      Ingredient& dark = add(IngredientKind::power_loss);
      dark.nodes = 15;
      dark.from = at(100 + random_.below(400));
      dark.until = dark.from + milliseconds(random_.between(5, 50));
      break;
    }
    default:
      break;
  }
}

}  // namespace prophecy::simulation
