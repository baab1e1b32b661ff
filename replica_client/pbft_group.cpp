#include "replica_client/pbft_group.hpp"

#include <utility>

#include <boost/asio/post.hpp>

#include "pbft/transport/key_event_log.hpp"
#include "pbft/wire/frame_header.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::replica_client {
namespace {

TimePoint now() {
  return std::chrono::steady_clock::now();
}

pbft::TransportSettings transport_settings(const PbftGroupSettings& group) {
  pbft::TransportSettings settings;
  settings.frame_bytes_max = pbft::kFrameBytesMax;
  settings.tls = group.links;
  return settings;
}

}  // namespace

PbftGroup::PbftGroup(boost::asio::io_context& loop, const PbftGroupSettings& settings,
                     const pbft::KeyRing& keys, http::OriginTimeouts& timeouts,
                     RefutationHandler& refutations, Logger& log)
    : loop_(loop),
      faults_(settings.client.faults),
      key_exchange_(keys,
                    {.refresh_interval = settings.key_refresh_interval,
                     .sessions = {settings.client.first_session, settings.client.session_count}},
                    entropy_),
      calls_(settings.client, settings.replicated_deadline, keys),
      transport_(
          loop, transport_settings(settings), settings.agents,
          {.on_frame = [this](NodeId replica, ByteView frame) { on_frame(replica, frame); },
           .on_state = [this](NodeId replica, bool connected) { on_state(replica, connected); },
           .on_insecure = [this](NodeId replica,
                                 const std::string& reason) { on_insecure(replica, reason); },
           .on_open = [this](NodeId replica) { on_open(replica); }}),
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
  calls_.start(now());
  key_exchange_.start(now());
  follow_keys();
  transport_.start();
}

void PbftGroup::on_state(NodeId replica, bool connected) {
  if (connected) {
    transport_.send(replica, key_exchange_.on_connected(replica, now()));
  } else {
    if (!refused_.contains(replica)) log_.info("agent-lost", {{"replica", replica}});
    key_exchange_.on_disconnected(replica);
  }
  follow_keys();
}

void PbftGroup::on_open(NodeId replica) {
  refused_.erase(replica);
  log_.info("agent-connected", {{"replica", replica}});
}

// It is tried again and again.
void PbftGroup::on_insecure(NodeId replica, const std::string& reason) {
  if (std::exchange(refused_[replica], reason) == reason) return;
  log_.error("agent-link-refused", {{"replica", replica}, {"problem", reason}});
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
  const std::uint64_t call = calls_.submit(request, handler, now());
  send_frames();
  // An overloaded call has ended already; its handler hears of it once the caller knows the id.
  if (calls_.has_reports()) boost::asio::post(loop_, [this] { perform(); });
  timer_.arm(calls_.next_timer());
  return call;
}

void PbftGroup::cancel_replicated(std::uint64_t id) {
  calls_.cancel(id, now());
  perform();
}

void PbftGroup::on_frame(NodeId replica, ByteView frame) {
  const auto header = pbft::peek_header(frame);
  if (header && pbft::is_key_message(header->type)) {
    pbft::KeyExchange::Step step = key_exchange_.on_link_frame(replica, frame, now());
    if (step.answer) transport_.send(replica, std::move(step.answer));
    // Behind our own key, so that the replica can tell that it is authentic.
    if (step.authentic) calls_.on_connected(replica);
    follow_keys();
  } else {
    calls_.on_frame(frame, now());
  }
  perform();
}

void PbftGroup::on_timer() {
  calls_.on_tick(now());
  perform();
}

void PbftGroup::send_frames() {
  for (pbft::Outgoing& outgoing : calls_.sends()) {
    transport_.send(outgoing.to, std::move(outgoing.frame));
  }
  calls_.sends().clear();
}

// Handlers may start or cancel calls, which comes back here: the outermost report takes care of
// what is to be reported of that.
void PbftGroup::perform() {
  send_frames();
  calls_.report(refutations_, now());
  send_frames();
  timer_.arm(calls_.next_timer());
}

}  // namespace prophecy::replica_client
