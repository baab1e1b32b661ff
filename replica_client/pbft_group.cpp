#include "replica_client/pbft_group.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/assert.hpp"
#include "canonical/answer_form.hpp"
#include "pbft/transport/key_event_log.hpp"
#include "pbft/wire/body.hpp"
#include "pbft/wire/frame_header.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::replica_client {
namespace {

// What replicas and origins have to take of a large body, or its client is told that it failed.
constexpr std::uint64_t kBodyBytesPerSecondMin = 4 << 20;

// A call of the first moments is submitted again after so long.
constexpr Duration kRepeatPause = milliseconds(200);

TimePoint now() {
  return std::chrono::steady_clock::now();
}

// The sketcher's limits see to it that the operation is none too large.
std::shared_ptr<const pbft::BodyTree> tree_of(std::string_view wire, const ByteSourcePtr& body) {
  const ByteView front = as_bytes(wire);
  return std::make_shared<const pbft::BodyTree>(
      std::make_shared<const Bytes>(front.begin(), front.end()), body);
}

pbft::TransportSettings transport_settings() {
  pbft::TransportSettings settings;
  settings.frame_bytes_max = pbft::kFrameBytesMax;
  return settings;
}

}  // namespace

PbftGroup::PbftGroup(boost::asio::io_context& loop, const PbftGroupSettings& settings,
                     const pbft::KeyRing& keys, http::OriginTimeouts& timeouts,
                     RefutationHandler& refutations, Logger& log)
    : loop_(loop),
      deadline_(settings.replicated_deadline),
      faults_(settings.client.faults),
      key_exchange_(keys,
                    {.refresh_interval = settings.key_refresh_interval,
                     .sessions = {settings.client.first_session, settings.client.session_count}},
                    entropy_),
      client_(settings.client, keys),
      transport_(
          loop, transport_settings(), settings.agents,
          {.on_frame = [this](NodeId replica, ByteView frame) { on_frame(replica, frame); },
           .on_state = [this](NodeId replica, bool connected) { on_state(replica, connected); }}),
      timer_(loop, [this] { on_timer(); }),
      key_timer_(loop, [this] { on_key_timer(); }),
      refutations_(refutations),
      log_(log),
      repeat_timer_(loop) {
  for (const http::OriginSettings& origin : settings.origins) {
    origins_.push_back(std::make_unique<http::OriginPool>(loop, origin, timeouts));
  }
}

PbftGroup::~PbftGroup() = default;

void PbftGroup::start() {
  started_ = now();
  key_exchange_.start(now());
  follow_keys();
  transport_.start();
}

void PbftGroup::on_state(NodeId replica, bool connected) {
  log_.info(connected ? "agent-connected" : "agent-lost", {{"replica", replica}});
  if (connected) {
    transport_.send(replica, key_exchange_.on_connected(replica, now()));
  } else {
    key_exchange_.on_disconnected(replica);
  }
  follow_keys();
}

void PbftGroup::on_key_timer() {
  std::vector<pbft::Outgoing> asks;
  key_exchange_.on_tick(now(), asks);
  for (pbft::Outgoing& ask : asks)
    transport_.send(ask.to, std::move(ask.frame));
  follow_keys();
}

void PbftGroup::follow_keys() {
  for (const pbft::KeyEvent& event : key_exchange_.take_events())
    pbft::log_key_event(log_, event);
  key_timer_.arm(key_exchange_.next_timer());
}

std::uint32_t PbftGroup::size() const {
  return static_cast<std::uint32_t>(origins_.size());
}
std::uint32_t PbftGroup::faults() const {
  return faults_;
}

void PbftGroup::fast(http::OriginExchange& exchange, NodeId replica, std::string_view wire,
                     const FastForm& form) {
  start_fast_read(*origins_[replica], exchange, wire, form);
}

std::uint64_t PbftGroup::replicated(const ReplicatedRequest& request, ReplicatedHandler& handler) {
  const pbft::CallKind call_kind =
      request.kind == ReplicatedKind::ordered ? pbft::CallKind::ordered : pbft::CallKind::read_only;
  const TimePoint time = now();
  const pbft::CallId call =
      request.body == nullptr
          ? client_.submit(as_bytes(request.wire), call_kind, time + deadline_, time, actions_)
          : client_.submit(tree_of(request.wire, request.body), time + deadline_for(*request.body),
                           time, actions_);
  Call& entry = calls_.emplace(call, Call{call, request.kind, &handler, nullptr}).first->second;
  if (request.is_safe() && request.body == nullptr && is_starting()) {
    entry.repeat = std::make_unique<Repeat>(Repeat{std::string(request.wire), time + deadline_});
  }
  Note& note = notes_[call % kNotes];
  note.call = note.id = call;
  note.request.assign(request);
  send_frames();
  // An overloaded call has ended already; its handler hears of it once the caller knows the id.
  if (!actions_.completions.empty() && !performing_) {
    boost::asio::post(loop_, [this] { perform(); });
  }
  timer_.arm(client_.next_timer());
  return call;
}

// Each replica fetches it, keeps it, and tells it to its origin; the slowest of those that it takes
// decides.
Duration PbftGroup::deadline_for(const ByteSource& body) const {
  return deadline_ + milliseconds(1000 * body.size() / kBodyBytesPerSecondMin);
}

void PbftGroup::cancel_replicated(std::uint64_t id) {
  if (std::erase_if(to_repeat_, [&](const Call& call) { return call.id == id; }) > 0) return;
  auto found = calls_.find(id);
  if (found == calls_.end() || found->second.id != id) {  // one that was submitted again, or none
    found = std::find_if(calls_.begin(), calls_.end(),
                         [&](const auto& entry) { return entry.second.id == id; });
  }
  if (found == calls_.end()) return;
  const pbft::CallId call = found->first;
  calls_.erase(found);
  client_.cancel(call, now(), actions_);
  perform();
}

bool PbftGroup::is_starting() const {
  return !has_agreed_ && now() - started_ < deadline_;
}

bool PbftGroup::repeat_later(Call& call) {
  if (call.repeat == nullptr || has_agreed_ || now() + kRepeatPause >= call.repeat->deadline) {
    return false;
  }
  to_repeat_.push_back(std::move(call));
  if (to_repeat_.size() > 1) return true;
  repeat_timer_.expires_after(kRepeatPause);
  repeat_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) repeat_all();
  });
  return true;
}

void PbftGroup::repeat_all() {
  const TimePoint time = now();
  for (Call& call : std::exchange(to_repeat_, {})) {
    const pbft::CallKind kind =
        call.kind == ReplicatedKind::ordered ? pbft::CallKind::ordered : pbft::CallKind::read_only;
    const pbft::CallId again =
        client_.submit(as_bytes(call.repeat->wire), kind, call.repeat->deadline, time, actions_);
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
  perform();
}

void PbftGroup::on_frame(NodeId replica, ByteView frame) {
  const auto header = pbft::peek_header(frame);
  if (header && pbft::is_key_message(header->type)) {
    pbft::KeyExchange::Step step = key_exchange_.on_link_frame(replica, frame, now());
    if (step.answer) transport_.send(replica, std::move(step.answer));
    // Behind our own key, so that the replica can tell that it is authentic.
    if (step.authentic) client_.on_connected(replica, actions_);
    follow_keys();
  } else {
    client_.on_frame(frame, now(), actions_);
  }
  perform();
}

void PbftGroup::on_timer() {
  client_.on_tick(now(), actions_);
  perform();
}

void PbftGroup::send_frames() {
  for (pbft::Outgoing& outgoing : actions_.sends) {
    transport_.send(outgoing.to, std::move(outgoing.frame));
  }
  actions_.sends.clear();
}

// Handlers may start or cancel calls, which adds to actions_ and comes back here: the outermost
// round takes care of that as well.
void PbftGroup::perform() {
  if (performing_) return;
  performing_ = true;
  while (!actions_.sends.empty() || !actions_.completions.empty() || !actions_.refuted.empty() ||
         !actions_.strong.empty()) {
    pbft::ClientActions round;
    send_frames();
    std::swap(round, actions_);
    for (const pbft::Refuted& refuted : round.refuted)
      report(refuted);
    for (const pbft::StrongAgreement& strong : round.strong) {
      // A call that was submitted again has the id of its first submission.
      const Note& note = notes_[strong.call % kNotes];
      refutations_.on_strong_agreement(note.call == strong.call ? note.id : strong.call);
    }
    for (pbft::Completion& completion : round.completions)
      finish(completion);
  }
  performing_ = false;
  timer_.arm(client_.next_timer());
}

void PbftGroup::finish(pbft::Completion& completion) {
  const auto found = calls_.find(completion.call);
  if (found == calls_.end()) return;
  Call call = std::move(found->second);
  ReplicatedHandler& handler = *call.handler;
  calls_.erase(found);
  switch (completion.outcome) {
    case pbft::CallOutcome::unavailable:
      if (repeat_later(call)) return;
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

void PbftGroup::report(const pbft::Refuted& refuted) {
  Refutation refutation;
  refutation.replica = refuted.replica;
  refutation.call = refuted.call;
  const Note& note = notes_[refuted.call % kNotes];
  if (note.call == refuted.call) {
    refutation.call = note.id;
    note.request.name_in(refutation);
  }
  refutation.vote_digest = refuted.refuted_digest;
  refutation.agreed_digest = refuted.agreed_digest;
  refutations_.on_refuted(refutation);
}

}  // namespace prophecy::replica_client
