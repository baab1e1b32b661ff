// What a replica says after a loss of its memory, and how a group begins that has none.
#include "pbft/core/recovery/rejoin.hpp"

#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft::test {
namespace {

Frame pledge(NodeId from, std::uint64_t incarnation, std::uint64_t checkpoint, bool fresh = false,
             std::uint64_t view = 0) {
  PledgeMessage message;
  message.to = 1;
  message.incarnation = incarnation;
  message.fresh = fresh;
  message.view = view;
  message.checkpoint = checkpoint;
  return encode_pledge(message, ring(from));
}

Frame view_change_of(NodeId from, std::uint64_t incarnation, std::uint64_t view) {
  ViewChangeMessage message;
  message.incarnation = incarnation;
  message.view = view;
  return encode_view_change(message, ring(from));
}

ReplicaStart without_memory() {
  ReplicaStart start;
  start.memory = ReplicaStart::Memory::lost;
  start.wall_clock = 7000;
  return start;
}

ReplicaSettings every_batch_of(std::uint32_t faults) {
  ReplicaSettings settings = every_batch();
  settings.faults = faults;
  return settings;
}

// Whom it has asked for a pledge within this time.
std::vector<NodeId> asked_in(Subject& replica, Duration length) {
  std::vector<NodeId> asked;
  for (Duration passed{}; passed < length; passed += milliseconds(100)) {
    replica.tick(milliseconds(100));
    for (const Outgoing& outgoing : replica.actions.sends) {
      if (peek_header(*outgoing.frame)->type == MessageType::rejoin) asked.push_back(outgoing.to);
    }
  }
  return asked;
}

// The last replica of a group for so many faults, which has lost its memory.
struct Reborn {
  explicit Reborn(std::uint32_t faults)
      : replicas(3 * faults + 1),
        own(ring_of(replicas - 1, replicas)),
        replica(every_batch_of(faults), own, parts, inputs) {
    REQUIRE(replica.start(without_memory(), now, actions));
  }
  // A pledge for this life.
  void hear(NodeId from, std::uint64_t view) {
    PledgeMessage message;
    message.to = replicas - 1;
    message.incarnation = 7000;
    message.view = view;
    message.checkpoint = 1;
    replica.on_frame(*encode_pledge(message, ring_of(from, replicas)), now, actions);
  }
  void pass(Duration time) {
    for (const TimePoint end = now + time; now < end;)
      replica.on_tick(now += milliseconds(100), actions);
  }

  std::uint32_t replicas;
  KeyRing own;
  MemoryPartStore parts;
  GivenInputs inputs;
  ReplicaActions actions;
  TimePoint now{};
  Replica replica;
};

}  // namespace

TEST_CASE("Who has lost its memory votes only behind all that it can have said") {
  Subject backup(1, every_batch(), without_memory());
  const Frame asks = sent_by(backup, MessageType::rejoin);
  REQUIRE(asks != nullptr);
  CHECK(decode_rejoin(*asks)->incarnation == 7000);
  backup.feed(pre_prepare(1, {request(1)}).frame);
  CHECK(backup.sent(MessageType::prepare) == 0);
  backup.feed(pledge(0, 7000, 10));
  backup.feed(pledge(2, 6000, 10));  // of a request before this one
  CHECK(backup.replica.status().silent_until == Context::kAsking);
  backup.feed(pledge(2, 7000, 4));
  // Of a checkpoint that nobody proves, and too far from what is proven, nothing is believed.
  backup.tick(seconds(10));
  CHECK(backup.replica.status().silent_until == Context::kAsking);
  backup.feed(pledge(0, 7000, 3));
  // Not all have answered: others of a new group may be about to.
  for (int round = 0; round < 20; ++round)
    backup.tick(milliseconds(100));
  CHECK(backup.replica.status().silent_until == 4 + 4 + 1);
  // Nor does it ask for views, however long a request waits.
  backup.feed(retransmitted(request(1)));
  backup.tick(seconds(60));
  CHECK(backup.sent(MessageType::view_change) == 0);
}

// Of the claims of its earlier life only the order counts. A group in which it is a member
// again has claims of the newest checkpoint by others, or by what it is now.
TEST_CASE("Who has lost its memory is silent up to a checkpoint that it cannot have claimed") {
  Subject backup(1, every_batch(), without_memory());
  for (const NodeId peer : {0u, 2u})
    backup.feed(pledge(peer, 7000, 4));
  for (int round = 0; round < 20; ++round)
    backup.tick(milliseconds(100));
  const std::uint64_t last_claimed = 4 + 4;
  for (const std::uint64_t stable : {last_claimed, last_claimed + 1}) {
    REQUIRE(backup.replica.status().silent_until == last_claimed + 1);
    for (const NodeId from : {0u, 2u, 3u})
      backup.feed(encode_checkpoint(stable, sha256(as_bytes("order")), {}, {}, ring(from)));
    REQUIRE(backup.replica.status().last_stable == stable);
  }
  CHECK(backup.replica.status().silent_until == 0);
}

TEST_CASE("A silent replica asks the peers whose pledge it lacks, once a second") {
  Subject backup(1, every_batch(), without_memory());
  for (const NodeId peer : {0u, 2u})
    backup.feed(pledge(peer, 7000, 4));
  for (int round = 0; round < 20; ++round)
    backup.tick(milliseconds(100));
  REQUIRE(backup.replica.status().silent_until == 4 + 4 + 1);
  CHECK(asked_in(backup, seconds(3)) == std::vector<NodeId>{3, 3, 3});
  backup.feed(pledge(3, 7000, 4));
  CHECK(asked_in(backup, seconds(3)).empty());
}

// Whoever has forgotten who pledged to it asks all: one that never heard of its new life may be the
// primary, and carries it nowhere.
TEST_CASE("A replica that is restarted while it is silent asks again for pledges") {
  Subject before(1, every_batch(), without_memory());
  for (const NodeId peer : {0u, 2u, 3u})
    before.feed(pledge(peer, 7000, 4));
  REQUIRE(before.replica.status().silent_until == 4 + 4 + 1);
  Subject backup(1, every_batch(), before.restarted());
  REQUIRE(backup.replica.status().silent_until == 4 + 4 + 1);
  CHECK(asked_in(backup, milliseconds(100)) == std::vector<NodeId>{0, 2, 3});
  for (const NodeId peer : {0u, 2u})
    backup.feed(pledge(peer, 7000, 4));
  CHECK(asked_in(backup, seconds(2)) == std::vector<NodeId>{3, 3});
}

TEST_CASE("With f of 2, the view of a new life is one that 2f pledges are not beyond") {
  Reborn reborn(2);
  const Replica& replica = reborn.replica;
  SECTION("a peer that is further refuses less of the earlier life") {
    // View 1 was asked for in the earlier life, and peer 0 would take that for view 1. In a view
    // before it the replica could take part in what that view would then contradict.
    reborn.hear(0, 1);
    for (const NodeId peer : {1u, 2u, 3u})
      reborn.hear(peer, 0);
    CHECK(replica.status().silent_until == Context::kAsking);  // 1 is nobody's word but peer 0's
    reborn.hear(4, 0);
    CHECK(replica.status().silent_until == 1 + 4 + 1);
    CHECK(replica.status().view == 0);
  }
  SECTION("others that are as far vouch for a view") {
    for (const NodeId peer : {0u, 1u})
      reborn.hear(peer, 1);
    for (const NodeId peer : {2u, 3u})
      reborn.hear(peer, 0);
    CHECK(replica.status().silent_until == 1 + 4 + 1);
    CHECK(replica.status().view == 1);
  }
  SECTION("one that lies takes nobody into a view that never was") {
    reborn.hear(0, kViewMax);
    for (const NodeId peer : {1u, 2u, 3u})
      reborn.hear(peer, 5);
    CHECK(replica.status().silent_until == Context::kAsking);
    reborn.hear(4, 5);
    CHECK(replica.status().view == 5);
  }
}

TEST_CASE("Fewer than f that are further keep nobody without memory from coming back for ever") {
  // Three correct peers of twelve ask for a later view, two others have crashed, and nothing is to
  // be ordered: nobody follows them.
  Reborn reborn(4);
  const Replica& replica = reborn.replica;
  for (NodeId peer = 0; peer < 7; ++peer)
    reborn.hear(peer, 3);
  SECTION("in the next view") {
    for (NodeId peer = 7; peer < 10; ++peer)
      reborn.hear(peer, 4);
    reborn.pass(milliseconds(1900));
    CHECK(replica.status().silent_until == Context::kAsking);
    reborn.pass(milliseconds(200));
    CHECK(replica.status().silent_until == 1 + 4 + 1);
    CHECK(replica.status().view == 4);
  }
  SECTION("but not in a view far from those that others name") {
    for (NodeId peer = 7; peer < 10; ++peer)
      reborn.hear(peer, 5);
    reborn.pass(seconds(10));
    CHECK(replica.status().silent_until == Context::kAsking);
    reborn.hear(10, 3);
    CHECK(replica.status().view == 3);
  }
}

TEST_CASE("If 2f others have never said anything, the group is new") {
  Subject backup(1, {}, without_memory());
  backup.feed(pledge(0, 7000, 0, true));
  backup.feed(pledge(2, 7000, 0, true));
  SECTION("and begins when all have heard of each other") {
    backup.feed(pledge(3, 7000, 0, true));
    for (const NodeId peer : {0u, 2u, 3u}) {
      CHECK(backup.replica.status().silent_until == Context::kAsking);
      backup.feed(encode_rejoin(6, ring(peer)));
    }
    backup.tick(milliseconds(100));
  }
  SECTION("and does not wait for one that is down") {
    for (const NodeId peer : {0u, 2u})
      backup.feed(encode_rejoin(6, ring(peer)));
    for (int i = 0; i < 19; ++i)
      backup.tick(milliseconds(100));
    CHECK(backup.replica.status().silent_until == Context::kAsking);
    backup.tick(milliseconds(100));
  }
  CHECK(backup.replica.status().silent_until == 0);
  backup.feed(pre_prepare(1, {request(1)}).frame);
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
}

TEST_CASE("What was proposed before it is known that the group is new, is voted on then") {
  Subject backup(1, {}, without_memory());
  const Proposal proposal = pre_prepare(1, {request(1)});
  backup.feed(proposal.frame);
  for (const NodeId peer : {2u, 3u})
    backup.feed(prepare(peer, 1, proposal.batch));
  CHECK(backup.sent(MessageType::prepare) == 0);
  CHECK(backup.sent(MessageType::commit) == 0);
  for (const NodeId peer : {0u, 2u})
    backup.feed(pledge(peer, 7000, 0, true));
  for (int i = 0; i < 20; ++i)
    backup.tick(milliseconds(100));
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
  CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
}

TEST_CASE(
    "A pledge to a replica that began before this one had promised anything says so for ever") {
  const auto pledged = [](Subject& subject, NodeId peer, std::uint64_t incarnation) {
    subject.actions.clear();
    subject.now += seconds(1);
    subject.feed(encode_rejoin(incarnation, ring(peer)));
    const Frame frame = sent_by(subject, MessageType::pledge);
    REQUIRE(frame != nullptr);
    return decode_pledge(*frame, kReplicas)->fresh;
  };
  Subject backup(1);
  CHECK(pledged(backup, 2, 6));
  backup.feed(pre_prepare(1, {request(1)}).frame);
  CHECK(pledged(backup, 2, 6));
  CHECK_FALSE(pledged(backup, 2, 7));  // it has begun once more
  CHECK_FALSE(pledged(backup, 2, 6));  // with its clock set back
  CHECK_FALSE(pledged(backup, 3, 6));
}

TEST_CASE("The others of a group that may be new are waited for, for a while") {
  const auto silent = [](const Subject& subject) { return subject.replica.status().silent_until; };
  Subject new_group(1, {}, without_memory());
  new_group.feed(pledge(0, 7000, 0));
  new_group.feed(pledge(2, 7000, 0, true));
  CHECK(silent(new_group) == Context::kAsking);
  new_group.feed(pledge(3, 7000, 0, true));
  for (const NodeId peer : {0u, 2u, 3u})
    new_group.feed(encode_rejoin(6, ring(peer)));
  new_group.tick(milliseconds(100));
  CHECK(silent(new_group) == 0);

  Subject old_group(1, {}, without_memory());
  old_group.feed(pledge(0, 7000, 0));
  old_group.feed(pledge(2, 7000, 0, true));
  for (int i = 0; i < 30; ++i)
    old_group.tick(milliseconds(100));
  CHECK(silent(old_group) == ReplicaSettings{}.window + ReplicaSettings{}.checkpoint_interval);
}

TEST_CASE("Whose clock was set back does not take an old group for new") {
  Subject backup(1, {}, without_memory());
  // They were fresh when it was born first, long ago.
  for (const NodeId peer : {0u, 2u, 3u})
    backup.feed(pledge(peer, 9000, 0, true));
  backup.tick(milliseconds(100));
  for (const NodeId peer : {0u, 2u, 3u})
    backup.feed(pledge(peer, 9001, 0, false));
  for (int i = 0; i < 21; ++i)
    backup.tick(milliseconds(100));
  CHECK(backup.replica.status().silent_until ==
        ReplicaSettings{}.window + ReplicaSettings{}.checkpoint_interval);
}

TEST_CASE("A request that came before the group began does not cost its primary the view") {
  Subject backup(1, {}, without_memory());
  backup.feed(retransmitted(request(1)));
  for (const NodeId peer : {0u, 2u})
    backup.feed(pledge(peer, 7000, 0, true));
  for (int i = 0; i < 20; ++i)
    backup.tick(milliseconds(100));
  REQUIRE(backup.replica.status().silent_until == 0);
  backup.tick(milliseconds(100));
  CHECK(backup.sent(MessageType::view_change) == 0);
  backup.tick(milliseconds(500));
  CHECK(backup.sent(MessageType::view_change) == kReplicas - 1);
}

TEST_CASE("An incarnation is above all that peers have heard of") {
  Subject backup(1, {}, without_memory());
  backup.feed(pledge(0, 9000, 3));
  backup.tick(milliseconds(100));
  CHECK(decode_rejoin(*sent_by(backup, MessageType::rejoin))->incarnation == 9001);
}

TEST_CASE("A life that began with a clock years ahead begins anew once the clock is right") {
  ReplicaStart start = without_memory();
  start.wall_clock = GivenInputs().time / 1'000'000 + 2 * 366ULL * 24 * 3600 * 1000;
  Subject before(1, {}, start);
  ReplicaStart later = before.restarted();
  later.wall_clock = 8000;
  Subject backup(1, {}, later);
  backup.tick(milliseconds(100));
  CHECK(decode_rejoin(*sent_by(backup, MessageType::rejoin))->incarnation == 8000);
  for (const NodeId peer : {0u, 2u})
    backup.feed(pledge(peer, 8000, 4));
  backup.tick(seconds(2));
  CHECK(backup.replica.status().silent_until > 0);
  CHECK(backup.replica.status().silent_until < 8000);
}

TEST_CASE("One replica talks nobody of a new group into another incarnation") {
  Subject backup(1, {}, without_memory());
  for (const NodeId peer : {2u, 3u})
    backup.feed(pledge(peer, 7000, 0, true));
  for (int i = 0; i < 20; ++i) {
    backup.feed(pledge(0, 9000 + static_cast<std::uint64_t>(i), 3));
    backup.tick(milliseconds(100));
  }
  CHECK(decode_rejoin(*sent_by(backup, MessageType::rejoin))->incarnation == 7000);
  CHECK(backup.replica.status().silent_until == 0);
}

TEST_CASE("A pledge: what a peer asked for before it lost its memory counts no more") {
  Subject primary(1);
  primary.feed(view_change_of(2, 5, 1));
  primary.feed(encode_rejoin(6, ring(2)));
  CHECK(primary.sent(MessageType::pledge) == 1);
  primary.feed(view_change_of(3, 0, 1));
  CHECK(primary.replica.status().view == 0);  // f+1 would have taken it along
  primary.now += seconds(1);
  CHECK_FALSE(primary.feed(view_change_of(2, 5, 2)));
  primary.now += seconds(1);
  primary.feed(view_change_of(2, 6, 1));
  CHECK(primary.replica.status().view == 1);
}

TEST_CASE("A primary that has not heard of a peer's new life breaks no rule by that") {
  Subject backup(1);
  backup.feed(encode_rejoin(6, ring(3)));
  const std::vector<Frame> asked{view_change_of(0, 0, 2), view_change_of(2, 0, 2),
                                 view_change_of(3, 5, 2)};
  std::vector<ByteView> frames;
  frames.reserve(asked.size());
  for (const Frame& frame : asked)
    frames.emplace_back(*frame);
  CHECK(backup.feed(encode_new_view(2, frames, ring(2))));
  CHECK(backup.replica.status().view == 0);
  CHECK(backup.dropped(DropReason::malformed) == 0);
  // It does, when the messages cannot make a view.
  backup.now += seconds(1);
  frames[2] = frames[1];
  CHECK(backup.feed(encode_new_view(2, frames, ring(2))));
  CHECK(backup.dropped(DropReason::malformed) == 1);
}

TEST_CASE("A replica believes no view-change message of its own earlier life") {
  Subject backup(1, every_batch(), without_memory());
  for (const NodeId peer : {0u, 2u, 3u})
    backup.feed(pledge(peer, 7000, 1));
  REQUIRE(backup.replica.status().silent_until == 1 + 4 + 1);
  const std::vector<Frame> old_ones{view_change_of(1, 3, 2), view_change_of(2, 0, 2),
                                    view_change_of(3, 0, 2)};
  std::vector<ByteView> frames(old_ones.size());
  std::transform(old_ones.begin(), old_ones.end(), frames.begin(),
                 [](const Frame& frame) { return ByteView(*frame); });
  backup.feed(encode_new_view(2, frames, ring(2)));
  CHECK(backup.replica.status().view == 0);
}

TEST_CASE("A primary that has lost its memory is replaced at once") {
  Subject backup(2);
  backup.order(1, {request(1)});
  backup.feed(encode_rejoin(6, ring(0)));
  CHECK(backup.replica.status().view == 1);
  CHECK(backup.replica.status().view_change_cause == ViewChangeCause::primary_rejoins);
}

TEST_CASE("A primary that says it has lost its memory gets no time to begin its view") {
  Subject backup(2);
  StatusMessage status;
  status.first_retained = 1;
  const auto say = [&](std::uint64_t silent_until) {
    ++status.counter;
    status.silent_until = silent_until;
    backup.feed(encode_status(status, ring(1)));
  };
  say(100);
  const bool speaks_again = GENERATE(false, true);
  if (speaks_again) say(0);
  backup.feed(retransmitted(request(1)));
  backup.tick(ReplicaSettings().view_change_timeout);
  REQUIRE(backup.replica.view() == 1);
  backup.tick(milliseconds(0));
  CHECK(backup.replica.view() == 1);  // nobody else to go on with
  backup.feed(view_change_of(0, 0, 1));
  backup.feed(view_change_of(3, 0, 1));
  backup.tick(milliseconds(0));
  CHECK(backup.replica.view() == (speaks_again ? 1 : 2));
}

TEST_CASE("A peer that waits for a checkpoint is carried there by batches without requests") {
  Subject primary(0, every_batch());
  StatusMessage status;
  status.counter = 1;
  status.first_retained = 1;
  status.silent_until = 4;
  // Not for one that has asked for no pledge, or that names more than can follow from this one's.
  primary.feed(encode_status(status, ring(2)));
  CHECK(primary.sent(MessageType::pre_prepare) == 0);
  primary.feed(encode_rejoin(6, ring(3)));
  status.silent_until = 2 * 4 + 1 + 1;
  primary.feed(encode_status(status, ring(3)));
  CHECK(primary.sent(MessageType::pre_prepare) == 0);
  status.silent_until = GENERATE(4, 2 * 4 + 1);
  status.counter = 2;
  primary.feed(encode_status(status, ring(3)));
  CHECK(primary.sent(MessageType::pre_prepare) > 0);
  const auto proposal = decode_pre_prepare(*sent_by(primary, MessageType::pre_prepare), kReplicas);
  REQUIRE(proposal);
  CHECK(proposal->requests.empty());
}

TEST_CASE("A peer is helped through its silence once in each of its lives") {
  ReplicaSettings settings = every_batch();
  settings.batches_in_flight_max = settings.partial_batches_in_flight_max = 1;
  Subject primary(0, settings);
  std::uint64_t counter = 0;
  const auto proposals = [&](std::uint64_t silent_until) {
    StatusMessage status;
    status.counter = ++counter;
    status.first_retained = 1;
    status.silent_until = silent_until;
    primary.actions.clear();
    primary.feed(encode_status(status, ring(3)));
    return primary.sent(MessageType::pre_prepare) / (kReplicas - 1);
  };
  primary.feed(encode_rejoin(6, ring(3)));
  REQUIRE(proposals(4) == 1);
  const auto first = decode_pre_prepare(*sent_by(primary, MessageType::pre_prepare), kReplicas);
  Sha256 chain;  // of no requests
  append_to_batch(chain, first->input);
  const Digest batch = chain.finish();
  CHECK(proposals(0) == 0);
  for (const NodeId peer : {1u, 2u})
    primary.feed(prepare(peer, 1, batch));
  for (const NodeId peer : {1u, 2u})
    primary.feed(commit(peer, 1, batch));
  REQUIRE(primary.replica.status().last_executed == 1);
  // No further than it named first, whatever it names now.
  CHECK(proposals(8) == 0);
  primary.now += seconds(20);
  CHECK(proposals(8) == 0);
}

TEST_CASE("No life of a peer is its last: what is far ahead of all clocks is not believed") {
  Subject backup(1);
  const std::uint64_t now = backup.inputs.time / 1'000'000;
  backup.feed(encode_rejoin(UINT64_MAX, ring(3)));
  backup.feed(encode_rejoin(now + 400ULL * 24 * 3600 * 1000, ring(3)));
  CHECK(backup.sent(MessageType::pledge) == 0);
  backup.feed(encode_rejoin(now, ring(3)));
  REQUIRE(backup.sent(MessageType::pledge) == 1);
  const auto pledge = decode_pledge(*sent_by(backup, MessageType::pledge), kReplicas);
  CHECK(pledge->incarnation == now);
}

TEST_CASE("All hear of a peer's new life, and who rejects a view for it shows why") {
  Subject backup(1);
  backup.feed(encode_rejoin(6, ring(3)));
  CHECK(backup.sent(MessageType::rejoin) == kReplicas - 1);
  backup.feed(encode_rejoin(6, ring(3)));
  CHECK(backup.sent(MessageType::rejoin) == 0);
  const std::vector<Frame> asked{view_change_of(0, 0, 2), view_change_of(2, 0, 2),
                                 view_change_of(3, 5, 2)};
  std::vector<ByteView> frames;
  frames.reserve(asked.size());
  for (const Frame& frame : asked)
    frames.emplace_back(*frame);
  backup.feed(encode_new_view(2, frames, ring(2)));
  CHECK(backup.replica.status().view == 0);
  CHECK(backup.sent(MessageType::rejoin) == kReplicas - 1);
}

TEST_CASE("A peer that loses its memory again and again is believed less and less often") {
  Subject backup(1);
  std::uint64_t lives = 0;
  for (int ms = 0; ms < 100'000; ms += 100) {
    backup.now += milliseconds(100);
    backup.feed(encode_rejoin(6 + static_cast<std::uint64_t>(ms), ring(3)));
    if (backup.sent(MessageType::rejoin) > 0) ++lives;
  }
  CHECK(lives == 7);  // after 0, 1, 3, 7, 15, 31 and 63 seconds
}

}  // namespace prophecy::pbft::test
