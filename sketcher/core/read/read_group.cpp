#include "sketcher/core/read/read_group.hpp"

#include "sketcher/core/read/mutation.hpp"

namespace prophecy::sketcher {

sketch::AnswerFault ReadGroup::read_answer(NodeId replica, const http::Response& response,
                                           bool answers_head, sketch::AnswerForm& form) {
  sketch::AnswerCanonicalizer& reader = canonicalizer();
  const sketch::AnswerFault fault = reader.canonicalize(response, answers_head, form);
  if (!reader.leaked().empty()) parts_.reports.on_leak(replica, reader.leaked());
  return fault;
}

// In a group with an order, everything placed until now: where the group began anew meanwhile,
// earlier answers may have greater numbers than the write. raise_unordered() looks twice: an import
// begins the numbers anew, and then raises each floor that it finds raised above its entries.
bool ReadGroup::make_out_of_date(std::string_view authority, std::string_view target,
                                 const SigmaOrder::Placed* write) {
  const WriteFloors& floors = parts_.floors;
  const auto place = floors.place_of(authority, target);
  // Whenever the write began: it counts for the owner of now.
  const bool is_allowed = basis(claim(place.partition)).has_value();
  if (!is_allowed && !is_mutated(Mutation::write_unchecked)) return false;
  if (write != nullptr && has_order()) parts_.order.note(*write);
  floors.raise_unordered(place.slot, [this] {
    return parts_.votes != nullptr ? parts_.votes->next() : parts_.order.newest();
  });
  return true;
}

std::optional<NodeId> ReadGroup::draw(ReplicaSet tried) {
  const ReplicaSet all = replica_client::all_of(size());
  const ReplicaSet drawable = is_mutated(Mutation::draws_anyone) ? all : parts_.health.drawable();
  const ReplicaSet from = replica_client::candidates(all, drawable, tried);
  if (from == 0) return std::nullopt;
  return parts_.health.draw(from, [this](std::uint32_t bound) { return roll(bound); });
}

}  // namespace prophecy::sketcher
