// Claims of "Practical Byzantine Fault Tolerance" (OSDI 1999), and of "Prophecy" (NSDI 2010),
// about clients, one test each.
#include <catch2/catch.hpp>

#include "pbft/group.hpp"

namespace prophecy::pbft::test {
namespace {

struct Caller {
  explicit Caller(ClientSettings settings = {}) : client(settings, ring(kClient)) {}

  CallId submit(CallKind kind = CallKind::ordered, Duration patience = seconds(10)) {
    actions.clear();
    return client.submit(as_bytes("op"), kind, now + patience, now, actions);
  }
  void feed(const Frame& frame) {
    actions.clear();
    client.on_frame(*frame, now, actions);
  }
  void tick(Duration after) {
    now += after;
    actions.clear();
    client.on_tick(now, actions);
  }

  // False when nothing has ended until then.
  bool ends_within(Duration time) {
    for (const TimePoint end = now + time; now < end;) {
      tick(milliseconds(100));
      if (!actions.completions.empty()) return true;
    }
    return false;
  }

  Client client;
  ClientActions actions;
  TimePoint now{};
};

TEST_CASE("PBFT 4.1: a request goes to the primary, a retransmission to all") {
  Caller caller;
  caller.submit();
  REQUIRE(caller.actions.sends.size() == 1);
  CHECK(caller.actions.sends[0].to == 0);
  const Frame first = caller.actions.sends[0].frame;
  CHECK(caller.client.next_timer() == caller.now + milliseconds(150));
  caller.tick(milliseconds(150));
  REQUIRE(caller.actions.sends.size() == kReplicas);
  // The same request; its signature shows backups that the primary finds it authentic as well.
  const Frame again = caller.actions.sends[3].frame;
  const auto request = decode_request(*again, kReplicas);
  REQUIRE(request);
  CHECK(std::equal(request->content.begin(), request->content.end(), first->begin()));
  CHECK(ring(3).verify_signature(kClient, sha256(request->content), request->signature));
  caller.tick(milliseconds(299));
  CHECK(caller.actions.sends.empty());
  caller.tick(milliseconds(1));
  CHECK(caller.actions.sends.size() == kReplicas);
}

Frame overtaken(NodeId from, std::uint64_t timestamp, std::uint64_t last) {
  return reply(from, timestamp, "", last, false, ReplyStatus::stale);
}

TEST_CASE("A session that an earlier process has used goes on behind what f+1 replicas know") {
  Caller caller;
  const CallId call = caller.submit();
  caller.feed(overtaken(1, 1, 900));
  caller.feed(overtaken(1, 1, 900));
  caller.feed(overtaken(2, 1, 1));  // not beyond the request itself
  CHECK(caller.actions.completions.empty());
  caller.feed(overtaken(2, 1, 500));
  // It may have been executed before the request that overtook it.
  REQUIRE(caller.actions.completions.size() == 1);
  CHECK(caller.actions.completions[0].call == call);
  CHECK(caller.actions.completions[0].outcome == CallOutcome::no_agreement);
  // Not by what a faulty replica says, and all sessions alike. At a distance from what is known: an
  // earlier process's requests may be on their way.
  const std::uint64_t expected = 501 + (1 << 20) + 1;
  for (int session = 0; session < 2; ++session) {
    caller.submit();
    REQUIRE(caller.actions.sends.size() == 1);
    CHECK(decode_request(*caller.actions.sends[0].frame, kReplicas)->timestamp == expected);
  }
}

TEST_CASE("A read that is found stale is ordered again at once") {
  Caller caller;
  const CallId call = caller.submit(CallKind::read_only);
  caller.tick(milliseconds(150));  // nobody answers: it is ordered, under the next timestamp
  caller.feed(overtaken(1, 2, 900));
  caller.feed(overtaken(2, 2, 900));
  CHECK(caller.actions.completions.empty());
  REQUIRE(caller.actions.sends.size() == 1);
  const std::uint64_t expected = 901 + (1 << 20) + 1;
  CHECK(decode_request(*caller.actions.sends[0].frame, kReplicas)->timestamp == expected);
  caller.feed(reply(1, expected, "good"));
  caller.feed(reply(2, expected, "good"));
  REQUIRE(caller.actions.completions.size() == 1);
  CHECK(caller.actions.completions[0].call == call);
}

TEST_CASE("A client whose calls are answered only when signed signs the next ones at once") {
  ClientSettings one_session;
  one_session.session_count = 1;
  Caller caller(one_session);
  std::uint64_t timestamp = 0;
  // Whether the request was signed when it was sent first.
  const auto call = [&](bool is_answered_unsigned) {
    caller.submit();
    const Frame first = caller.actions.sends.at(0).frame;
    if (!is_answered_unsigned) caller.tick(milliseconds(150));
    ++timestamp;
    std::size_t ended = 0;
    for (NodeId replica = 0; replica < kReplicas; ++replica) {
      caller.feed(reply(replica, timestamp, "result", timestamp << 16));
      ended += caller.actions.completions.size();
    }
    REQUIRE(ended == 1);
    return !decode_request(*first, kReplicas)->signature.empty();
  };
  for (int late = 0; late < 7; ++late)
    CHECK_FALSE(call(false));
  CHECK_FALSE(call(true));  // one that is in time begins a new row
  for (int late = 0; late < 8; ++late)
    CHECK_FALSE(call(false));
  for (int next = 0; next < 3; ++next)
    CHECK(call(true));
  caller.now += seconds(10);
  CHECK_FALSE(call(false));  // it tries without once in a while
  CHECK(call(true));
  caller.now += seconds(10);
  CHECK_FALSE(call(true));
  CHECK_FALSE(call(true));
}

TEST_CASE("Calls that were in flight together when the primary was lost count as one") {
  constexpr std::uint32_t kCalls = 40;
  ClientSettings settings;
  settings.session_count = kCalls;
  Caller caller(settings);
  std::vector<Frame> asked;
  for (std::uint32_t i = 0; i < kCalls; ++i) {
    caller.submit();
    asked.push_back(caller.actions.sends.at(0).frame);
  }
  caller.tick(milliseconds(150));
  std::size_t ended = 0;
  for (const Frame& frame : asked) {
    const auto request = decode_request(*frame, kReplicas);
    ReplyMessage message;
    message.client = kClient;
    message.session = request->session;
    message.timestamp = request->timestamp;
    message.sigma = 1 << 16 | request->session;
    message.result_digest = sha256(as_bytes("result"));
    message.full = true;
    message.result = as_bytes("result");
    for (const NodeId replica : {1, 2}) {
      caller.feed(encode_reply(message, ring(replica)));
      ended += caller.actions.completions.size();
    }
  }
  REQUIRE(ended == kCalls);
  caller.submit();
  CHECK(decode_request(*caller.actions.sends.at(0).frame, kReplicas)->signature.empty());
}

TEST_CASE("PBFT 4.1: a result is accepted with f+1 equal authentic replies of different replicas") {
  Caller caller;
  const CallId call = caller.submit();
  caller.feed(reply(1, 1, "good"));
  caller.feed(reply(1, 1, "good"));
  CHECK(caller.actions.completions.empty());
  Bytes forged = *reply(2, 1, "good");
  forged[2] = 3;  // in the name of replica 3
  caller.feed(std::make_shared<const Bytes>(forged));
  CHECK(caller.actions.completions.empty());
  caller.feed(reply(2, 1, "bad"));
  CHECK(caller.actions.completions.empty());
  caller.feed(reply(3, 1, "good"));
  REQUIRE(caller.actions.completions.size() == 1);
  const Completion& done = caller.actions.completions[0];
  CHECK(done.call == call);
  CHECK(done.outcome == CallOutcome::agreed);
  CHECK(as_text(done.result) == "good");
  CHECK(done.sigma == 1 << 16);
  REQUIRE(caller.actions.refuted.size() == 1);
  CHECK(caller.actions.refuted[0].replica == 2);
  CHECK(caller.actions.refuted[0].refuted_digest == sha256(as_bytes("bad")));
  CHECK(caller.actions.refuted[0].agreed_digest == sha256(as_bytes("good")));
}

TEST_CASE("Replies that differ in their place in the order are not equal") {
  Caller caller;
  caller.submit();
  caller.feed(reply(1, 1, "good", 1 << 16));
  caller.feed(reply(2, 1, "good", 2 << 16));
  CHECK(caller.actions.completions.empty());
  caller.feed(reply(3, 1, "good", 2 << 16, false));
  REQUIRE(caller.actions.completions.size() == 1);
  CHECK(caller.actions.completions[0].sigma == 2 << 16);
}

TEST_CASE("Large results that nobody has confirmed are kept up to a bound, and asked for again") {
  Caller caller;
  constexpr std::size_t kSize = 10 << 20;
  constexpr int kCalls = 5;
  std::vector<Frame> asked;
  for (int i = 0; i < kCalls; ++i) {
    caller.submit();
    asked.push_back(caller.actions.sends.at(0).frame);
  }
  const Bytes result(kSize);
  const auto answer = [&](const Frame& frame, bool by_replier) {
    const auto request = decode_request(*frame, kReplicas);
    ReplyMessage message;
    message.client = kClient;
    message.session = request->session;
    message.timestamp = request->timestamp;
    message.sigma = 1 << 16;
    message.result_digest = sha256(result);
    message.full = by_replier;
    message.result = result;
    caller.feed(encode_reply(
        message, ring(by_replier ? request->replier : (request->replier + 1) % kReplicas)));
  };
  for (const Frame& frame : asked)
    answer(frame, true);
  int agreed = 0;
  int asked_again = 0;
  for (const Frame& frame : asked) {
    answer(frame, false);
    agreed += static_cast<int>(caller.actions.completions.size());
    if (!caller.actions.sends.empty()) ++asked_again;
  }
  CHECK(agreed == 3);
  CHECK(asked_again == 2);
}

TEST_CASE("A large result is kept of the replica that was asked for it, and of no other") {
  Caller caller;
  caller.submit();
  const auto request = decode_request(*caller.actions.sends[0].frame, kReplicas);
  REQUIRE(request);
  const NodeId asked = request->replier;
  const NodeId other = (asked + 1) % kReplicas;
  const NodeId third = (asked + 2) % kReplicas;
  const std::string large(10'000, 'x');
  SECTION("from the one that was asked") {
    caller.feed(reply(asked, 1, large));
    caller.feed(reply(other, 1, large, 1 << 16, false));
    REQUIRE(caller.actions.completions.size() == 1);
    CHECK(as_text(caller.actions.completions[0].result) == large);
  }
  SECTION("from others, when all are asked for what a quorum has agreed on") {
    caller.feed(reply(other, 1, large));
    caller.feed(reply(third, 1, large));
    CHECK(caller.actions.completions.empty());
    caller.tick(milliseconds(150));
    REQUIRE(caller.actions.sends.size() == kReplicas);
    caller.feed(reply((asked + 3) % kReplicas, 1, std::string(10'000, 'y')));
    CHECK(caller.actions.completions.empty());
    caller.feed(reply(third, 1, large));
    REQUIRE(caller.actions.completions.size() == 1);
    CHECK(as_text(caller.actions.completions[0].result) == large);
  }
  SECTION("at once, when the one that was asked has had its time") {
    caller.feed(reply(other, 1, large));
    caller.tick(milliseconds(150));
    caller.feed(reply(third, 1, large));
    CHECK(caller.actions.completions.empty());
    CHECK(caller.actions.sends.size() == kReplicas);
    caller.feed(reply(other, 1, large));
    REQUIRE(caller.actions.completions.size() == 1);
  }
}

TEST_CASE("A reply after the call's end can still refute its replica, once") {
  Caller caller;
  const CallId call = caller.submit();
  caller.feed(reply(1, 1, "good"));
  caller.feed(reply(2, 1, "good"));
  REQUIRE(caller.actions.completions.size() == 1);
  caller.feed(reply(0, 1, "good"));
  CHECK(caller.actions.refuted.empty());
  caller.feed(reply(3, 1, "bad"));
  REQUIRE(caller.actions.refuted.size() == 1);
  CHECK(caller.actions.refuted[0].call == call);
  CHECK(caller.actions.refuted[0].replica == 3);
  caller.feed(reply(3, 1, "bad"));
  CHECK(caller.actions.refuted.empty());
}

TEST_CASE("An unavailable reply is no vote and no lie") {
  Caller caller;
  caller.submit();
  caller.feed(reply(0, 1, "", 1 << 16, false, ReplyStatus::unavailable));
  caller.feed(reply(1, 1, "good"));
  caller.feed(reply(2, 1, "good"));
  REQUIRE(caller.actions.completions.size() == 1);
  CHECK(caller.actions.refuted.empty());
}

TEST_CASE("A call ends without agreement as soon as no quorum is possible") {
  Caller caller;
  caller.submit();
  caller.feed(reply(0, 1, "a"));
  caller.feed(reply(1, 1, "b"));
  caller.feed(reply(2, 1, "c"));
  CHECK(caller.actions.completions.empty());
  caller.feed(reply(3, 1, "d"));
  REQUIRE(caller.actions.completions.size() == 1);
  CHECK(caller.actions.completions[0].outcome == CallOutcome::no_agreement);
}

TEST_CASE("A call does not wait for ever for f silent replicas where others have no reply") {
  Caller caller;
  caller.submit(CallKind::ordered, minutes(1));
  caller.feed(reply(0, 1, "a"));
  caller.feed(reply(1, 1, "", 1 << 16, false, ReplyStatus::unavailable));
  // One of those two is correct, and may be late.
  CHECK_FALSE(caller.ends_within(seconds(7)));
  caller.feed(reply(2, 1, "", 1 << 16, false, ReplyStatus::unavailable));
  CHECK_FALSE(caller.ends_within(seconds(4)));
  REQUIRE(caller.ends_within(seconds(4)));
  CHECK(caller.actions.completions[0].outcome == CallOutcome::unavailable);
}

TEST_CASE("A call does not wait for ever for a result that a quorum agrees on, and nobody sends") {
  Caller caller;
  caller.submit(CallKind::ordered, minutes(5));
  const auto replier = decode_request(*caller.actions.sends[0].frame, kReplicas)->replier;
  const NodeId a = (replier + 1) % kReplicas;
  const NodeId b = (replier + 2) % kReplicas;
  caller.feed(reply(a, 1, "lost", 1 << 16, false));
  CHECK_FALSE(caller.ends_within(seconds(60)));  // two more may agree
  caller.feed(reply(b, 1, "lost", 1 << 16, false));
  // A replica that has the result may be starting again.
  CHECK_FALSE(caller.ends_within(seconds(25)));
  caller.feed(reply(b, 1, "lost", 1 << 16, false));  // tells nothing new
  REQUIRE(caller.ends_within(seconds(10)));
  CHECK(caller.actions.completions[0].outcome == CallOutcome::unavailable);
}

TEST_CASE("A call that fails for want of replicas that can answer says so") {
  Caller caller;
  caller.submit();
  caller.feed(reply(0, 1, "a"));
  for (const NodeId replica : {1, 2}) {
    caller.feed(reply(replica, 1, "", 1 << 16, false, ReplyStatus::unavailable));
  }
  CHECK(caller.actions.completions.empty());
  caller.feed(reply(3, 1, "", 1 << 16, false, ReplyStatus::unavailable));
  REQUIRE(caller.actions.completions.size() == 1);
  CHECK(caller.actions.completions[0].outcome == CallOutcome::unavailable);
}

TEST_CASE("PBFT 5.1: digests agree, the result comes once, from whoever has it") {
  Caller caller;
  caller.submit();
  const auto replier = decode_request(*caller.actions.sends[0].frame, kReplicas)->replier;
  const NodeId a = (replier + 1) % kReplicas;
  const NodeId b = (replier + 2) % kReplicas;
  caller.feed(reply(a, 1, "good", 1 << 16, false));
  caller.feed(reply(b, 1, "good", 1 << 16, false));
  CHECK(caller.actions.completions.empty());
  SECTION("the designated replier sends it") {
    caller.feed(reply(replier, 1, "good"));
    REQUIRE(caller.actions.completions.size() == 1);
  }
  SECTION("it lies: all are asked at once") {
    caller.feed(reply(replier, 1, "bad"));
    CHECK(caller.actions.sends.size() == kReplicas);
    caller.feed(reply(a, 1, "good"));
    REQUIRE(caller.actions.completions.size() == 1);
  }
  SECTION("it is silent: all are asked after the usual time") {
    caller.tick(milliseconds(150));
    CHECK(caller.actions.sends.size() == kReplicas);
    caller.feed(reply(b, 1, "good"));
    REQUIRE(caller.actions.completions.size() == 1);
  }
  CHECK(as_text(caller.actions.completions[0].result) == "good");
}

TEST_CASE("PBFT 5.1: a read-only call needs 2f+1 equal replies") {
  Caller caller;
  caller.submit(CallKind::read_only);
  CHECK(caller.actions.sends.size() == kReplicas);
  caller.feed(reply(0, 1, "v", 0));
  caller.feed(reply(1, 1, "v", 0));
  CHECK(caller.actions.completions.empty());
  SECTION("three agree") {
    caller.feed(reply(3, 1, "v", 0));
    REQUIRE(caller.actions.completions.size() == 1);
    CHECK_FALSE(caller.actions.completions[0].fell_back);
    CHECK(caller.actions.completions[0].sigma == 0);
  }
  SECTION("they cannot agree any more: it is ordered at once, and nobody is accused") {
    caller.feed(reply(2, 1, "w", 0));
    caller.feed(reply(3, 1, "w", 0));
    REQUIRE(caller.actions.sends.size() == 1);
    const auto ordered = decode_request(*caller.actions.sends[0].frame, kReplicas);
    CHECK_FALSE(ordered->read_only);
    CHECK(ordered->timestamp == 2);
    CHECK(as_text(ordered->operation) == "op");
    caller.feed(reply(2, 2, "w"));
    caller.feed(reply(3, 2, "w"));
    REQUIRE(caller.actions.completions.size() == 1);
    CHECK(caller.actions.completions[0].fell_back);
    CHECK(caller.actions.refuted.empty());
  }
  SECTION("they are too slow: it is ordered") {
    caller.tick(milliseconds(150));
    REQUIRE(caller.actions.sends.size() == 1);
    CHECK_FALSE(decode_request(*caller.actions.sends[0].frame, kReplicas)->read_only);
  }
}

TEST_CASE("With linearizable reads, 2f+1 replicas are behind an ordered call before its answer") {
  ClientSettings settings;
  settings.linearizable_reads = true;
  Caller caller(settings);
  caller.submit();
  caller.feed(reply(0, 1, "good"));
  caller.feed(reply(1, 1, "good"));
  CHECK(caller.actions.completions.empty());
  Frame last;
  SECTION("it says the same") {
    last = reply(2, 1, "good");
  }
  SECTION("it differs, honestly or not") {
    last = reply(2, 1, "another");
  }
  SECTION("it has no answer to it") {
    last = reply(2, 1, "", 1 << 16, false, ReplyStatus::unavailable);
  }
  caller.feed(last);
  REQUIRE(caller.actions.completions.size() == 1);
  CHECK(caller.actions.completions[0].outcome == CallOutcome::agreed);
  CHECK(as_text(caller.actions.completions[0].result) == "good");
}

TEST_CASE("With linearizable reads, a call without f+1 equal answers ends as any other") {
  ClientSettings settings;
  settings.linearizable_reads = true;
  Caller caller(settings);
  caller.submit();
  caller.feed(reply(0, 1, "a"));
  caller.feed(reply(1, 1, "b"));
  caller.feed(reply(2, 1, "c"));
  CHECK(caller.actions.completions.empty());
  caller.feed(reply(3, 1, "d"));
  REQUIRE(caller.actions.completions.size() == 1);
  CHECK(caller.actions.completions[0].outcome == CallOutcome::no_agreement);
}

TEST_CASE("Prophecy 4.2: a session issues one request at a time; others wait their turn") {
  ClientSettings settings;
  settings.session_count = 1;
  settings.queue_max = 1;
  Caller caller(settings);
  caller.submit();
  const CallId waiting = caller.submit();
  CHECK(caller.actions.sends.empty());
  caller.submit();
  REQUIRE(caller.actions.completions.size() == 1);
  CHECK(caller.actions.completions[0].outcome == CallOutcome::overloaded);
  caller.feed(reply(0, 1, "r"));
  caller.feed(reply(1, 1, "r"));
  REQUIRE(caller.actions.completions.size() == 1);
  REQUIRE(caller.actions.sends.size() == 1);
  CHECK(decode_request(*caller.actions.sends[0].frame, kReplicas)->timestamp == 2);
  caller.feed(reply(0, 2, "s", 2 << 16));
  caller.feed(reply(1, 2, "s", 2 << 16));
  REQUIRE(caller.actions.completions.size() == 1);
  CHECK(caller.actions.completions[0].call == waiting);
}

TEST_CASE("Deadlines end calls in a session and in the queue; cancelled calls end in silence") {
  ClientSettings settings;
  settings.session_count = 1;
  Caller caller(settings);
  caller.submit(CallKind::ordered, milliseconds(100));
  caller.submit(CallKind::ordered, milliseconds(50));
  const CallId cancelled = caller.submit(CallKind::ordered, milliseconds(70));
  caller.client.cancel(cancelled, caller.now, caller.actions);
  CHECK(caller.client.next_timer() <= caller.now + milliseconds(50));
  caller.tick(milliseconds(50));
  REQUIRE(caller.actions.completions.size() == 1);
  CHECK(caller.actions.completions[0].outcome == CallOutcome::timed_out);
  caller.tick(milliseconds(50));
  REQUIRE(caller.actions.completions.size() == 1);
  caller.tick(seconds(1));
  CHECK(caller.actions.completions.empty());
  CHECK(caller.client.next_timer() == TimePoint::max());
  CHECK(caller.client.calls_in_flight() == 0);
}

}  // namespace
}  // namespace prophecy::pbft::test
