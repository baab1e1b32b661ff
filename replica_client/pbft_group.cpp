#include "replica_client/pbft_group.hpp"

#include <boost/asio/post.hpp>

#include "base/assert.hpp"
#include "pbft/transport/key_event_log.hpp"
#include "pbft/wire/body.hpp"
#include "pbft/wire/frame_header.hpp"
#include "pbft/wire/limits.hpp"
#include "sketch/answer_form.hpp"

namespace prophecy::replica_client {
namespace {

constexpr std::size_t kNoteBytesMax = 1024;
// What replicas and origins have to take of a large body, or its client is told that it failed.
constexpr std::uint64_t kBodyBytesPerSecondMin = 4 << 20;

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
      log_(log) {
  for (const http::OriginSettings& origin : settings.origins) {
    origins_.push_back(std::make_unique<http::OriginPool>(loop, origin, timeouts));
  }
}

PbftGroup::~PbftGroup() = default;

void PbftGroup::start() {
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

std::uint64_t PbftGroup::replicated(ReplicatedKind kind, std::string_view wire,
                                    const ByteSourcePtr& body, ReplicatedHandler& handler) {
  const pbft::CallKind call_kind =
      kind == ReplicatedKind::ordered ? pbft::CallKind::ordered : pbft::CallKind::read_only;
  const TimePoint time = now();
  const pbft::CallId call =
      body == nullptr
          ? client_.submit(as_bytes(wire), call_kind, time + deadline_, time, actions_)
          : client_.submit(tree_of(wire, body), time + deadline_for(*body), time, actions_);
  calls_.emplace(call, Call{kind, &handler});
  Note& note = notes_[call % kNotes];
  note.call = call;
  note.head.assign(wire.substr(0, kNoteBytesMax));
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
  if (calls_.erase(id) == 0) return;
  client_.cancel(id, now(), actions_);
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
  while (!actions_.sends.empty() || !actions_.completions.empty() || !actions_.refuted.empty()) {
    pbft::ClientActions round;
    send_frames();
    std::swap(round, actions_);
    for (const pbft::Refuted& refuted : round.refuted)
      report(refuted);
    for (pbft::Completion& completion : round.completions)
      finish(completion);
  }
  performing_ = false;
  timer_.arm(client_.next_timer());
}

void PbftGroup::finish(pbft::Completion& completion) {
  const auto found = calls_.find(completion.call);
  if (found == calls_.end()) return;
  const Call call = found->second;
  ReplicatedHandler& handler = *call.handler;
  calls_.erase(found);
  switch (completion.outcome) {
    case pbft::CallOutcome::timed_out:
    case pbft::CallOutcome::unavailable:
      return handler.on_replicated_failure(ReplicatedFailure::too_few_replicas);
    case pbft::CallOutcome::no_agreement:
      return handler.on_replicated_failure(ReplicatedFailure::no_agreement);
    case pbft::CallOutcome::overloaded:
      return handler.on_replicated_failure(ReplicatedFailure::overloaded);
    case pbft::CallOutcome::agreed:
      break;
  }
  ReplicatedAnswer answer;
  answer.storage = std::move(completion.result);
  answer.sigma = completion.sigma;
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
  const Note& note = notes_[refuted.call % kNotes];
  refutations_.on_refuted(
      {.replica = refuted.replica,
       .request_head = note.call == refuted.call ? note.head : std::string_view(),
       .vote_digest = refuted.refuted_digest,
       .agreed_digest = refuted.agreed_digest});
}

}  // namespace prophecy::replica_client
