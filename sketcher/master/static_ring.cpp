#include "sketcher/master/static_ring.hpp"

#include "base/assert.hpp"
#include "dht/core/placement.hpp"

namespace prophecy::sketcher {

void set_up_static_ring(const RingSettings& ring, const SharedState& shared) {
  const SharedRing& memory = shared.ring();
  std::vector<dht::Placement::Share> shares;
  std::vector<dht::MemberSlot> slots;  // by share
  for (std::size_t i = 0; i < ring.members.size(); ++i) {
    const RingMember& member = ring.members[i];
    const auto slot = static_cast<dht::MemberSlot>(i);
    MemberEntry entry{.name = member.name, .addresses = {}};
    for (const Endpoint& endpoint : member.addresses) {
      const auto address = IpAddress::parse(endpoint.address);
      ASSERT(address.has_value());  // the configuration has been read
      entry.addresses.push_back({.address = *address, .port = endpoint.port});
    }
    memory.members.set(slot, entry);
    if (member.role == MemberRole::request) continue;
    shares.push_back({.name = member.name, .weight = member.weight});
    slots.push_back(slot);
  }
  const dht::Placement placement(shares);
  const auto own = static_cast<dht::MemberSlot>(&ring.own() - ring.members.data());
  for (Partition partition = 0; partition < kPartitions; ++partition) {
    const dht::MemberSlot owner = slots[placement.owner(partition)];
    const auto stage = owner == own ? dht::Stage::taken : dht::Stage::elsewhere;
    memory.permissions.set_owner(partition,
                                 dht::OwnerWord(std::uint64_t{1} + partition, stage, owner));
  }
  memory.permissions.extend(dht::BootTime::max(), dht::BootTime::max());
}

}  // namespace prophecy::sketcher
