#include "simulation/hosts/network.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "pbft/wire/frame_header.hpp"
#include "simulation/hosts/describe_frame.hpp"

namespace prophecy::simulation {

Network::Network(const Scenario& scenario, Scheduler& scheduler, const Trace& trace,
                 Deliver deliver)
    : scenario_(scenario),
      scheduler_(scheduler),
      random_(scenario.seed, kPurposeNetwork),
      trace_(trace),
      deliver_(std::move(deliver)),
      connections_(scheduler, deliver_, [this](NodeId from, NodeId to, const pbft::Frame& frame) {
        ++frames_dropped_;
        tell(from, {to, 0, frame}, "  [no room]");
      }) {
  for (const Ingredient& ingredient : scenario.ingredients) {
    if (ingredient.kind == IngredientKind::partition) partitions_.push_back(ingredient);
    if (ingredient.kind == IngredientKind::narrow_links) narrow_.push_back(ingredient);
    if (ingredient.percent > 0) shares_.push_back(ingredient);
    if (ingredient.kind == IngredientKind::lateness) longest_lateness_ = ingredient.offset;
  }
}

// A client is on the side of those that are not cut off.
bool Network::separated(NodeId a, NodeId b) const {
  const TimePoint now = scheduler_.now();
  return std::any_of(partitions_.begin(), partitions_.end(), [&](const Ingredient& partition) {
    return partition.is_active(now) && contains(partition.nodes, a) != contains(partition.nodes, b);
  });
}

bool Network::strikes(IngredientKind kind) {
  if (scheduler_.now() >= scenario_.healed) return false;
  std::uint64_t percent = 0;
  for (const Ingredient& share : shares_) {
    if (share.kind == kind) percent += share.percent;
  }
  return percent > 0 && random_.chance(percent);
}

void Network::tell(NodeId from, const pbft::Outgoing& outgoing, const char* what) const {
  if (!trace_.is_on()) return;
  trace_.line(std::to_string(from) + " -> " + std::to_string(outgoing.to) + "  " +
              describe_frame(*outgoing.frame, scenario_.replicas()) + what);
}

void Network::send(NodeId from, const pbft::Outgoing& outgoing, Duration delay) {
  ++frames_;
  const auto& [to, session, frame, is_free] = outgoing;
  if (separated(from, to)) return tell(from, outgoing, "  [cut off]");
  if (strikes(IngredientKind::loss)) return tell(from, outgoing, "  [lost]");
  const auto header = pbft::peek_header(*frame);
  const bool is_vote = header && (header->type == pbft::MessageType::prepare ||
                                  header->type == pbft::MessageType::commit);
  if (is_vote && strikes(IngredientKind::lost_votes)) {
    return tell(from, outgoing, "  [lost]");
  }
  if (!frame->empty() && strikes(IngredientKind::corruption)) {
    tell(from, outgoing, "  [damaged]");
    Bytes damaged = *frame;
    damaged[random_.below(damaged.size())] ^= static_cast<std::uint8_t>(1 << random_.below(8));
    if (random_.chance(10)) damaged.resize(random_.below(damaged.size()));
    return deliver_later(from, to, std::make_shared<const Bytes>(std::move(damaged)), delay);
  }
  tell(from, outgoing, "");
  deliver_later(from, to, frame, delay);
  if (strikes(IngredientKind::repetition)) deliver_later(from, to, frame, delay);
}

const Ingredient* Network::narrows(NodeId from, NodeId to) const {
  const auto found = std::find_if(narrow_.begin(), narrow_.end(), [&](const Ingredient& links) {
    return links.is_active(scheduler_.now()) &&
           (contains(links.nodes, from) || contains(links.nodes, to));
  });
  return found == narrow_.end() ? nullptr : &*found;
}

void Network::deliver_later(NodeId from, NodeId to, const pbft::Frame& frame, Duration delay) {
  const auto most = std::chrono::duration_cast<microseconds>(scenario_.delay_max).count();
  Duration on_the_way = microseconds(random_.between(50, static_cast<std::uint64_t>(most)));
  if (strikes(IngredientKind::lateness)) {
    on_the_way += longest_lateness_ * static_cast<std::int64_t>(random_.below(100)) / 100;
  }
  const Ingredient* links = narrows(from, to);
  if (links == nullptr) {
    return scheduler_.after(delay + on_the_way, [this, to, frame] { deliver_(to, frame); });
  }
  if (strikes(IngredientKind::narrow_links)) {
    ++breaks_;
    connections_.break_off(from, to);
  }
  const Connections::Limits limits{links->count, links->offset};
  const auto leave = [this, from, to, frame, limits, on_the_way] {
    connections_.send(from, to, frame, limits, on_the_way);
  };
  if (delay == Duration{}) return leave();
  scheduler_.after(delay, leave);
}

}  // namespace prophecy::simulation
