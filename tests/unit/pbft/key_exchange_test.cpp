// Session keys: two members on a connection that the test holds in its hands.
#include "pbft/core/key_exchange.hpp"

#include <catch2/catch.hpp>

#include "base/codec.hpp"
#include "pbft/group.hpp"
#include "pbft/wire/authenticated.hpp"

namespace prophecy::pbft::test {
namespace {

const Digest kContent = sha256(as_bytes("content"));
constexpr Duration kRefreshInterval = seconds(60);
constexpr ConversationId kConversation = 7;

// Repeats itself after 2^64 draws; another for each run.
class CountingEntropy final : public Entropy {
 public:
  explicit CountingEntropy(std::uint64_t run) : run_(run) {}
  void fill(std::span<std::uint8_t> out) override {
    Bytes name;
    Writer writer(name);
    writer.integer(run_);
    writer.integer(++drawn_);
    const Digest digest = sha256(name);
    std::copy_n(digest.begin(), out.size(), out.begin());
  }

 private:
  std::uint64_t run_;
  std::uint64_t drawn_ = 0;
};

// One run of a member's program.
struct Run {
  Run(NodeId member, std::uint64_t run, std::string_view group = "test group",
      SessionRange sessions = {}, const PrivateKeys* keys = nullptr)
      : id(member),
        ring(*KeyRing::derive(member, keys != nullptr ? *keys : secrets_of(member), as_bytes(group),
                              members_with(member, keys))),
        entropy(run),
        exchange(ring, {kRefreshInterval, sessions}, entropy) {
    exchange.start(TimePoint{});
  }
  // As a group file that was made with other keys for this member would have it.
  static std::vector<Member> members_with(NodeId member, const PrivateKeys* keys) {
    std::vector<Member> members = members_of(kReplicas);
    for (Member& listed : members) {
      if (listed.id == member && keys != nullptr) listed.public_keys = *public_keys_of(*keys);
    }
    return members;
  }
  [[nodiscard]] bool hears(const Run& speaker, std::uint32_t session = 0) const {
    return ring.verify(speaker.id, kContent, speaker.ring.tag(id, kContent), session);
  }

  NodeId id;
  KeyRing ring;
  CountingEntropy entropy;
  KeyExchange exchange;
};

// What passed between two on one connection.
struct Passed {
  Frame ask;
  KeyExchange::Step told;      // at the acceptor
  KeyExchange::Step learnt;    // at the opener
  KeyExchange::Step finished;  // at the acceptor
};

Passed answer(Run& opener, Run& acceptor, const Frame& ask, TimePoint now) {
  Passed passed;
  passed.ask = ask;
  passed.told = acceptor.exchange.on_accepted_frame(kConversation, *ask, now);
  if (!passed.told.answer) return passed;
  passed.learnt = opener.exchange.on_link_frame(acceptor.id, *passed.told.answer, now);
  if (!passed.learnt.answer) return passed;
  passed.finished = acceptor.exchange.on_accepted_frame(kConversation, *passed.learnt.answer, now);
  return passed;
}

Passed meet(Run& opener, Run& acceptor, TimePoint now = TimePoint{}) {
  return answer(opener, acceptor, opener.exchange.on_connected(acceptor.id, now), now);
}

// All that falls due at one of them, told to the other.
std::size_t tick(Run& opener, Run& acceptor, TimePoint now) {
  std::vector<Outgoing> asks;
  acceptor.exchange.on_tick(now, asks);
  asks.clear();
  opener.exchange.on_tick(now, asks);
  for (const Outgoing& ask : asks)
    answer(opener, acceptor, ask.frame, now);
  return asks.size();
}

}  // namespace

TEST_CASE("One exchange gives both their keys, for each direction another") {
  Run opener(1, 10);
  Run acceptor(0, 20);
  CHECK_FALSE(opener.ring.has_key(0));
  CHECK(opener.ring.tag(0, kContent) == Tag{});
  CHECK_FALSE(acceptor.hears(opener));
  const Passed passed = meet(opener, acceptor);
  CHECK_FALSE(passed.told.authentic);  // anybody may ask
  CHECK(passed.learnt.authentic);
  CHECK(passed.learnt.learnt);
  CHECK(passed.finished.authentic);
  CHECK(passed.finished.learnt);
  CHECK(acceptor.hears(opener));
  CHECK(opener.hears(acceptor));
  CHECK(opener.ring.tag(0, kContent) != acceptor.ring.tag(1, kContent));
  CHECK_FALSE(opener.ring.verify(0, kContent, opener.ring.tag(0, kContent)));
}

TEST_CASE("The keys that are listed are a part of session keys: signing keys alone do not do") {
  // Replica 1 with an exchange key that replica 0 does not have in its list, and the right one to
  // sign with: whoever stole that.
  PrivateKeys stolen = secrets_of(1);
  stolen.exchange.bytes[9] = 1;
  Run thief(1, 10, "test group", {}, &stolen);
  Run acceptor(0, 20);
  const Passed passed = meet(thief, acceptor);
  CHECK(passed.finished.authentic);
  CHECK_FALSE(acceptor.hears(thief));
}

TEST_CASE("Keys are refreshed without a moment in which one is not heard") {
  Run opener(1, 10);
  Run acceptor(0, 20);
  meet(opener, acceptor);
  std::vector<Tag> seen;
  TimePoint now{};
  for (int i = 0; i < 600; ++i) {
    now += seconds(1);
    // In flight while keys change, in both directions.
    const Tag to_acceptor = opener.ring.tag(0, kContent);
    const Tag to_opener = acceptor.ring.tag(1, kContent);
    tick(opener, acceptor, now);
    REQUIRE(acceptor.ring.verify(1, kContent, to_acceptor));
    REQUIRE(opener.ring.verify(0, kContent, to_opener));
    if (std::find(seen.begin(), seen.end(), to_acceptor) == seen.end()) seen.push_back(to_acceptor);
  }
  // Ten intervals: both have made a new key in each, and used it.
  CHECK(opener.exchange.counters().keys_made == 11);
  CHECK(acceptor.exchange.counters().keys_made == 11);
  // Numbers last for as many keys as there are.
  CHECK(opener.ring.sessions()->own()->epoch.number == 11);
  CHECK(seen.size() >= 11);
  // Those of two intervals ago are gone.
  CHECK(acceptor.ring.verify(1, kContent, seen.back()));
  CHECK_FALSE(acceptor.ring.verify(1, kContent, seen.front()));
}

TEST_CASE("Asking goes on until there is an answer, and rarely after that") {
  Run opener(1, 10);
  Run acceptor(0, 20);
  CHECK(opener.exchange.next_timer() == TimePoint{} + kRefreshInterval);
  (void)opener.exchange.on_connected(0, TimePoint{});  // lost
  CHECK(opener.exchange.next_timer() == TimePoint{} + milliseconds(250));
  CHECK(tick(opener, acceptor, TimePoint{} + milliseconds(250)) == 1);
  CHECK(acceptor.hears(opener));
  const TimePoint again = TimePoint{} + milliseconds(250) + seconds(10);
  CHECK(opener.exchange.next_timer() == again);
  // The next question is as urgent as the first.
  std::vector<Outgoing> lost;
  opener.exchange.on_tick(again, lost);
  CHECK(lost.size() == 1);
  CHECK(opener.exchange.next_timer() == again + milliseconds(250));
  opener.exchange.on_disconnected(0);
  CHECK(opener.exchange.next_timer() == TimePoint{} + kRefreshInterval);
}

TEST_CASE(
    "What was recorded is worth nothing after either side's restart, nor on another connection") {
  Run opener(1, 10);
  Run acceptor(0, 20);
  const Passed recorded = meet(opener, acceptor);
  const Tag old_tag = opener.ring.tag(0, kContent);
  SECTION("of the one who hears") {
    Run again(0, 21);
    CHECK_FALSE(again.ring.verify(1, kContent, old_tag));
    const auto told = again.exchange.on_accepted_frame(kConversation, *recorded.ask, TimePoint{});
    CHECK_FALSE(told.authentic);
    const auto replayed =
        again.exchange.on_accepted_frame(kConversation, *recorded.learnt.answer, TimePoint{});
    CHECK_FALSE(replayed.authentic);
    CHECK_FALSE(again.ring.has_key(1));
    CHECK(again.exchange.counters().dropped == 1);
  }
  SECTION("of the one who speaks") {
    Run again(1, 11);
    CHECK(meet(again, acceptor, TimePoint{} + seconds(1)).finished.learnt);
    CHECK(acceptor.hears(again));
    CHECK(again.hears(acceptor));
    // At once, not when the next key is due.
    CHECK_FALSE(acceptor.ring.verify(1, kContent, old_tag));
    CHECK_FALSE(acceptor.hears(opener));
    // And the first run's key cannot be brought back.
    (void)acceptor.exchange.on_accepted_frame(8, *recorded.ask, TimePoint{} + seconds(1));
    CHECK_FALSE(
        acceptor.exchange.on_accepted_frame(8, *recorded.learnt.answer, TimePoint{} + seconds(1))
            .authentic);
    CHECK(acceptor.hears(again));
  }
  SECTION("to the one who asks") {
    const Frame ask = opener.exchange.on_connected(0, TimePoint{} + seconds(1));
    CHECK_FALSE(opener.exchange.on_link_frame(0, *recorded.told.answer, TimePoint{}).authentic);
    CHECK(answer(opener, acceptor, ask, TimePoint{} + seconds(1)).learnt.authentic);
  }
}

TEST_CASE("An answer to an older question of the same run rolls nobody back") {
  Run opener(1, 10);
  Run acceptor(0, 20);
  // Asked on one connection before the refresh, and delivered after what another brought.
  const auto early = acceptor.exchange.on_accepted_frame(
      1, *opener.exchange.on_connected(0, TimePoint{}), TimePoint{});
  const auto late = opener.exchange.on_link_frame(0, *early.answer, TimePoint{});
  const TimePoint now = TimePoint{} + kRefreshInterval;
  std::vector<Outgoing> asks;
  opener.exchange.on_tick(now, asks);
  REQUIRE(asks.size() == 1);
  CHECK(answer(opener, acceptor, asks[0].frame, now).finished.learnt);
  const auto delayed = acceptor.exchange.on_accepted_frame(1, *late.answer, now);
  CHECK_FALSE(delayed.authentic);
  const auto older = decode_key_tell(*late.answer);
  REQUIRE(older);
  CHECK(acceptor.ring.sessions()->install(1, older->announcement) ==
        SessionKeys::Installed::refused);
  CHECK(acceptor.hears(opener));
  CHECK(opener.hears(acceptor));
}

TEST_CASE("An answer of an ended run that was held back does not bring it to life again") {
  Run before(1, 10);
  Run acceptor(0, 20);
  const auto told = acceptor.exchange.on_accepted_frame(
      1, *before.exchange.on_connected(0, TimePoint{}), TimePoint{});
  const auto held_back = before.exchange.on_link_frame(0, *told.answer, TimePoint{});
  SECTION("after the next run has told its key") {
    Run after(1, 11);
    CHECK(meet(after, acceptor).finished.learnt);
    CHECK_FALSE(acceptor.exchange.on_accepted_frame(1, *held_back.answer, TimePoint{}).authentic);
    CHECK(acceptor.hears(after));
  }
  SECTION("for long") {
    const TimePoint late = TimePoint{} + seconds(6);
    CHECK_FALSE(acceptor.exchange.on_accepted_frame(1, *held_back.answer, late).authentic);
  }
}

TEST_CASE("Two replicas that ask each other at once prove both of their connections") {
  Run one(1, 10);
  Run other(0, 20);
  const TimePoint now{};
  const Frame ask_of_one = one.exchange.on_connected(0, now);
  const Frame ask_of_other = other.exchange.on_connected(1, now);
  const auto told_one = other.exchange.on_accepted_frame(kConversation, *ask_of_one, now);
  const auto told_other = one.exchange.on_accepted_frame(kConversation, *ask_of_other, now);
  const auto answer_of_one = one.exchange.on_link_frame(0, *told_one.answer, now);
  const auto answer_of_other = other.exchange.on_link_frame(1, *told_other.answer, now);
  REQUIRE(answer_of_one.learnt);
  REQUIRE(answer_of_other.learnt);
  CHECK(other.exchange.on_accepted_frame(kConversation, *answer_of_one.answer, now).authentic);
  CHECK(one.exchange.on_accepted_frame(kConversation, *answer_of_other.answer, now).authentic);
  CHECK(one.hears(other));
  CHECK(other.hears(one));
}

TEST_CASE("Processes of one client have keys of their own, told apart by their sessions") {
  Run replica(0, 10);
  Run one(kClient, 20, "test group", {0, 64});
  Run other(kClient, 30, "test group", {64, 64});
  CHECK(meet(one, replica).finished.learnt);
  CHECK(meet(other, replica, TimePoint{} + seconds(1)).finished.learnt);
  CHECK(replica.hears(one, 0));
  CHECK(replica.hears(one, 63));
  CHECK_FALSE(replica.hears(one, 64));
  CHECK(replica.hears(other, 64));
  CHECK_FALSE(replica.ring.has_key(kClient, 128));
  CHECK(one.ring.verify(0, kContent, replica.ring.tag(kClient, kContent, 5)));
  CHECK(other.ring.verify(0, kContent, replica.ring.tag(kClient, kContent, 127)));
  CHECK_FALSE(other.ring.verify(0, kContent, replica.ring.tag(kClient, kContent, 5)));
  // Started again with other ranges, it replaces what these overlap.
  Run wider(kClient, 40, "test group", {32, 64});
  CHECK(meet(wider, replica, TimePoint{} + seconds(2)).finished.learnt);
  CHECK(replica.hears(wider, 64));
  CHECK_FALSE(replica.ring.has_key(kClient, 5));
  CHECK_FALSE(replica.ring.has_key(kClient, 120));
}

TEST_CASE("Who is not what the group file says is refused, and both sides hear why") {
  PrivateKeys others;
  others.exchange.bytes[5] = others.signing.bytes[5] = 77;
  Run stranger(1, 10, "test group", {}, &others);
  Run acceptor(0, 20);
  SECTION("the opener") {
    const Passed passed = meet(stranger, acceptor);
    CHECK_FALSE(passed.finished.authentic);
    CHECK_FALSE(acceptor.ring.has_key(1));
    REQUIRE(passed.finished.answer);
    (void)stranger.exchange.on_link_frame(0, *passed.finished.answer, TimePoint{});
    const auto here = acceptor.exchange.take_events();
    REQUIRE(here.size() == 1);
    CHECK(here[0].kind == KeyEvent::Kind::wrong_keys);
    CHECK(here[0].member == 1);
    const auto there = stranger.exchange.take_events();
    REQUIRE(there.size() == 1);
    CHECK(there[0].kind == KeyEvent::Kind::refused);
    CHECK(there[0].member == 0);
    // What was said on an earlier connection is worth nothing on this one.
    (void)stranger.exchange.on_connected(0, TimePoint{} + milliseconds(500));
    CHECK(stranger.exchange.counters().dropped == 0);
    (void)stranger.exchange.on_link_frame(0, *passed.finished.answer,
                                          TimePoint{} + milliseconds(500));
    CHECK(stranger.exchange.counters().dropped == 1);
    // Once is enough.
    meet(stranger, acceptor, TimePoint{} + seconds(1));
    CHECK(acceptor.exchange.take_events().empty());
    CHECK(acceptor.exchange.counters().wrong_keys == 2);
  }
  SECTION("the acceptor") {
    const Passed passed = meet(acceptor, stranger);
    CHECK_FALSE(passed.learnt.authentic);
    CHECK_FALSE(passed.finished.authentic);
    CHECK(acceptor.exchange.take_events().at(0).member == 1);
    CHECK(stranger.exchange.take_events().at(0).kind == KeyEvent::Kind::refused);
  }
  SECTION("another group") {
    Run elsewhere(1, 10, "another group");
    CHECK_FALSE(meet(elsewhere, acceptor).learnt.authentic);
    CHECK(elsewhere.exchange.take_events().at(0).kind == KeyEvent::Kind::wrong_keys);
  }
}

TEST_CASE("Key messages that nobody has asked for are dropped and counted") {
  Run opener(1, 10);
  Run acceptor(0, 20);
  const TimePoint later = TimePoint{} + seconds(1);
  const Frame ask = opener.exchange.on_connected(0, TimePoint{});
  CHECK(acceptor.exchange.on_accepted_frame(1, *ask, TimePoint{}).answer);
  SECTION("too many questions on one connection") {
    CHECK_FALSE(acceptor.exchange.on_accepted_frame(1, *ask, TimePoint{}).answer);
    CHECK(acceptor.exchange.on_accepted_frame(1, *ask, later).answer);
  }
  SECTION("to somebody else") {
    const Frame wrong = encode_key_ask(2, Nonce{1}, opener.ring);
    CHECK_FALSE(acceptor.exchange.on_accepted_frame(2, *wrong, TimePoint{}).answer);
  }
  SECTION("from nobody in the group") {
    Bytes wrong = *ask;
    wrong[2] = 99;
    CHECK_FALSE(acceptor.exchange.on_accepted_frame(2, wrong, TimePoint{}).answer);
  }
  SECTION("in the name of another than has asked") {
    Run third(2, 30);
    const auto told = acceptor.exchange.on_accepted_frame(
        2, *third.exchange.on_connected(0, TimePoint{}), TimePoint{});
    const auto learnt = third.exchange.on_link_frame(0, *told.answer, TimePoint{});
    CHECK_FALSE(acceptor.exchange.on_accepted_frame(1, *learnt.answer, TimePoint{}).authentic);
  }
  SECTION("after its connection has closed") {
    const auto told = acceptor.exchange.on_accepted_frame(2, *ask, TimePoint{});
    const auto learnt = opener.exchange.on_link_frame(0, *told.answer, TimePoint{});
    acceptor.exchange.on_accepted_closed(2);
    CHECK_FALSE(acceptor.exchange.on_accepted_frame(2, *learnt.answer, TimePoint{}).authentic);
  }
  SECTION("a refusal out of nowhere") {
    const Frame refusal = encode_key_refusal(0, Nonce{}, opener.ring);
    (void)acceptor.exchange.on_accepted_frame(1, *refusal, TimePoint{});
    CHECK(acceptor.exchange.take_events().empty());
  }
  CHECK(acceptor.exchange.counters().dropped == 1);
}

TEST_CASE("Every bit of what is told counts") {
  Run opener(1, 10);
  Run acceptor(0, 20);
  const Frame ask = opener.exchange.on_connected(0, TimePoint{});
  const auto told = acceptor.exchange.on_accepted_frame(1, *ask, TimePoint{});
  for (std::size_t byte = 0; byte < told.answer->size(); ++byte) {
    Bytes forged = *told.answer;
    forged[byte] ^= 1;
    if (!peek_header(forged) || peek_header(forged)->type != MessageType::key_tell) continue;
    CHECK_FALSE(opener.exchange.on_link_frame(0, forged, TimePoint{}).authentic);
  }
  CHECK(opener.exchange.on_link_frame(0, *told.answer, TimePoint{}).authentic);
}

TEST_CASE("A key of low order is none") {
  const KeyRing& known = ring(1);
  KeyAnnouncement announcement = session_key_of(2);
  announcement.epoch = {2, 1};
  announcement.key = {};
  CHECK(known.sessions()->install(2, announcement) == SessionKeys::Installed::refused);
  CHECK(known.verify(2, kContent, ring(2).tag(1, kContent)));
}

TEST_CASE("A client's request that is sent again carries MACs under the keys of today") {
  Run replica(0, 10);
  Run caller(kClient, 20, "test group", {0, 4});
  ClientSettings settings;
  settings.session_count = 4;
  Client client(settings, caller.ring);
  ClientActions actions;
  client.submit(as_bytes("op"), CallKind::ordered, TimePoint{} + seconds(9), TimePoint{}, actions);
  const auto is_heard = [&](const Outgoing& outgoing) {
    const auto request = decode_request(*outgoing.frame, kReplicas);
    REQUIRE(request);
    return replica.ring.verify_authenticator(
        kClient, authenticated_digest(*request, sha256(request->content)), request->authenticator,
        request->session);
  };
  REQUIRE(actions.sends.size() == 1);
  const Bytes first = *actions.sends[0].frame;
  CHECK_FALSE(is_heard(actions.sends[0]));
  meet(caller, replica);
  actions.clear();
  client.on_tick(client.next_timer(), actions);
  REQUIRE(actions.sends.size() == kReplicas);
  CHECK(is_heard(actions.sends[0]));
  const Bytes& second = *actions.sends[0].frame;
  const std::size_t content = decode_request(first, kReplicas)->content.size();
  CHECK(std::equal(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(content),
                   second.begin()));
}

}  // namespace prophecy::pbft::test
