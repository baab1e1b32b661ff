#include "simulation/hosts/doubted_calls.hpp"

#include <algorithm>
#include <memory>

#include "pbft/wire/body.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/frame_header.hpp"

namespace prophecy::simulation {
namespace {

// Replies that are still on their way come within it.
constexpr Duration kGivenUpAfter = seconds(1);

}  // namespace

DoubtedCalls::DoubtedCalls(const Scenario& scenario)
    : may_happen_(scenario.linearizable_reads),
      replicas_(scenario.replicas()),
      awaited_(((std::uint64_t{1} << scenario.replicas()) - 1) & ~scenario.faulty_in_the_end()),
      liars_(scenario.liars()) {}

void DoubtedCalls::on_request(const pbft::Frame& frame) {
  if (!may_happen_) return;
  const auto request = pbft::decode_request(*frame, replicas_);
  if (!request || request->read_only) return;
  Asked& asked = sessions_[request->session];
  if (asked.timestamp == request->timestamp) return;
  asked = {};
  asked.timestamp = request->timestamp;
  asked.request = frame;
}

void DoubtedCalls::on_reply(ByteView frame, TimePoint now) {
  if (!may_happen_) return;
  const auto reply = pbft::decode_reply(frame);
  if (!reply || reply->replica >= replicas_) return;
  const auto session = sessions_.find(reply->session);
  if (session == sessions_.end() || session->second.timestamp != reply->timestamp) return;
  Asked& asked = session->second;
  const std::uint64_t replica = std::uint64_t{1} << reply->replica;
  asked.answered |= replica;
  if (reply->status == pbft::ReplyStatus::unavailable) asked.without |= replica & ~liars_;
  if ((awaited_ & ~asked.answered) == 0 && asked.without != 0 && !asked.since) asked.since = now;
}

std::optional<pbft::Frame> DoubtedCalls::take(TimePoint now) {
  for (auto& [session, asked] : sessions_) {
    if (asked.is_given_up || !asked.since || now - *asked.since < kGivenUpAfter) continue;
    asked.is_given_up = true;
    return asked.request;
  }
  return std::nullopt;
}

bool DoubtedCalls::lacks_answer(ByteView operation) const {
  return std::any_of(sessions_.begin(), sessions_.end(), [&](const auto& session) {
    return session.second.without != 0 && is_for(session.second.request, operation);
  });
}

bool DoubtedCalls::is_for(const pbft::Frame& request, ByteView operation) const {
  const auto message = pbft::decode_request(*request, replicas_);
  if (!message) return false;
  if (!message->body) return std::ranges::equal(message->operation, operation);
  const auto bytes = std::make_shared<const Bytes>(operation.begin(), operation.end());
  return pbft::BodyTree(bytes, kSimulatedLeafBytes).name() == *message->body;
}

}  // namespace prophecy::simulation
