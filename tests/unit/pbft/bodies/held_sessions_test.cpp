// Which sessions with requests by digest an event looks at, and when they are forgotten.
#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/core/ordering/held_requests.hpp"
#include "pbft/core/state/context.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr Duration kGivenUpAfter = seconds(5);

BodyTree sized_body(std::size_t size) {
  return BodyTree(bytes_of_size(size), 100);
}

// Two bodies of 450 bytes are more than one client may have.
ReplicaSettings narrow_room() {
  ReplicaSettings settings;
  settings.queue_bytes_max = 1000;
  return settings;
}

struct SessionHolder {
  HeldRequests::Outcome hold(std::uint32_t session, std::uint64_t timestamp, const BodyTree& body,
                             NodeId client = kClient) {
    const Frame frame = finish_request(begin_request(body.name(), kReplicas), session, timestamp,
                                       false, 0, ring(client));
    const auto message = decode_request(*frame, kReplicas);
    return held.hold(*message, *frame, sha256(message->content), std::nullopt, false);
  }
  // All of it comes; the disk has it once that is said.
  std::vector<DurableParts> bring(const BodyTree& body) {
    ReplicaActions actions;
    bodies.advance(actions);
    for (bool asks = true; asks;) {
      asks = false;
      for (const Outgoing& outgoing : std::exchange(actions.sends, {})) {
        const auto asked = decode_fetch_parts(*outgoing.frame);
        for (const Digest& digest : asked->parts) {
          if (const auto part = body.part(digest)) asks = bodies.on_part(digest, *part) || asks;
        }
      }
      bodies.advance(actions);
    }
    return actions.durable_parts;
  }
  void pass(Duration time) {
    context.now += time;
    for (const auto& [client, session] : held.take_due())
      (void)held.whole_of(client, session);
  }
  std::uint64_t sessions() {
    const std::uint64_t before = context.looks;
    (void)held.whole();
    return context.looks - before;
  }

  GivenInputs inputs;
  MemoryPartStore parts;
  Context context{narrow_room(), ring(1), QuorumRule::standard(1), 1, inputs};
  ClientTable clients{1000};
  Bodies bodies{context, parts};
  HeldRequests held{context, bodies, clients};
};

// Number 1, with one request by digest of session 7.
Slot slot_at(SlotPhase phase) {
  Slot slot(kReplicas);
  slot.sequence = 1;
  slot.batch = sha256(as_bytes("batch"));
  slot.pre_prepare = by_digest(1);
  slot.phase = phase;
  slot.requests.emplace_back();
  slot.requests.back().client = kClient;
  slot.requests.back().session = 7;
  return slot;
}

const std::vector<HeldRequests::Key> kSessionSeven{{kClient, 7}};

}  // namespace

TEST_CASE("A session in which no request finds a place is forgotten after a while") {
  SessionHolder holder;
  const BodyTree first = sized_body(450);
  REQUIRE(holder.hold(0, 1, first) == HeldRequests::Outcome::held);
  for (const DurableParts& durable : holder.bring(first))
    holder.bodies.on_durable(durable.id, true);
  REQUIRE(holder.held.whole_of(kClient, 0) != nullptr);
  const BodyTree other = sized_body(449);
  SECTION("a new one") {
    CHECK(holder.hold(1, 1, other) == HeldRequests::Outcome::no_room);
  }
  SECTION("one whose request made way for another one, which found no room") {
    const BodyTree small = sized_body(40);
    REQUIRE(holder.hold(1, 1, small) == HeldRequests::Outcome::held);
    const auto stored = holder.bring(small);
    REQUIRE(stored.size() == 1);
    holder.pass(kGivenUpAfter);  // the disk takes its time
    holder.pass(seconds(1));
    CHECK(holder.hold(1, 2, other) == HeldRequests::Outcome::no_room);
  }
  holder.pass(kGivenUpAfter - milliseconds(1));
  holder.pass(milliseconds(1));
  CHECK(holder.sessions() == 1);
}

TEST_CASE("The bodies of all clients take the room to the last byte, and no more") {
  SessionHolder holder;
  for (const NodeId client : {kClient, kClient + 1})
    REQUIRE(holder.hold(0, 1, sized_body(400), client) == HeldRequests::Outcome::held);
  REQUIRE(holder.hold(0, 1, sized_body(100), kClient + 3) == HeldRequests::Outcome::held);
  CHECK(holder.hold(1, 1, sized_body(101), kClient + 3) == HeldRequests::Outcome::no_room);
  CHECK(holder.hold(2, 1, sized_body(100), kClient + 3) == HeldRequests::Outcome::held);
  CHECK(holder.hold(1, 1, sized_body(1), kClient + 1) == HeldRequests::Outcome::no_room);
}

TEST_CASE("A batch that was ordered costs a look at the sessions of its requests alone") {
  SessionHolder holder;
  const BodyTree body = sized_body(40);
  for (const std::uint32_t session : {7U, 8U})
    REQUIRE(holder.hold(session, 1, body) == HeldRequests::Outcome::held);
  REQUIRE(holder.sessions() == 2);
  Slot slot = slot_at(SlotPhase::committed);
  const auto order = [&] {
    holder.held.expect(slot);
    slot.requests.clear();
    slot.execution = SlotExecution::executing;
    holder.context.progress.last_ordered = 1;
    holder.held.note_ordered(slot);
  };
  SECTION("in one go") {
    order();
    CHECK(holder.held.take_let_go() == kSessionSeven);
    CHECK_FALSE(holder.held.concerns_all());
  }
  SECTION("executed before it was committed") {
    slot.phase = SlotPhase::prepared;
    holder.held.expect(slot);
    slot.requests.clear();
    slot.execution = SlotExecution::executing;
    holder.held.note_ordered(slot);
    CHECK(holder.held.take_let_go().empty());
    REQUIRE(holder.hold(9, 1, body) == HeldRequests::Outcome::held);
    slot.phase = SlotPhase::committed;
    order();
    CHECK(holder.held.take_let_go() == kSessionSeven);
    CHECK_FALSE(holder.held.concerns_all());
  }
  SECTION("executed before, and undone: its requests are not known, and all are looked at") {
    slot.requests.clear();
    order();
    CHECK(holder.held.take_let_go().empty());
    CHECK(holder.held.concerns_all());
  }
  SECTION("another batch than the one that was expected") {
    slot.phase = SlotPhase::prepared;
    holder.held.expect(slot);
    slot.phase = SlotPhase::committed;
    slot.batch = sha256(as_bytes("another"));
    slot.requests.back().session = 8;
    order();
    CHECK(holder.held.take_let_go() == std::vector<HeldRequests::Key>{{kClient, 8}});
    CHECK_FALSE(holder.held.concerns_all());
  }
  SECTION("more than one of which nothing is known") {
    slot.sequence = 2;
    holder.held.expect(slot);
    holder.context.progress.last_ordered = 2;
    holder.held.note_ordered(slot);
    CHECK(holder.held.concerns_all());
  }
}

TEST_CASE("What a thousand bodies that do not come cost others' events") {
  constexpr std::uint32_t kBodies = 1024;
  Subject primary(0);
  const auto announce = [&](NodeId client, std::uint32_t number) {
    const BodyName name{16, sha256(as_bytes(std::to_string(number)))};
    primary.feed(finish_request(begin_request(name, kReplicas), number, 1, false, 0, ring(client)));
  };
  for (std::uint32_t number = 0; number < kBodies; ++number) {
    primary.now += microseconds(10);
    announce(kClient, number);
  }
  REQUIRE(primary.replica.status().bodies_missing == kBodies);
  std::uint64_t before = primary.replica.looks();
  const auto looks = [&] {
    return primary.replica.looks() - std::exchange(before, primary.replica.looks());
  };
  announce(kClient + 1, kBodies);
  CHECK(looks() <= 3);
  primary.feed(request(1, "small", false, 0, 0, kClient + 3));
  CHECK(looks() == 0);
  const AgreedInput input{primary.inputs.time, primary.inputs.seed};
  const Digest batch =
      pre_prepare(1, {request(1, "small", false, 0, 0, kClient + 3)}, 0, 0, input).batch;
  for (const NodeId peer : {1U, 2U})
    primary.feed(prepare(peer, 1, batch));
  for (const NodeId peer : {1U, 2U})
    primary.feed(commit(peer, 1, batch));
  REQUIRE(primary.replica.status().last_ordered == 1);
  CHECK(looks() <= 1);
  // The first one's source has brought nothing.
  primary.tick(milliseconds(200) - microseconds(10) * (kBodies - 1));
  REQUIRE(primary.sent(MessageType::fetch_parts) == 1);
  CHECK(looks() == 1);
}

}  // namespace prophecy::pbft::test
