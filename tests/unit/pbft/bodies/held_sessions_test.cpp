// Which sessions with requests by digest an event looks at, and when they are forgotten.
#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/core/ordering/held_requests.hpp"
#include "pbft/core/state/context.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr Duration kGivenUpAfter = seconds(5);

BodyTree body_of(std::size_t size) {
  return BodyTree(bytes_of_size(size), 100);
}

// Two bodies of 450 bytes are more than one client may have.
ReplicaSettings narrow() {
  ReplicaSettings settings;
  settings.queue_bytes_max = 1000;
  return settings;
}

struct Holder {
  HeldRequests::Outcome hold(std::uint32_t session, std::uint64_t timestamp, const BodyTree& body) {
    return hold(by_digest(timestamp, body.name(), session), std::nullopt, false);
  }
  // A request whose body of so many bytes does not come.
  HeldRequests::Outcome hold_name(NodeId client, std::uint32_t session, std::uint64_t bytes,
                                  std::optional<NodeId> forwarder = std::nullopt,
                                  bool asks = false) {
    const BodyName name{bytes, sha256(as_bytes(std::to_string(client) + std::to_string(session)))};
    return hold(finish_request(begin_request(name, kReplicas), session, 1, false, 0, ring(client)),
                forwarder, asks);
  }
  HeldRequests::Outcome hold(const Frame& frame, std::optional<NodeId> forwarder, bool asks) {
    const auto message = decode_request(*frame, kReplicas);
    return held.hold(*message, *frame, sha256(message->content), forwarder, asks);
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
  Context context{narrow(), ring(1), QuorumRule::standard(1), 1, inputs};
  ClientTable clients{1000};
  Bodies bodies{context, parts};
  HeldRequests held{context, bodies, clients};
};

}  // namespace

TEST_CASE("A body that the disk has failed to take is fetched once more") {
  Holder holder;
  const BodyTree body = body_of(450);
  REQUIRE(holder.hold(0, 1, body) == HeldRequests::Outcome::held);
  const auto first = holder.bring(body);
  REQUIRE(first.size() == 1);
  holder.bodies.on_durable(first[0].id, false);
  CHECK(holder.held.whole().empty());
  holder.context.now += seconds(4);
  const auto second = holder.bring(body);
  REQUIRE(second.size() == 1);
  holder.bodies.on_durable(second[0].id, true);
  CHECK(holder.held.whole().size() == 1);
}

TEST_CASE("A session in which no request finds a place is forgotten after a while") {
  Holder holder;
  const BodyTree first = body_of(450);
  REQUIRE(holder.hold(0, 1, first) == HeldRequests::Outcome::held);
  for (const DurableParts& durable : holder.bring(first))
    holder.bodies.on_durable(durable.id, true);
  REQUIRE(holder.held.whole_of(kClient, 0) != nullptr);
  const BodyTree other = body_of(449);
  SECTION("a new one") {
    CHECK(holder.hold(1, 1, other) == HeldRequests::Outcome::no_room);
  }
  SECTION("one whose request made way for another one, which found no room") {
    const BodyTree small = body_of(40);
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
  Holder holder;
  for (const NodeId client : {kClient, kClient + 1})
    REQUIRE(holder.hold_name(client, 0, 400) == HeldRequests::Outcome::held);
  REQUIRE(holder.hold_name(kClient + 3, 0, 100) == HeldRequests::Outcome::held);
  CHECK(holder.hold_name(kClient + 3, 1, 101) == HeldRequests::Outcome::no_room);
  CHECK(holder.hold_name(kClient + 3, 2, 100) == HeldRequests::Outcome::held);
  CHECK(holder.hold_name(kClient + 1, 1, 1) == HeldRequests::Outcome::no_room);
}

TEST_CASE("A session without a place is kept for what replicas have forwarded alone") {
  Holder holder;
  for (std::uint32_t session = 0; session < 3000; ++session)
    (void)holder.hold_name(kClient, session, 1);
  CHECK(holder.sessions() == 500);
  CHECK(holder.hold_name(kClient, 3000, 1, 2) == HeldRequests::Outcome::no_room);
  CHECK(holder.sessions() == 501);
}

TEST_CASE("What the primary of a view asks for finds a place beside all that is held") {
  Holder holder;
  constexpr NodeId kOther = kClient + 1;
  constexpr NodeId kHonest = kClient + 3;
  REQUIRE(holder.hold_name(kHonest, 0, 40) == HeldRequests::Outcome::held);
  for (const NodeId client : {kClient, kOther}) {
    // The primary of view 0 is faulty, and so are these clients.
    for (std::uint32_t session = 0; session < 20; ++session)
      (void)holder.hold_name(client, session, 50, 0, true);
  }
  CHECK(holder.hold_name(kHonest, 1, 40) == HeldRequests::Outcome::no_room);
  CHECK(holder.hold_name(kHonest, 1, 40, 0, true) == HeldRequests::Outcome::held);
  CHECK(holder.hold_name(kHonest, 2, 40, 0, true) == HeldRequests::Outcome::no_room);
  holder.context.view = 1;
  CHECK(holder.hold_name(kHonest, 2, 40, 1, true) == HeldRequests::Outcome::held);
  CHECK(holder.hold_name(kHonest, 3, 40, 1, true) == HeldRequests::Outcome::no_room);
}

TEST_CASE("A batch without requests costs no look at what is held") {
  Subject backup(1);
  for (std::uint32_t session = 0; session < 100; ++session) {
    backup.feed(announcement(kClient, session));
  }
  REQUIRE(backup.replica.status().bodies_missing == 100);
  const std::uint64_t before = backup.replica.looks();
  const Proposal proposal = pre_prepare(1, {});
  backup.feed(proposal.frame);
  for (const NodeId peer : {2U, 3U})
    backup.feed(prepare(peer, 1, proposal.batch));
  for (const NodeId peer : {0U, 2U})
    backup.feed(commit(peer, 1, proposal.batch));
  REQUIRE(backup.replica.status().last_ordered == 1);
  CHECK(backup.replica.looks() == before);
}

TEST_CASE("What a thousand bodies that do not come cost others' events") {
  constexpr std::uint32_t kBodies = 1024;
  Subject primary(0);
  for (std::uint32_t number = 0; number < kBodies; ++number) {
    primary.now += microseconds(10);
    primary.feed(announcement(kClient, number));
  }
  REQUIRE(primary.replica.status().bodies_missing == kBodies);
  std::uint64_t before = primary.replica.looks();
  const auto looks = [&] {
    return primary.replica.looks() - std::exchange(before, primary.replica.looks());
  };
  primary.feed(announcement(kClient + 1, kBodies));
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
