#include "simulation/scenario.hpp"

#include <algorithm>
#include <bit>
#include <sstream>

namespace prophecy::simulation {
namespace {

constexpr int kWaitOfTimeOuts = 3;
constexpr Duration kWaitAnyway = seconds(1);  // retransmissions, and checkpoints
constexpr Duration kWaitOfQueue = milliseconds(60);
// The request, three messages of agreement, the reply, and a checkpoint.
constexpr int kDelaysOfBatch = 6;
// A time-out that disks, the network and a service that all do their best may not reach.
constexpr Duration kExplainsNothing = milliseconds(250);

}  // namespace

std::uint64_t Scenario::liars() const {
  std::uint64_t liars = 0;
  for (const Ingredient& ingredient : ingredients) {
    if (ingredient.is_lie()) liars |= std::uint64_t{1} << ingredient.node;
  }
  return liars;
}

std::uint32_t Scenario::services_lost() const {
  std::uint64_t nodes = 0;
  for (const Ingredient& ingredient : ingredients) {
    const bool is_lost = ingredient.kind == IngredientKind::lost_service ||
                         ingredient.kind == IngredientKind::wrong_service;
    if (is_lost) nodes |= std::uint64_t{1} << ingredient.node;
  }
  return static_cast<std::uint32_t>(std::popcount(nodes));
}

bool Scenario::network_works() const {
  return std::all_of(ingredients.begin(), ingredients.end(), [](const Ingredient& ingredient) {
    switch (ingredient.kind) {
      case IngredientKind::calls:
      case IngredientKind::large_results:
      case IngredientKind::large_operations:
      case IngredientKind::clock:
      case IngredientKind::misconduct:
      case IngredientKind::twins:
      case IngredientKind::noisy_state:
      case IngredientKind::noisy_answers:
      case IngredientKind::rotten_state:
        return true;
      case IngredientKind::narrow_links:  // those that stay are as wide as it takes
        return ingredient.until == TimePoint::max();
      default:
        return false;
    }
  });
}

bool Scenario::blames_nobody() const {
  // With fewer places than requests, one that a backup waits for can lose its place again and again
  // to others of its client that other backups wait for.
  const bool is_queue_short = replica.queue_requests_max < std::uint64_t{2} * clients * sessions;
  // Keys that change are exchanged only once clients have begun.
  return !is_queue_short && replica.view_change_timeout >= kExplainsNothing && !has_real_keys() &&
         std::all_of(ingredients.begin(), ingredients.end(), [&](const Ingredient& ingredient) {
           switch (ingredient.kind) {
             case IngredientKind::halted:  // a primary that stands still alone is replaced
               return ingredient.nodes == all_replicas();
             case IngredientKind::calls:
             case IngredientKind::large_results:
             case IngredientKind::large_operations:
             case IngredientKind::impatience:
             case IngredientKind::clock:
             case IngredientKind::many_at_once:
               return true;
             case IngredientKind::narrow_links:
               return ingredient.until == TimePoint::max();
             case IngredientKind::bad_client:
               // A batch that no backup takes, until signatures are demanded of that client.
               return ingredient.bad_client != BadClientKind::selective_macs;
             default:
               return false;
           }
         });
}

bool Scenario::is_blameless(NodeId node) const {
  return std::none_of(ingredients.begin(), ingredients.end(), [&](const Ingredient& ingredient) {
    return ingredient.kind == IngredientKind::corruption ||
           (ingredient.kind == IngredientKind::misconduct && ingredient.node == node);
  });
}

std::uint64_t Scenario::faulty_in_the_end() const {
  std::uint64_t faulty = 0;
  for (const Ingredient& ingredient : ingredients) {
    const bool misbehaves = (ingredient.kind == IngredientKind::misconduct ||
                             ingredient.kind == IngredientKind::twins) &&
                            ingredient.until == TimePoint::max();
    if (misbehaves || ingredient.kind == IngredientKind::crash) {
      faulty |= std::uint64_t{1} << ingredient.node;
    }
  }
  return faulty;
}

TimePoint Scenario::quiet_from() const {
  TimePoint quiet = healed;
  for (const Ingredient& ingredient : ingredients) {
    const bool goes_on = ingredient.kind == IngredientKind::bad_client ||
                         ingredient.kind == IngredientKind::stalled_disk ||
                         ingredient.kind == IngredientKind::halted;
    if (goes_on) quiet = std::max(quiet, ingredient.until);
  }
  return quiet;
}

std::uint32_t Scenario::longest_queue() const {
  std::uint32_t longest = 0;
  for (NodeId client = kFirstClientId; client < kFirstClientId + clients; ++client) {
    std::uint32_t calls = 0;
    for (const Ingredient& ingredient : ingredients) {
      if (ingredient.node == client) calls += ingredient.count;
    }
    longest = std::max(longest, calls / sessions + 1);
  }
  return longest;
}

std::uint64_t Scenario::percent_of(IngredientKind kind, TimePoint now) const {
  std::uint64_t percent = 0;
  for (const Ingredient& ingredient : ingredients) {
    if (ingredient.kind == kind && ingredient.is_active(now)) percent += ingredient.percent;
  }
  return percent;
}

const Ingredient* Scenario::find(IngredientKind kind, NodeId node) const {
  const auto found =
      std::find_if(ingredients.begin(), ingredients.end(), [&](const Ingredient& ingredient) {
        return ingredient.kind == kind && ingredient.node == node;
      });
  return found == ingredients.end() ? nullptr : &*found;
}

Duration Scenario::longest_wait() const {
  Duration views{};
  Duration time_out = replica.view_change_timeout;
  for (std::uint32_t primary = 0; primary <= faults; ++primary) {
    views += time_out;
    time_out = std::min<Duration>(2 * time_out, replica.view_change_timeout_max);
  }
  return kWaitOfTimeOuts * views + kWaitAnyway + longest_turn() * longest_queue();
}

// In a turn each session has one call ordered. Small windows and small batches hold up a full load,
// and no primary is to blame.
Duration Scenario::longest_turn() const {
  const std::uint64_t batches =
      std::min<std::uint64_t>(replica.window, replica.batches_in_flight_max);
  const std::uint64_t at_once = batches * replica.batch_requests_max;
  const auto rounds = static_cast<std::int64_t>((clients * sessions + at_once - 1) / at_once);
  return std::max<Duration>(kWaitOfQueue, rounds * kDelaysOfBatch * delay_max);
}

bool Scenario::has_megabytes() const {
  return std::any_of(ingredients.begin(), ingredients.end(), [](const Ingredient& ingredient) {
    return ingredient.kind == IngredientKind::bad_client &&
           ingredient.bad_client == BadClientKind::lone_bodies;
  });
}

bool Scenario::has_turns() const {
  return faulty_in_turn(2) != 0;
}

std::uint64_t Scenario::faulty_in_turn(std::uint32_t turn) const {
  std::uint64_t faulty = 0;
  for (const Ingredient& ingredient : ingredients) {
    if (ingredient.turn == turn) faulty |= std::uint64_t{1} << ingredient.node;
  }
  return faulty;
}

bool Scenario::misbehaves(BehaviourKind behaviour) const {
  return std::any_of(ingredients.begin(), ingredients.end(), [&](const Ingredient& ingredient) {
    return ingredient.kind == IngredientKind::misconduct && ingredient.behaviour == behaviour;
  });
}

void Scenario::number_ingredients() {
  std::uint32_t number = 0;
  for (Ingredient& ingredient : ingredients)
    ingredient.number = ++number;
}

void Scenario::leave_out(std::span<const std::uint32_t> numbers) {
  std::erase_if(ingredients, [&](const Ingredient& ingredient) {
    return std::find(numbers.begin(), numbers.end(), ingredient.number) != numbers.end();
  });
}

void Scenario::leave_only(std::span<const std::uint32_t> numbers) {
  std::erase_if(ingredients, [&](const Ingredient& ingredient) {
    return std::find(numbers.begin(), numbers.end(), ingredient.number) == numbers.end();
  });
}

std::string describe(const Scenario& s) {
  const auto ms = [](Duration duration) {
    return std::chrono::duration_cast<milliseconds>(duration).count();
  };
  std::ostringstream out;
  out << "n=" << s.replicas() << " batches in flight=" << s.replica.batches_in_flight_max
      << " requests a batch=" << s.replica.batch_requests_max
      << " checkpoint=" << s.replica.checkpoint_interval << " window=" << s.replica.window
      << " retained=" << s.replica.retained_batches
      << " view change after=" << ms(s.replica.view_change_timeout) << "ms"
      << " delay=" << ms(s.delay_max) << "ms"
      << " clients=" << s.clients << "x" << s.sessions
      << (s.replica.tentative_execution ? " tentative" : "")
      << (s.linearizable_reads ? " linearizable" : "") << "\n";
  for (const Ingredient& ingredient : s.ingredients)
    out << "  " << ingredient.number << "  " << describe(ingredient) << "\n";
  return out.str();
}

}  // namespace prophecy::simulation
