#include "pbft/replica/suspicion.hpp"

#include <catch2/catch.hpp>

using namespace prophecy;
using namespace prophecy::pbft;

namespace {

using Reasons = std::vector<std::string>;

const TimePoint kStart = TimePoint{} + std::chrono::hours(1);
const TimePoint kNow = kStart + std::chrono::hours(1);

PeerStanding healthy() {
  PeerStanding peer;
  peer.replica = 2;
  peer.heard_at = kNow - milliseconds(900);
  return peer;
}

Reasons reasons(const PeerStanding& peer) {
  return suspicions(peer, {}, kStart, kNow);
}

}  // namespace

TEST_CASE("Nobody is suspected who is heard and keeps up") {
  PeerStanding peer = healthy();
  peer.behind = 256;
  peer.dropped[static_cast<std::size_t>(DropReason::duplicate)] = 1000;
  CHECK(reasons(peer).empty());
}

TEST_CASE("Silence counts from the last message, or from the start") {
  PeerStanding peer = healthy();
  peer.heard_at = kNow - seconds(5);
  CHECK(reasons(peer).empty());
  peer.heard_at = kNow - milliseconds(5100);
  CHECK(reasons(peer) == Reasons{"silent for 5.1 s"});
  peer.heard_at = TimePoint::min();
  CHECK(suspicions(peer, {}, kNow - seconds(4), kNow).empty());
  CHECK(suspicions(peer, {}, kNow - seconds(6), kNow) == Reasons{"never heard, for 6.0 s"});
}

TEST_CASE("One that is more than two checkpoint intervals behind lags") {
  PeerStanding peer = healthy();
  peer.behind = 257;
  CHECK(reasons(peer) == Reasons{"behind by 257 batches"});
}

TEST_CASE("What was wrong is held against a replica for a while") {
  PeerStanding peer = healthy();
  peer.dropped[static_cast<std::size_t>(DropReason::conflicting)] = 2;
  peer.dropped_in_its_name[static_cast<std::size_t>(DropReason::bad_mac)] = 3;
  peer.dropped_in_its_name[static_cast<std::size_t>(DropReason::bad_signature)] = 4;
  peer.views_failed = 5;
  const auto at = [&](TimePoint then) {
    peer.contradicted_at = peer.forged_at = peer.view_failed_at = then;
    return reasons(peer);
  };
  CHECK(at(kNow - seconds(30)) == Reasons{"sent what no correct replica sends: 2 messages",
                                          "wrong MAC or signature in its name: 7 messages",
                                          "given up as primary, last 30.0 s ago: 5 views"});
  CHECK(at(kNow - std::chrono::minutes(11)).empty());
}
