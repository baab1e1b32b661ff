#include "pbft/core/execution.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

// A result this small is sent by every replica: it costs less than a lost designated reply.
constexpr std::size_t kAlwaysFullBytes = 256;

}  // namespace

ExecutionStage::ExecutionStage(Context& context, Log& log, ClientTable& clients,
                               Checkpoints& checkpoints)
    : context_(context),
      log_(log),
      clients_(clients),
      checkpoints_(checkpoints),
      history_(context.settings) {}

std::uint64_t ExecutionStage::start(const Pending& pending) {
  pending_.push_back(pending);
  ++in_flight_;
  return first_id_ + pending_.size() - 1;
}

void ExecutionStage::hand_out(Slot& slot, ReplicaActions& out) {
  ASSERT(slot.phase == SlotPhase::committed);
  ASSERT(slot.sequence == context_.progress.last_ordered + 1);
  context_.progress.last_ordered = slot.sequence;
  ASSERT(slot.execution == SlotExecution::none);
  slot.execution = SlotExecution::executing;
  // A primary's clock may be behind that of the one before it. Time stands still then, at all
  // replicas alike, and nothing has to be refused for the order in which it was proposed.
  context_.progress.agreed_time = std::max(context_.progress.agreed_time, slot.input.time);
  slot.results.assign(slot.requests.size(), Digest{});
  for (std::size_t index = 0; index < slot.requests.size(); ++index) {
    const BatchRequest& request = slot.requests[index];
    slot.operation_bytes += request.operation_size;
    Session& session = clients_.session(request.client, request.session);
    if (request.timestamp <= session.last_timestamp) {
      ++context_.counters.requests_repeated;
      if (request.timestamp == session.last_timestamp && session.replied) {
        repeat_reply(request.client, request.session, session, out);
      }
      continue;
    }
    clients_.begin(session, request.timestamp);
    Pending pending;
    pending.client = request.client;
    pending.session = request.session;
    pending.timestamp = request.timestamp;
    pending.replier = request.replier;
    pending.sigma = (slot.sequence << 16) | index;
    out.executions.push_back(
        {start(pending), pending.sigma, false, slot.pre_prepare,
         ByteView(*slot.pre_prepare).subspan(request.operation_at, request.operation_size),
         AgreedInput{context_.progress.agreed_time,
                     seed_of_request(slot.input.seed, static_cast<std::uint16_t>(index))}});
    ++slot.results_missing;
  }
  slot.requests = {};
  if (slot.results_missing == 0) slot.execution = SlotExecution::executed;
}

void ExecutionStage::read(const RequestMessage& request, ByteView frame, ReplicaActions& out) {
  Session& session = clients_.session(request.client, request.session);
  if (request.timestamp < session.read_timestamp) {
    return context_.drop(DropReason::stale_timestamp);
  }
  const bool repeated = request.timestamp == session.read_timestamp;
  session.read_full_reply = repeated;
  if (repeated && session.read_in_flight) return context_.drop(DropReason::duplicate);
  if (reads_in_flight_ >= context_.settings.reads_in_flight_max) {
    return context_.drop(DropReason::queue_full);
  }
  session.read_timestamp = request.timestamp;
  session.read_in_flight = true;
  ++reads_in_flight_;
  Pending pending;
  pending.read = true;
  pending.client = request.client;
  pending.session = request.session;
  pending.timestamp = request.timestamp;
  pending.replier = request.replier;
  auto storage = std::make_shared<const Bytes>(frame.begin(), frame.end());
  const auto within = static_cast<std::size_t>(request.operation.data() - frame.data());
  const ByteView operation = ByteView(*storage).subspan(within, request.operation.size());
  out.executions.push_back({start(pending), 0, true, std::move(storage), operation, {}});
}

void ExecutionStage::on_executed(std::uint64_t id, ExecutionStatus status, Bytes result,
                                 ReplicaActions& out) {
  ASSERT(id >= first_id_ && id - first_id_ < pending_.size());
  Pending& entry = pending_[id - first_id_];
  ASSERT(!entry.finished);
  entry.finished = true;
  const Pending pending = entry;
  while (!pending_.empty() && pending_.front().finished) {
    pending_.pop_front();
    ++first_id_;
  }
  --in_flight_;

  const bool done = status == ExecutionStatus::done && result.size() <= kResultBytesMax;
  if (!done) {
    ++context_.counters.executions_unavailable;
    result.clear();
  }
  const ReplyStatus reply = done ? ReplyStatus::done : ReplyStatus::unavailable;
  const Digest digest = done ? sha256(result) : Digest{};
  if (pending.read) {
    finish_read(pending, reply, digest, result, out);
  } else {
    finish_ordered(pending, reply, digest, std::move(result), out);
  }
}

void ExecutionStage::finish_ordered(const Pending& pending, ReplyStatus status,
                                    const Digest& digest, Bytes result, ReplicaActions& out) {
  Slot* slot = log_.find(pending.sigma >> 16);
  ASSERT(slot != nullptr && slot->execution == SlotExecution::executing &&
         slot->results_missing > 0);
  slot->results[pending.sigma & 0xffff] = digest;
  if (status != ReplyStatus::done) slot->result_unavailable = true;
  if (--slot->results_missing == 0) slot->execution = SlotExecution::executed;
  ++context_.counters.requests_executed;

  Session& session = clients_.session(pending.client, pending.session);
  const bool full = context_.self == pending.replier || result.size() <= kAlwaysFullBytes ||
                    session.full_reply_timestamp == pending.timestamp;
  send_reply(pending, status, digest, result, full, out);
  // The session may have gone on, when its client gave this request up.
  if (session.last_timestamp != pending.timestamp) return;
  session.replied = true;
  session.status = status;
  session.sigma = pending.sigma;
  session.digest = digest;
  if (status != ReplyStatus::done) return;
  context_.counters.cached_replies_dropped += clients_.keep_result(session, std::move(result));
}

void ExecutionStage::finish_read(const Pending& pending, ReplyStatus status, const Digest& digest,
                                 const Bytes& result, ReplicaActions& out) {
  --reads_in_flight_;
  ++context_.counters.reads_executed;
  Session& session = clients_.session(pending.client, pending.session);
  bool full = context_.self == pending.replier || result.size() <= kAlwaysFullBytes;
  if (session.read_timestamp == pending.timestamp) {
    session.read_in_flight = false;
    full = full || session.read_full_reply;
  }
  send_reply(pending, status, digest, result, full, out);
}

void ExecutionStage::repeat_reply(NodeId client, std::uint32_t number, const Session& session,
                                  ReplicaActions& out) {
  ASSERT(session.replied);
  Pending pending;
  pending.client = client;
  pending.session = number;
  pending.timestamp = session.last_timestamp;
  pending.sigma = session.sigma;
  ++context_.counters.replies_repeated;
  send_reply(pending, session.status, session.digest, session.result, session.has_result, out);
}

void ExecutionStage::send_reply(const Pending& pending, ReplyStatus status, const Digest& digest,
                                ByteView result, bool full, ReplicaActions& out) {
  if (!context_.takes_part()) return;
  ReplyMessage reply;
  reply.view = context_.view;
  reply.client = pending.client;
  reply.session = pending.session;
  reply.timestamp = pending.timestamp;
  reply.sigma = pending.sigma;
  reply.status = status;
  reply.result_digest = digest;
  reply.full = full && status == ReplyStatus::done;
  reply.result = result;
  out.sends.push_back({pending.client, pending.session, encode_reply(reply, context_.keys)});
  ++context_.counters.replies_sent;
}

bool ExecutionStage::advance(ReplicaActions& out) {
  bool advanced = false;
  for (;;) {
    const Slot* slot = log_.find(context_.progress.last_executed + 1);
    if (slot == nullptr || slot->execution != SlotExecution::executed) return advanced;
    advanced = true;
    ++context_.progress.last_executed;
    ++context_.counters.batches_executed;
    if (const auto claim = history_.append(*slot)) take_checkpoint(*claim, out);
  }
}

void ExecutionStage::take_checkpoint(const CheckpointClaim& claim, ReplicaActions& out) {
  Frame frame = encode_checkpoint(claim.sequence, claim.order, claim.results, context_.keys);
  context_.send_to_peers(frame, out);
  checkpoints_.keep_own(claim, frame);
  const Checkpoints::Outcome outcome = checkpoints_.record(context_.self, claim, std::move(frame));
  const bool at_stable = claim.sequence == checkpoints_.stable().sequence;
  if (outcome == Checkpoints::Outcome::stable) ++context_.counters.checkpoints_stable;
  if (at_stable && checkpoints_.results_diverged()) ++context_.counters.result_divergences;
}

}  // namespace prophecy::pbft
