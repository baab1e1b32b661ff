#include "sketcher/master/static_ring.hpp"

#include <array>

#include <catch2/catch.hpp>

namespace prophecy::sketcher {
namespace {

SharedState shared_memory() {
  static std::array<std::byte, 4096> kept;
  auto shared = SharedState::map({.workers = 1,
                                  .groups = 1,
                                  .routes = 1,
                                  .origins = 1,
                                  .activity_bytes = 64,
                                  .has_ring = true},
                                 kept);
  REQUIRE(shared.has_value());
  return *shared;
}

RingSettings ring_of(const std::string& own) {
  RingSettings ring;
  ring.name = own;
  ring.members = {
      {.name = "a", .addresses = {{"127.0.0.1", 7400}}, .weight = 100, .role = MemberRole::both},
      {.name = "b", .addresses = {{"::1", 7401}}, .weight = 100, .role = MemberRole::response},
      {.name = "c",
       .addresses = {{"127.0.0.1", 7402}},
       .weight = 100,
       .role = MemberRole::request}};
  return ring;
}

std::array<int, 3> owned(const SharedState& shared, dht::Stage stage) {
  std::array<int, 3> counts{};
  for (Partition partition = 0; partition < kPartitions; ++partition) {
    const dht::OwnerWord word = shared.ring().permissions.owner(partition);
    if (word.stage() == stage) ++counts[word.slot()];
  }
  return counts;
}

}  // namespace

TEST_CASE("Of a configured ring each partition has one owner, who says so as well") {
  const SharedState a = shared_memory();
  set_up_static_ring(ring_of("a"), a);
  const SharedState b = shared_memory();
  set_up_static_ring(ring_of("b"), b);
  const auto own = owned(a, dht::Stage::taken);
  const auto others = owned(a, dht::Stage::elsewhere);
  CHECK(own[0] + others[1] == kPartitions);
  CHECK(own[1] + own[2] + others[0] + others[2] == 0);
  CHECK(own[0] > kPartitions * 2 / 5);
  CHECK(others[1] > kPartitions * 2 / 5);
  for (Partition partition = 0; partition < kPartitions; ++partition) {
    const bool is_as = a.ring().permissions.owner(partition).stage() == dht::Stage::taken;
    const bool is_bs = b.ring().permissions.owner(partition).stage() == dht::Stage::taken;
    REQUIRE(is_as != is_bs);
  }
  const auto word = a.ring().permissions.owner(7);
  CHECK(a.ring().permissions.may_accept(7, word, dht::Basis::history, [] {
    return dht::BootTime(std::chrono::hours(24 * 365 * 100));
  }) == (word.stage() == dht::Stage::taken));
}

TEST_CASE("A member that takes clients alone owns nothing") {
  const SharedState shared = shared_memory();
  set_up_static_ring(ring_of("c"), shared);
  CHECK(owned(shared, dht::Stage::taken) == std::array{0, 0, 0});
}

TEST_CASE("The directory has the members' addresses by slot, and a version for each change") {
  const SharedState shared = shared_memory();
  const MemberDirectory members = shared.ring().members;
  CHECK_FALSE(members.find(0).has_value());
  set_up_static_ring(ring_of("a"), shared);
  const auto second = members.find(1);
  REQUIRE(second.has_value());
  CHECK(second->name == "b");
  CHECK(second->addresses ==
        std::vector<MemberAddress>{{.address = *IpAddress::parse("::1"), .port = 7401}});
  CHECK_FALSE(members.find(3).has_value());
  CHECK_FALSE(members.find(dht::kNoSlot).has_value());

  const std::uint64_t version = members.version(1);
  MemberEntry longest{.name = std::string(dht::kNameBytesMax, 'x'), .addresses = {}};
  for (std::uint16_t i = 0; i < dht::kWorkerAddressesMax; ++i)
    longest.addresses.push_back({.address = *IpAddress::parse("192.0.2.1"), .port = i});
  members.set(1, longest);
  CHECK(members.version(1) != version);
  CHECK(members.find(1) == longest);
  members.set(1, {});
  CHECK_FALSE(members.find(1).has_value());
}

}  // namespace prophecy::sketcher
