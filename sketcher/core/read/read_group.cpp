#include "sketcher/core/read/read_group.hpp"

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
void ReadGroup::make_out_of_date(std::string_view authority, std::string_view target) {
  const WriteFloors& floors = parts_.floors;
  floors.raise_unordered(floors.slot_of(authority, target), [this] {
    return parts_.votes != nullptr ? parts_.votes->next() : parts_.order.newest();
  });
}

std::optional<NodeId> ReadGroup::draw(ReplicaSet tried) {
  const ReplicaSet all = replica_client::all_of(size());
  const ReplicaSet from = replica_client::candidates(all, parts_.health.drawable(), tried);
  if (from == 0) return std::nullopt;
  return replica_client::draw(from, [this](std::uint32_t bound) { return roll(bound); });
}

}  // namespace prophecy::sketcher
