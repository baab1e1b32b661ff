// The present state of services becomes the group's at operators' word.
#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {
namespace {

// Backup 1 has executed two batches, and its restart restores nothing.
struct Lost {
  Lost() : before(1) {
    for (std::uint64_t sequence = 1; sequence <= 2; ++sequence) {
      before.order(sequence, {request(sequence)});
      before.executed(before.actions.executions.at(0).id, "result");
    }
    backup = std::make_unique<Subject>(1, ReplicaSettings{}, before.restarted(), before.parts,
                                       Subject::Restores::fail);
    REQUIRE(backup->replica.status().recovery == RecoveryState::service_lost);
  }
  bool look() {
    backup->actions.clear();
    const auto looked = backup->replica.look_at_state(backup->now, backup->actions);
    backup->answer();
    return looked.has_value();
  }
  bool adopt(std::uint64_t at, std::vector<NodeId> except = {}) {
    backup->actions.clear();
    const auto adopted =
        backup->replica.adopt_state({root(), at, std::move(except)}, backup->now, backup->actions);
    backup->answer();
    refusal = adopted ? "" : adopted.error().message;
    return adopted.has_value();
  }
  Digest root() const { return backup->replica.adoption().members.at(1).state; }
  void say(NodeId peer, PresentState present) const {
    backup->feed(encode_present(present, ring(peer)));
  }
  void tell(NodeId peer, std::uint64_t reach) const {
    say(peer, {.reach = reach, .state = root()});
  }
  void agree(NodeId peer, std::uint64_t at) const {
    say(peer, {.reach = at, .state = root(), .agrees = true});
  }
  AdoptionState state() const { return backup->replica.adoption_state(); }

  std::string refusal;
  Subject before;
  std::unique_ptr<Subject> backup;
};

}  // namespace

TEST_CASE("2f+1 replicas that agree go on from their present state") {
  Lost world;
  Subject& backup = *world.backup;
  REQUIRE(world.look());
  CHECK(world.state() == AdoptionState::told);
  world.tell(0, 2);
  CHECK_FALSE(world.adopt(2));  // of two only
  world.tell(3, 3);
  CHECK(world.backup->replica.adoption().at == 3);
  CHECK_FALSE(world.adopt(2));  // one may have executed more
  REQUIRE(world.adopt(3));
  CHECK(world.state() == AdoptionState::agreed);
  world.agree(0, 3);
  CHECK(world.state() == AdoptionState::agreed);
  // At another number, or of nobody.
  world.agree(3, 4);
  backup.feed(encode_present({.reach = 3, .state = world.root(), .agrees = true}, ring(kClient)));
  CHECK(world.state() == AdoptionState::agreed);
  world.agree(3, 3);
  REQUIRE(world.state() == AdoptionState::adopted);
  CHECK(backup.adoptions == 1);
  CHECK(backup.replica.counters().states_adopted == 1);
  CHECK(backup.replica.status().answers);
  // What the state holds is not executed once more, what comes then is.
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    backup.order(sequence, {request(sequence)});
    CHECK(backup.actions.executions.empty());
  }
  CHECK(backup.replica.status().last_executed == 3);
  backup.order(4, {request(4)});
  CHECK(backup.actions.executions.size() == 1);
  CHECK(world.adopt(3));  // once more, as somebody does who is not sure
  CHECK_FALSE(world.adopt(4));
  // Nor is it at a restart: the old state is none to go back to.
  Subject again(1, {}, backup.restarted(), backup.parts);
  CHECK(again.restores == 0);
  CHECK(again.replica.status().recovery == RecoveryState::service_lost);
}

TEST_CASE("Who is in another state, or has one, is named, and has to be left out") {
  Lost world;
  REQUIRE(world.look());
  world.tell(0, 2);
  world.tell(3, 2);
  const bool has_state = GENERATE(true, false);
  world.say(2, has_state ? PresentState{.has_state = true} : PresentState{.state = Digest{1}});
  REQUIRE_FALSE(world.adopt(2));
  CHECK(world.refusal.find("replica 2") != std::string::npos);
  CHECK(world.adopt(2, {2}));
}

TEST_CASE("Nothing is executed or restored while operators decide, for ten minutes") {
  Lost world;
  Subject& backup = *world.backup;
  REQUIRE(world.look());
  const std::size_t restores = backup.restores;
  for (int i = 0; i < 590; ++i)
    backup.tick(seconds(1));
  CHECK(backup.restores == restores);
  CHECK(world.state() == AdoptionState::told);
  for (int i = 0; i < 80; ++i)
    backup.tick(seconds(1));
  CHECK(world.state() == AdoptionState::none);
  CHECK(backup.restores > restores);
}

TEST_CASE("The state is told again and again while operators decide: messages may be lost") {
  Lost world;
  REQUIRE(world.look());
  const auto told_in_ten_seconds = [&] {
    std::size_t told = 0;
    for (int i = 0; i < 40; ++i) {
      world.backup->tick(milliseconds(250));
      told += world.backup->sent(MessageType::present);
    }
    return told / (kReplicas - 1);
  };
  CHECK(told_in_ten_seconds() == 40);
  world.tell(0, 2);
  world.tell(3, 2);
  REQUIRE(world.adopt(2));
  CHECK(told_in_ten_seconds() == 40);
}

TEST_CASE("A state that has changed since it was told is not adopted") {
  Lost world;
  REQUIRE(world.look());
  world.tell(0, 2);
  world.tell(3, 2);
  world.backup->state = "another";
  REQUIRE(world.adopt(2));
  CHECK(world.state() == AdoptionState::told);
  CHECK_FALSE(world.backup->replica.adoption().problem.empty());
}

TEST_CASE("A replica with a state, or without a record of requests, looks at none") {
  Subject well(1);
  CHECK_FALSE(well.replica.look_at_state(well.now, well.actions).has_value());
  ReplicaStart forgotten;
  forgotten.memory = ReplicaStart::Memory::lost;
  Subject lost(1, {}, forgotten);
  CHECK_FALSE(lost.replica.look_at_state(lost.now, lost.actions).has_value());
}

}  // namespace prophecy::pbft::test
