// What a frame may cost the replica that receives it, whoever sends it.
#include <catch2/catch.hpp>

#include "pbft/core/bodies/part_server.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/group.hpp"
#include "pbft/shell/map_part_store.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr Duration kLater = milliseconds(25);

std::size_t bytes_sent(const ReplicaActions& actions) {
  std::size_t bytes = 0;
  for (const Outgoing& outgoing : actions.sends)
    bytes += outgoing.frame->size();
  return bytes;
}

// Backup 1, whose client was given a large result.
struct Answered : Subject {
  Answered() : Subject(1) {
    order(1, {asked});
    executed(1, std::string(100'000, 'r'));
  }
  const Frame asked = request(1);
};

TEST_CASE("A reply is repeated once in a while, however often its request comes") {
  Answered backup;
  std::size_t bytes = 0;
  for (int i = 0; i < 600; ++i) {
    backup.feed(backup.asked);
    bytes += bytes_sent(backup.actions);
  }
  CHECK(bytes > 100'000);
  CHECK(bytes < 101'000);
  CHECK(backup.dropped(DropReason::rate_limited) == 599);
  backup.now += kLater;
  backup.feed(backup.asked);
  CHECK(backup.sent(MessageType::reply) == 1);
}

TEST_CASE("Repeated replies are one frame, until the view changes") {
  Answered backup;
  backup.feed(backup.asked);
  const Frame first = backup.actions.sends.at(0).frame;
  backup.now += kLater;
  backup.feed(backup.asked);
  CHECK(backup.actions.sends.at(0).frame == first);
  CHECK(decode_reply(*first)->result.size() == 100'000);
}

TEST_CASE("A batch that repeats one request repeats its reply once") {
  Answered backup;
  const std::vector<Frame> copies(1000, backup.asked);
  const Proposal proposal = pre_prepare(2, copies);
  std::size_t bytes = 0;
  for (const Frame& frame : {proposal.frame, prepare(2, 2, proposal.batch),
                             commit(0, 2, proposal.batch), commit(2, 2, proposal.batch)}) {
    backup.feed(frame);
    bytes += bytes_sent(backup.actions);
  }
  CHECK(backup.replica.status().last_executed == 2);
  CHECK(bytes < 102'000);
}

TEST_CASE("One client's repeated replies are bounded, over all of its sessions") {
  Subject backup(1);
  constexpr std::uint32_t kSessions = 8;
  std::vector<Frame> asked;
  for (std::uint32_t session = 0; session < kSessions; ++session)
    asked.push_back(request(1, "op", false, 0, session));
  backup.order(1, asked);
  for (std::uint64_t id = 1; id <= kSessions; ++id)
    backup.executed(id, std::string(16 << 20, 'r'));
  std::size_t bytes = 0;
  for (const Frame& frame : asked) {
    backup.feed(frame);
    bytes += bytes_sent(backup.actions);
  }
  CHECK(bytes > std::size_t{16} << 20);
  CHECK(bytes < std::size_t{40} << 20);
}

TEST_CASE("A part that all others fetch is read once") {
  GivenInputs inputs;
  Context context{{}, ring(0), QuorumRule::standard(1), 0, inputs};
  MapPartStore parts;
  PartServer server(context, parts);
  std::vector<Digest> body;
  for (char leaf = 'a'; leaf < 'q'; ++leaf)
    body.push_back(parts.add({}, as_bytes(std::string(100'000, leaf))));
  ReplicaActions actions;
  for (const NodeId peer : {1u, 2u, 3u})
    server.serve(peer, body, actions);
  REQUIRE(actions.sends.size() == 3 * body.size());
  CHECK(parts.reads == body.size());
  CHECK(actions.sends.at(0).frame == actions.sends.at(body.size()).frame);
  // The last ones alone are kept: 4 MiB of them.
  std::vector<Digest> others;
  for (char leaf = 'A'; leaf < 'Z'; ++leaf)
    others.push_back(parts.add({}, as_bytes(std::string(200'000, leaf))));
  server.serve(1, others, actions);
  parts.reads = 0;
  server.serve(2, body, actions);
  CHECK(parts.reads == body.size());
}

}  // namespace
}  // namespace prophecy::pbft::test
