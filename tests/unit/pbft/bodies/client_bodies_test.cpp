// A client's own part in requests that are ordered by digest: it announces them, and has their
// bodies.
#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/wire/body.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {
namespace {

TEST_CASE("A client sends a large operation by digest to all, and hands out its parts") {
  ClientSettings settings;
  settings.inline_bytes_max = 100;
  settings.body_leaf_bytes = 100;
  Client client(settings, ring(kClient));
  ClientActions actions;
  const CallKind kind = GENERATE(CallKind::ordered, CallKind::read_only);
  const TimePoint now{};
  client.submit(*bytes_of_size(450), kind, now + seconds(1), now, actions);
  REQUIRE(count_sent(actions.sends, MessageType::request) == kReplicas);
  const auto request = decode_request(*actions.sends[0].frame, kReplicas);
  REQUIRE((request && request->body));
  CHECK(request->body == tree().name());
  const std::vector<Digest> wanted{tree().name().root};
  actions.clear();
  SECTION("to a replica") {
    client.on_frame(*encode_fetch_parts_of(kClient, 0, wanted, ring(2)), now, actions);
    REQUIRE(actions.sends.size() == 1);
    CHECK(actions.sends[0].to == 2);
    const auto part = decode_part_message(*actions.sends[0].frame);
    REQUIRE(part.has_value());
    CHECK(sha256(part->part) == wanted[0]);
  }
  SECTION("that proves itself") {
    Bytes frame = *encode_fetch_parts_of(kClient, 0, wanted, ring(2));
    frame.back() ^= 1;
    client.on_frame(frame, now, actions);
    CHECK(actions.sends.empty());
  }
  SECTION("while the call is open, which ends as any other") {
    client.on_frame(*reply(0, 1, "done"), now, actions);
    client.on_frame(*reply(1, 1, "done"), now, actions);
    REQUIRE(actions.completions.size() == 1);
    CHECK(actions.completions[0].outcome == CallOutcome::agreed);
    CHECK(actions.completions[0].fell_back == (kind == CallKind::read_only));
    client.on_frame(*encode_fetch_parts_of(kClient, 0, wanted, ring(2)), now, actions);
    CHECK(actions.sends.empty());
  }
}

}  // namespace
}  // namespace prophecy::pbft::test
