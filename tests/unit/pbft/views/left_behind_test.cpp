// What earlier views have left in a log: whose room for proposals it takes.
#include <catch2/catch.hpp>

#include "pbft/group.hpp"
#include "pbft/views/view_frames.hpp"
#include "pbft/whole_group.hpp"
#include "pbft/wire/sealed.hpp"

namespace prophecy::pbft::test {

TEST_CASE("What a faulty primary has left behind counts against itself alone") {
  Subject backup(1, with_small_log());
  std::uint64_t timestamp = 100;
  const auto proposed_by = [&](NodeId primary, std::uint64_t view) {
    const std::size_t before = backup.dropped(DropReason::queue_full);
    for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
      const Frame large = request(++timestamp, std::string(1500, 'x'));
      backup.feed(pre_prepare(sequence, {large}, view, primary).frame);
    }
    return backup.dropped(DropReason::queue_full) == before;
  };
  const auto enter = [&](std::uint64_t view) {
    backup.tick(seconds(1));
    const auto from = static_cast<NodeId>(view % kReplicas);
    backup.feed(
        new_view(from, view, {view_change(0, view), view_change(2, view), view_change(3, view)}));
    REQUIRE(backup.replica.status().view == view);
  };
  CHECK(proposed_by(0, 0));
  enter(4);
  CHECK_FALSE(proposed_by(0, 4));
  enter(6);
  CHECK(proposed_by(2, 6));
  enter(8);
  CHECK_FALSE(proposed_by(0, 8));
}

// A batch's digest does not cover who has proposed it.
TEST_CASE("What a faulty replica hands on counts against no primary that it names") {
  Subject backup(1, with_small_log());
  std::vector<BatchRecord> records;
  std::vector<Frame> contents;
  for (std::uint64_t sequence = 1; sequence <= 6; ++sequence) {
    const Frame large = request(sequence, std::string(1500, 'x'));
    const Proposal proposal = pre_prepare(sequence, {large}, 0, 2);
    contents.push_back(proposal.frame);
    records.push_back({sequence, 0, proposal.batch});
  }
  backup.tick(seconds(1));
  backup.feed(new_view(
      0, 4,
      {view_change(0, 4, records, records), view_change(2, 4), view_change(3, 4, {}, records)}));
  REQUIRE(backup.replica.status().view == 4);
  for (const Frame& content : contents)
    backup.feed_as_it_is(encode_sealed(*content, ring(0)));
  REQUIRE(backup.replica.counters().contents_fetched == contents.size());
  backup.tick(seconds(1));
  backup.feed(new_view(2, 6, {view_change(0, 6), view_change(2, 6), view_change(3, 6)}));
  REQUIRE(backup.replica.status().view == 6);
  backup.feed(pre_prepare(1, {request(100)}, 6, 2).frame);
  CHECK(backup.dropped(DropReason::queue_full) == 0);
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
}

TEST_CASE("What faulty replicas have left on a disk keeps no primary from proposing") {
  Subject primary(1, with_small_log());
  const auto large = [](std::uint64_t timestamp) {
    return std::vector<Frame>{request(timestamp, std::string(1500, 'x'))};
  };
  const auto enter = [&](std::uint64_t view, const std::vector<BatchRecord>& records = {}) {
    primary.tick(seconds(1));
    primary.feed(new_view(0, view,
                          {view_change(0, view, records, records), view_change(2, view),
                           view_change(3, view, {}, records)}));
    REQUIRE(primary.replica.status().view == view);
  };
  // One that others have been given is passed on, and the next views begin with something else.
  std::uint64_t timestamp = 0;
  std::vector<BatchRecord> records;
  std::vector<Frame> contents;
  for (std::uint64_t sequence = 1; sequence <= 6; ++sequence) {
    const Proposal proposal = pre_prepare(sequence, large(++timestamp));
    contents.push_back(proposal.frame);
    records.push_back({sequence, 0, proposal.batch});
  }
  enter(4, records);
  for (const Frame& content : contents)
    primary.feed_as_it_is(encode_sealed(*content, ring(0)));
  for (const std::uint64_t view : {8U, 12U}) {
    enter(view);
    for (std::uint64_t sequence = 1; sequence <= 3; ++sequence)
      primary.feed(pre_prepare(sequence, large(++timestamp), view, 0).frame);
  }
  std::uint64_t on_disk = 0;
  for (const auto& [key, value] : primary.disk)
    on_disk += value.size();
  REQUIRE(on_disk > 8 * with_small_log().log_bytes_max);
  primary.tick(seconds(1));
  for (const NodeId peer : {0U, 2U, 3U})
    primary.feed(view_change(peer, 13));
  REQUIRE(primary.replica.status().view == 13);
  REQUIRE(primary.replica.status().state == ReplicaState::normal);
  primary.feed(request(100));
  CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
}

// A network that loses votes for a while, and a replica that is silent. Each correct primary has
// proposed one batch meanwhile, larger than what one may leave behind.
TEST_CASE("What correct primaries have left behind keeps none of them from proposing for ever") {
  constexpr NodeId kSilent = 3;
  ReplicaSettings settings = with_small_log();
  settings.log_bytes_max = GENERATE(1'000'000u, 2000u);
  WholeGroup group(settings);
  bool loses_votes = true;
  group.lose([&](NodeId to, ByteView frame) {
    const auto header = peek_header(frame);
    return to == kSilent || header->sender == kSilent ||
           (loses_votes && header->type == MessageType::prepare);
  });
  // The next batch at a number is another one.
  for (std::uint32_t session = 0; session < 100; ++session) {
    group.at(TimePoint{} + milliseconds(100 + 300 * session), [&group, session] {
      for (NodeId to = 0; to < kReplicas; ++to) {
        group.send(to, retransmitted(request(1, std::string(9000, 'x'), false, 0, session)));
      }
    });
  }
  REQUIRE(group.run_until(TimePoint{} + minutes(5), [&] { return group.replica(0).view() >= 4; }));
  group.run_until(group.now() + milliseconds(100));
  REQUIRE(group.executed(0) == 0);
  loses_votes = false;
  CHECK(group.run_until(group.now() + minutes(10), [&] { return group.executed(0) > 0; }));
}

}  // namespace prophecy::pbft::test
