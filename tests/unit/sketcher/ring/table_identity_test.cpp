// Whose entries a kept table may have.
#include "sketcher/installation/table_identity.hpp"

#include <catch2/catch.hpp>

namespace prophecy::sketcher {
namespace {

RingSettings list_of(const std::string& own) {
  RingSettings ring;
  ring.name = own;
  ring.members = {{.name = "a", .addresses = {{"127.0.0.1", 7400}}, .weight = 100},
                  {.name = "b", .addresses = {{"127.0.0.1", 7401}}, .weight = 100}};
  return ring;
}

table::Identity identity_in(const std::optional<RingSettings>& ring) {
  Installation installation;
  installation.settings.ring = ring;
  return table_identity(installation, {});
}

}  // namespace

TEST_CASE("A kept table is of the keys that its sketcher owns by its configuration") {
  const table::Identity alone = identity_in({});
  CHECK(alone.ownership_epoch == 0);
  const RingSettings list = list_of("a");
  const table::Identity listed = identity_in(list);
  CHECK(listed == identity_in(list));
  CHECK(listed != alone);
  CHECK(listed != identity_in(list_of("b")));
  RingSettings changed = list;
  SECTION("one more member") {
    changed.members.push_back({.name = "c", .addresses = {{"127.0.0.1", 7402}}, .weight = 100});
  }
  SECTION("another weight") {
    changed.members[1].weight = 101;
  }
  SECTION("another role") {
    changed.members[1].role = MemberRole::request;
  }
  SECTION("another name") {
    changed.members[1].name = "c";
  }
  CHECK(identity_in(changed) != listed);
  CHECK(identity_in(changed) != alone);
}

TEST_CASE("Where a member's process may run does not change what it owns") {
  RingSettings moved = list_of("a");
  moved.members[0].addresses = {{"127.0.0.2", 7400}};
  CHECK(identity_in(moved) == identity_in(list_of("a")));
}

TEST_CASE(
    "A member whose partitions come and go erases what it takes, and leaves nothing to others") {
  RingSettings living = list_of("a");
  living.living.emplace();
  CHECK(identity_in(living).ownership_epoch == table::kChangingOwnership);
  // What members have to agree on is the same for all of them.
  CHECK(identity_in(living).groups == identity_in({}).groups);
}

}  // namespace prophecy::sketcher
