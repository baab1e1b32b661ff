#include "simulation/ingredient.hpp"

#include <array>
#include <sstream>

namespace prophecy::simulation {
namespace {

template <typename Kind, std::size_t count>
std::string_view name_of(const std::array<std::string_view, count>& names, Kind kind) {
  return names.at(static_cast<std::size_t>(kind));
}

std::string bits(std::uint64_t nodes) {
  std::string text;
  for (NodeId node = 0; nodes != 0; ++node, nodes >>= 1) {
    if ((nodes & 1) != 0) text += (text.empty() ? "" : ",") + std::to_string(node);
  }
  return text;
}

std::string interval(const Ingredient& ingredient) {
  const auto ms = [](TimePoint time) {
    return std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
  };
  std::ostringstream out;
  if (ingredient.from == TimePoint{} && ingredient.until == TimePoint::max()) return "";
  out << " from " << ms(ingredient.from);
  if (ingredient.until != TimePoint::max()) out << " to " << ms(ingredient.until);
  out << " ms";
  return out.str();
}

}  // namespace

std::string_view to_string(IngredientKind kind) {
  static constexpr std::array<std::string_view, kIngredientKinds> kNames = {
      "calls",         "large results", "large operations", "impatience",    "loss",
      "repetition",    "corruption",    "lateness",         "lost votes",    "partition",
      "crash",         "restart",       "power loss",       "lost disk",     "lost service",
      "lost services", "wrong service", "read failures",    "slow service",  "unmarked disks",
      "stalled disk",  "halted",        "rotten disk",      "refusing disk", "clock",
      "wall clock",    "twins",         "client restart",   "misconduct",    "bad client",
      "strangers",     "many at once",  "noisy state",      "noisy answers", "rotten state",
      "new keys",      "stolen key",    "crashing writes",  "untold states", "full states",
      "narrow links"};
  return name_of(kNames, kind);
}

std::string_view to_string(BehaviourKind kind) {
  static constexpr std::array<std::string_view, kBehaviourKinds> kNames = {"silent",
                                                                           "mute",
                                                                           "withholding",
                                                                           "slow",
                                                                           "selective MACs",
                                                                           "garbage",
                                                                           "replaying",
                                                                           "flooding",
                                                                           "censoring",
                                                                           "claiming to be behind",
                                                                           "equivocating",
                                                                           "lying votes",
                                                                           "stale views",
                                                                           "lying checkpoints",
                                                                           "lying status",
                                                                           "lying replies",
                                                                           "forged view changes",
                                                                           "forged new views",
                                                                           "ordering junk",
                                                                           "false times",
                                                                           "absurd status",
                                                                           "doubled voices",
                                                                           "lying pledges",
                                                                           "lying silence",
                                                                           "lying roots",
                                                                           "siding roots",
                                                                           "false parts",
                                                                           "live lies",
                                                                           "conspiring",
                                                                           "mutating",
                                                                           "lying keys",
                                                                           "lying states",
                                                                           "false holder"};
  return name_of(kNames, kind);
}

std::string_view to_string(BadClientKind kind) {
  static constexpr std::array<std::string_view, kBadClientKinds> kNames = {
      "selective MACs", "two operations",  "jumping timestamps", "flooding",       "garbage",
      "missing bodies", "withheld bodies", "false bodies",       "dripped bodies", "lone bodies",
      "greedy",         "shared session"};
  return name_of(kNames, kind);
}

std::string describe(const Ingredient& ingredient) {
  std::ostringstream out;
  switch (ingredient.kind) {
    case IngredientKind::calls:
      out << "client " << ingredient.node << " makes " << ingredient.count << " calls";
      break;
    case IngredientKind::crash:
      out << "replica " << ingredient.node << " crashes";
      break;
    case IngredientKind::restart:
      out << "replica " << ingredient.node << " is down";
      break;
    case IngredientKind::power_loss:
      out << "replicas " << bits(ingredient.nodes) << " are without power";
      break;
    case IngredientKind::lost_disk:
      out << "replica " << ingredient.node << " is down and loses its disk";
      break;
    case IngredientKind::lost_service:
      out << "the service of replica " << ingredient.node << " loses its state";
      break;
    case IngredientKind::lost_services:
      out << "the services of replicas " << bits(ingredient.nodes) << " lose their states";
      break;
    case IngredientKind::wrong_service:
      out << "the service of replica " << ingredient.node << " loses its state unnoticed";
      break;
    case IngredientKind::partition:
      out << "replicas " << bits(ingredient.nodes) << " are cut off";
      break;
    case IngredientKind::read_failures:
      out << "reads fail at replicas " << bits(ingredient.nodes);
      break;
    case IngredientKind::slow_service:
      out << "the services of replicas " << bits(ingredient.nodes) << " take "
          << std::chrono::duration_cast<milliseconds>(ingredient.offset).count() << " ms for "
          << ingredient.percent << "% of the operations";
      break;
    case IngredientKind::unmarked_disks:
      out << "the disks are not marked as new";
      if (ingredient.nodes == 0) break;
      out << ", and replicas " << bits(ingredient.nodes) << " start late by "
          << std::chrono::duration_cast<milliseconds>(ingredient.offset).count() << " ms";
      break;
    case IngredientKind::stalled_disk:
      out << "the disks of replicas " << bits(ingredient.nodes) << " stall";
      break;
    case IngredientKind::halted:
      out << "the machines of replicas " << bits(ingredient.nodes) << " stand still";
      break;
    case IngredientKind::rotten_disk:
      out << ingredient.percent << "% of the files of replicas " << bits(ingredient.nodes)
          << " rot";
      break;
    case IngredientKind::refusing_disk:
      out << "the disks of replicas " << bits(ingredient.nodes) << " take no state";
      break;
    case IngredientKind::noisy_state:
      out << "at replica " << ingredient.node << " " << ingredient.percent
          << "% of the writes leave another state";
      break;
    case IngredientKind::noisy_answers:
      out << "replica " << ingredient.node << " answers " << ingredient.percent
          << "% of the operations otherwise";
      break;
    case IngredientKind::crashing_writes:
      out << ingredient.percent << "% of the writes crash at replicas " << bits(ingredient.nodes)
          << ", each " << (ingredient.count == 0 ? "always" : std::to_string(ingredient.count))
          << ", and settle in "
          << std::chrono::duration_cast<milliseconds>(ingredient.offset).count() << " ms";
      break;
    case IngredientKind::untold_states:
      out << "states of replicas " << bits(ingredient.nodes) << " cannot be told";
      break;
    case IngredientKind::full_states:
      out << "the states of replicas " << bits(ingredient.nodes) << " are full with "
          << ingredient.count << " appends";
      if (ingredient.raised_at > 0) {
        out << ", and with twice as many from batch " << ingredient.raised_at << " on";
      }
      break;
    case IngredientKind::rotten_state:
      out << "the state of replica " << ingredient.node << " rots";
      break;
    case IngredientKind::clock:
      out << "clock of node " << ingredient.node << " is ahead by "
          << std::chrono::duration_cast<milliseconds>(ingredient.offset).count()
          << " ms and drifts by " << ingredient.drift_ppm << " ppm";
      break;
    case IngredientKind::wall_clock:
      out << "the wall clock of replica " << ingredient.node << " steps by "
          << std::chrono::duration_cast<milliseconds>(ingredient.offset).count() << " ms";
      break;
    case IngredientKind::twins:
      out << "replica " << ingredient.node << " runs twice";
      break;
    case IngredientKind::client_restart:
      out << "client " << ingredient.node << " is started again, its clock set by "
          << std::chrono::duration_cast<milliseconds>(ingredient.offset).count() << " ms";
      break;
    case IngredientKind::lateness:
      out << "lateness of " << ingredient.percent << "%, up to "
          << std::chrono::duration_cast<milliseconds>(ingredient.offset).count() << " ms";
      break;
    case IngredientKind::misconduct:
      out << "replica " << ingredient.node << ": " << to_string(ingredient.behaviour);
      break;
    case IngredientKind::strangers:
      out << "strangers send " << ingredient.count << " frames each "
          << std::chrono::duration_cast<microseconds>(ingredient.offset).count() << " us";
      break;
    case IngredientKind::many_at_once:
      out << "replicas " << bits(ingredient.nodes) << " read once in "
          << std::chrono::duration_cast<microseconds>(ingredient.offset).count() << " us";
      break;
    case IngredientKind::narrow_links:
      out << "links of replicas " << bits(ingredient.nodes) << " carry " << ingredient.count
          << " bytes in a millisecond, hold what takes "
          << std::chrono::duration_cast<milliseconds>(ingredient.offset).count()
          << " ms, and break upon " << ingredient.percent << "% of the frames";
      break;
    case IngredientKind::new_keys:
      out << "replica " << ingredient.node << " gets new keys"
          << (ingredient.is_elsewhere ? " on another machine" : "") << ", of which members learn "
          << (ingredient.is_hasty ? "each " : "as soon as the one before is back, and ")
          << std::chrono::duration_cast<milliseconds>(ingredient.offset).count() << " ms"
          << (ingredient.is_hasty ? "" : " later");
      break;
    case IngredientKind::stolen_key:
      out << "somebody has the key of replica " << ingredient.node;
      break;
    case IngredientKind::bad_client:
      out << "faulty client " << ingredient.node << ": " << to_string(ingredient.bad_client);
      break;
    default:
      out << to_string(ingredient.kind) << " of " << ingredient.percent << "%";
      break;
  }
  if (ingredient.turn > 0) out << ", in turn " << ingredient.turn << ",";
  return out.str() + interval(ingredient);
}

}  // namespace prophecy::simulation
