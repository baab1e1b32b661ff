// The size of proposals. A replica that stands for one has to be able to hand it to the others,
// inside a sealed frame, and to hold all that it executes at once.
#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/core/ordering/request_queue.hpp"
#include "pbft/wire/limits.hpp"
#include "pbft/wire/sealed.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr NodeId kBackup = 1;

std::vector<Frame> requests_of(std::size_t size, std::uint32_t count) {
  std::vector<Frame> requests;
  const std::string operation(size, 'o');
  for (std::uint32_t session = 0; session < count; ++session)
    requests.push_back(request(1, operation, false, 0, session));
  return requests;
}

bool is_taken(const std::vector<Frame>& requests) {
  Subject subject(kBackup);
  subject.feed(pre_prepare(1, requests).frame);
  const auto malformed = static_cast<std::size_t>(DropReason::malformed);
  return subject.replica.counters().dropped.at(malformed) == 0;
}

}  // namespace

TEST_CASE("The largest proposals of a correct primary are taken, and fit into a sealed frame") {
  const std::size_t count = 15;
  const auto requests =
      GENERATE_COPY(requests_of(kInlineBytesMax, 1), requests_of(kBatchBytesMax / 16, count));
  CHECK(is_taken(requests));
  const Frame sealed = encode_sealed(*pre_prepare(1, requests).frame, ring(kBackup));
  CHECK(sealed->size() <= kFrameBytesMax);
}

TEST_CASE("A proposal that could not be handed on is not taken") {
  // As large as a frame may be; inside a seal it would be too large for every receiver.
  auto requests = requests_of(kInlineBytesMax, 19);
  const std::size_t so_far = pre_prepare(1, requests).frame->size();
  const std::size_t head = request(1, "", false, 0, 19)->size() + 4;
  requests.push_back(request(1, std::string(kFrameBytesMax - so_far - head, 'o'), false, 0, 19));
  REQUIRE(pre_prepare(1, requests).frame->size() == kFrameBytesMax);
  CHECK_FALSE(is_taken(requests));
  CHECK_FALSE(is_taken(requests_of(kInlineBytesMax, 3)));
}

TEST_CASE("What many requests of a batch take beside their operations is bounded") {
  // A signature is no operation.
  const auto with_signatures = [&](std::size_t count) {
    std::vector<Frame> requests;
    for (std::uint32_t session = 0; session < count; ++session)
      requests.push_back(retransmitted(request(1, "", false, 0, session)));
    return requests;
  };
  const std::size_t alone = pre_prepare(1, with_signatures(1)).frame->size();
  const std::size_t each = pre_prepare(1, with_signatures(2)).frame->size() - alone;
  const std::size_t count = 1 + (kBatchOverheadMax - alone) / each;
  REQUIRE(count < kBatchRequestsMax);
  CHECK(is_taken(with_signatures(count)));
  CHECK_FALSE(is_taken(with_signatures(count + 1)));
  CHECK(is_taken(requests_of(400, kBatchRequestsMax)));
  // The bound is newer than some groups: what they have agreed on is taken.
  Subject behind(kBackup);
  const Proposal older = pre_prepare(1, with_signatures(count + 1));
  for (const NodeId peer : {0u, 2u})
    behind.feed(encode_vote(MessageType::decision, 0, 1, older.batch, ring(peer)));
  behind.feed(older.frame);
  CHECK(behind.replica.status().last_ordered == 1);
}

TEST_CASE(
    "The fullest batch of empty operations is taken, at the largest size that can be chosen") {
  constexpr std::uint32_t kFaults = 3;
  const QuorumRule quorum = QuorumRule::standard(kFaults);
  ReplicaSettings settings;
  settings.faults = kFaults;
  settings.batch_requests_max = kBatchRequestsMax;
  settings.batch_bytes_max = kBatchBytesChosenMax;
  REQUIRE(check(settings).has_value());
  const KeyRing client = ring_of(kClient, quorum.replicas);
  RequestQueue queue(settings, quorum);
  std::vector<RequestQueue::Displaced> displaced;
  for (std::uint32_t session = 0; session < kBatchRequestsMax; ++session) {
    const Frame frame =
        finish_request(begin_request(ByteView{}, quorum.replicas), session, 1, false, 0, client);
    const auto message = decode_request(*frame, quorum.replicas);
    REQUIRE(message.has_value());
    REQUIRE(queue.add(*message, *frame, sha256(message->content), {}, RequestQueue::Place::last,
                      displaced));
  }
  REQUIRE(queue.first_is_full());
  const auto made = queue.take().builder.finish(0, 1, {}, ring_of(0, quorum.replicas));
  CHECK(decode_pre_prepare(*made.frame, quorum.replicas).has_value());
}

TEST_CASE("A batch names no more bodies than a replica can hold when it executes them") {
  const BodyTree body(bytes_of_size(1 << 20), kBodyLeafBytesMax);
  const auto naming = [&](std::uint32_t count) {
    std::vector<Frame> requests;
    for (std::uint32_t session = 0; session < count; ++session)
      requests.push_back(by_digest(1, body.name(), session));
    return requests;
  };
  CHECK(is_taken(naming(2)));
  CHECK_FALSE(is_taken(naming(3)));
  CHECK_FALSE(is_taken(naming(1024)));
}

}  // namespace prophecy::pbft::test
