// A replica whose service is well, but cannot tell its state: an unreadable file, a folder that is
// too deep.
#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"

namespace prophecy::pbft::test {
namespace {

// The record of batches on the disk reaches over eight numbers.
ReplicaSettings short_record() {
  ReplicaSettings settings = every_batch();
  settings.retained_batches = 0;
  return settings;
}

// Backup 1 of a group of which no replica can tell the state of its service.
struct Untold : Subject {
  Untold() : Subject(1, short_record()) { begin(); }

  void begin() {
    execute(1);
    REQUIRE(replica.status().base == 1);
    tells_state = false;
  }
  // A whole batch, up to its stable checkpoint.
  void execute(std::uint64_t sequence) {
    now += seconds(2);
    order(sequence, {request(sequence)});
    REQUIRE(actions.executions.size() == 1);
    executed(actions.executions[0].id, "result");
    const auto said = *decode_checkpoint(*sent_by(*this, MessageType::checkpoint));
    for (const NodeId peer : {0u, 2u}) {
      feed(encode_checkpoint(said.sequence, said.order, said.replies, said.service, ring(peer)));
    }
    REQUIRE(replica.status().last_stable == sequence);
  }
};

}  // namespace

TEST_CASE(
    "A replica that restarts goes back to a state, and on, while it has the record for that") {
  Untold before;
  before.execute(2);
  REQUIRE(before.replica.status().base == 1);
  Subject backup(1, short_record(), before.restarted(), before.parts);
  CHECK(backup.restores == 1);
  CHECK(backup.replica.status().recovery == RecoveryState::none);
}

TEST_CASE("Its service is not made an old state from which there is no way on") {
  Untold before;
  before.answers_flushes = GENERATE(true, false);
  for (std::uint64_t sequence = 2; sequence <= 40; ++sequence) {
    before.execute(sequence);
    if (before.answers_flushes) continue;
    before.actions.clear();
    before.replica.on_parts_flushed(false, before.now, before.actions);
    before.answer();
  }
  Subject backup(1, short_record(), before.restarted(), before.parts);
  CHECK(backup.restores == 0);
  CHECK(backup.replica.status().recovery == RecoveryState::service_lost);
  CHECK((backup.replica.status().base > 30) == before.answers_flushes);
}

}  // namespace prophecy::pbft::test
