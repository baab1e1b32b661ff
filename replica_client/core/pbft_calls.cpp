#include "replica_client/core/pbft_calls.hpp"

#include <algorithm>
#include <utility>

#include "canonical/answer_form.hpp"
#include "pbft/wire/body.hpp"
#include "pbft/wire/epoch_refusal.hpp"

namespace prophecy::replica_client {
namespace {

// What replicas and origins have to take of a large body, or its client is told that it failed.
constexpr std::uint64_t kBodyBytesPerSecondMin = 4 << 20;

// A call of the first moments is submitted again after so long.
constexpr Duration kRepeatPause = milliseconds(200);

// An encoded answer begins with the length of its head, or with this.
static_assert(sketch::kAnswerHeadBytesMax < pbft::kEpochRefusalMark &&
              pbft::kEpochRefusalMark != UINT32_MAX);

pbft::CallKind call_kind(ReplicatedKind kind) {
  return kind == ReplicatedKind::ordered ? pbft::CallKind::ordered : pbft::CallKind::read_only;
}

// The sketcher's limits see to it that the operation is none too large.
std::shared_ptr<const pbft::BodyTree> tree_of(std::string_view wire, const ByteSourcePtr& body) {
  const ByteView front = as_bytes(wire);
  return std::make_shared<const pbft::BodyTree>(
      std::make_shared<const Bytes>(front.begin(), front.end()), body);
}

}  // namespace

PbftCalls::PbftCalls(const pbft::ClientSettings& settings, Duration deadline,
                     const pbft::KeyRing& keys)
    : deadline_(deadline), client_(settings, keys) {}

std::uint64_t PbftCalls::submit(const ReplicatedRequest& request, ReplicatedHandler& handler,
                                TimePoint now) {
  const pbft::CallId call =
      request.body == nullptr
          ? client_.submit(as_bytes(request.wire), call_kind(request.kind), now + deadline_, now,
                           actions_, request.view)
          : client_.submit(tree_of(request.wire, request.body), now + deadline_for(*request.body),
                           now, actions_, request.view);
  Call& entry = calls_.emplace(call, Call{call, request.kind, &handler, nullptr}).first->second;
  if (request.is_safe() && request.body == nullptr && is_starting(now)) {
    entry.repeat =
        std::make_unique<Repeat>(Repeat{std::string(request.wire), now + deadline_, request.view});
  }
  Note& note = notes_[call % kNotes];
  note.call = note.id = call;
  note.request.assign(request);
  return call;
}

// Each replica fetches it, keeps it, and tells it to its origin; the slowest of those that it takes
// decides.
Duration PbftCalls::deadline_for(const ByteSource& body) const {
  return deadline_ + milliseconds(1000 * body.size() / kBodyBytesPerSecondMin);
}

void PbftCalls::cancel(std::uint64_t id, TimePoint now) {
  if (std::erase_if(to_repeat_, [&](const Call& call) { return call.id == id; }) > 0) return;
  auto found = calls_.find(id);
  if (found == calls_.end() || found->second.id != id) {  // one that was submitted again, or none
    found = std::find_if(calls_.begin(), calls_.end(),
                         [&](const auto& entry) { return entry.second.id == id; });
  }
  if (found == calls_.end()) return;
  const pbft::CallId call = found->first;
  calls_.erase(found);
  client_.cancel(call, now, actions_);
}

void PbftCalls::on_tick(TimePoint now) {
  client_.on_tick(now, actions_);
  if (repeat_at_ <= now) repeat_all(now);
}

TimePoint PbftCalls::next_timer() const {
  return std::min(client_.next_timer(), repeat_at_);
}

bool PbftCalls::repeat_later(Call& call, TimePoint now) {
  if (call.repeat == nullptr || has_agreed_ || now + kRepeatPause >= call.repeat->deadline) {
    return false;
  }
  if (to_repeat_.empty()) repeat_at_ = now + kRepeatPause;
  to_repeat_.push_back(std::move(call));
  return true;
}

void PbftCalls::repeat_all(TimePoint now) {
  repeat_at_ = TimePoint::max();
  for (Call& call : std::exchange(to_repeat_, {})) {
    const pbft::CallId again =
        client_.submit(as_bytes(call.repeat->wire), call_kind(call.kind), call.repeat->deadline,
                       now, actions_, call.repeat->view);
    // The first submission has accused nobody: nothing was agreed on.
    const Note& first = notes_[call.id % kNotes];
    if (first.call == call.id) {
      Note& note = notes_[again % kNotes];
      note.request = RequestNote(first.request);
      note.call = again;
      note.id = call.id;
    }
    calls_.emplace(again, std::move(call));
  }
}

bool PbftCalls::has_reports() const {
  return !actions_.completions.empty() || !actions_.refuted.empty() || !actions_.strong.empty();
}

void PbftCalls::report(RefutationHandler& refutations, TimePoint now) {
  if (std::exchange(is_reporting_, true)) return;
  while (has_reports()) {
    pbft::ClientActions round;
    std::swap(round.refuted, actions_.refuted);
    std::swap(round.strong, actions_.strong);
    std::swap(round.completions, actions_.completions);
    for (const pbft::Refuted& refuted : round.refuted)
      report_refuted(refuted, refutations);
    for (const pbft::StrongAgreement& strong : round.strong)
      refutations.on_strong_agreement(id_of(strong.call));
    for (pbft::Completion& completion : round.completions)
      finish(completion, now);
  }
  is_reporting_ = false;
}

void PbftCalls::finish(pbft::Completion& completion, TimePoint now) {
  const auto found = calls_.find(completion.call);
  if (found == calls_.end()) return;
  Call call = std::move(found->second);
  ReplicatedHandler& handler = *call.handler;
  calls_.erase(found);
  switch (completion.outcome) {
    case pbft::CallOutcome::unavailable:
      if (repeat_later(call, now)) return;
      [[fallthrough]];
    case pbft::CallOutcome::timed_out:
      return handler.on_replicated_failure(ReplicatedFailure::too_few_replicas);
    case pbft::CallOutcome::no_agreement:
      return handler.on_replicated_failure(ReplicatedFailure::no_agreement);
    case pbft::CallOutcome::overloaded:
      return handler.on_replicated_failure(ReplicatedFailure::overloaded);
    case pbft::CallOutcome::agreed:
      has_agreed_ = true;
      break;
  }
  if (const auto refusal = pbft::decode_epoch_refusal(completion.result)) {
    return handler.on_replicated_failure(refusal->kind == pbft::EpochRefusal::Kind::too_old
                                             ? ReplicatedFailure::view_too_old
                                             : ReplicatedFailure::view_too_new);
  }
  ReplicatedAnswer answer;
  answer.storage = std::move(completion.result);
  answer.sigma = completion.sigma;
  answer.digest = completion.digest;
  const auto form = sketch::decode(answer.storage);
  // f+1 replicas agreed on what is no answer, or on no place for it: more than f are broken.
  const bool ordered = call.kind == ReplicatedKind::ordered || completion.fell_back;
  const bool placed = completion.sigma > 0 && completion.sigma <= kSigmaMax;
  if (!form || (ordered && !placed))
    return handler.on_replicated_failure(ReplicatedFailure::no_agreement);
  answer.form = *form;
  handler.on_replicated_answer(std::move(answer));
}

std::uint64_t PbftCalls::id_of(pbft::CallId call) const {
  const Note& note = notes_[call % kNotes];
  return note.call == call ? note.id : call;
}

void PbftCalls::report_refuted(const pbft::Refuted& refuted, RefutationHandler& refutations) const {
  Refutation refutation;
  refutation.replica = refuted.replica;
  refutation.call = id_of(refuted.call);
  const Note& note = notes_[refuted.call % kNotes];
  if (note.call == refuted.call) note.request.name_in(refutation);
  refutation.vote_digest = refuted.refuted_digest;
  refutation.agreed_digest = refuted.agreed_digest;
  refutations.on_refuted(refutation);
}

}  // namespace prophecy::replica_client
