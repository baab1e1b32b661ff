// A replica that is behind a checkpoint that is stable: how it comes to a state while the others go
// on.
#include <algorithm>

#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {
namespace {

// All others have signed it.
void make_stable(Subject& subject, std::uint64_t sequence, const Digest& order,
                 const Digest& replies, const Digest& service) {
  for (NodeId peer = 0; peer < kReplicas; ++peer) {
    if (peer == subject.node) continue;
    subject.feed(encode_checkpoint(sequence, order, replies, service, ring(peer)));
  }
  REQUIRE(subject.replica.status().last_stable == sequence);
}

}  // namespace

TEST_CASE("A state that nobody hands over any more is not waited for: there is a newer one") {
  const auto digest = [](std::uint8_t byte) { return Digest{byte}; };
  Subject backup(1, every_batch());
  const auto last_asked = [&]() -> std::optional<std::uint64_t> {
    std::optional<std::uint64_t> sequence;
    for (const Outgoing& outgoing : backup.actions.sends) {
      if (peek_header(*outgoing.frame)->type != MessageType::fetch_parts) continue;
      sequence = decode_fetch_parts(*outgoing.frame, kReplicas)->sequence;
    }
    return sequence;
  };
  backup.tick(milliseconds(0));
  make_stable(backup, 1, digest(1), digest(2), digest(3));
  std::optional<std::uint64_t> asked = last_asked();
  for (int i = 0; i < 100 && !asked; ++i) {
    backup.tick(milliseconds(10));
    asked = last_asked();
  }
  CHECK(asked == 1);
  make_stable(backup, 2, digest(4), digest(5), digest(6));
  // They have some time to answer.
  CHECK_FALSE(last_asked());
  backup.tick(milliseconds(199));
  CHECK_FALSE(last_asked());
  backup.tick(milliseconds(1));
  CHECK(last_asked() == 2);
}

}  // namespace prophecy::pbft::test
