#include "pbft/replica/replica_node.hpp"

#include <algorithm>
#include <system_error>

#include "base/assert.hpp"
#include "pbft/replica/adoption_commands.hpp"
#include "pbft/replica/replica_metrics.hpp"
#include "pbft/replica/replica_status.hpp"
#include "pbft/services/http_service.hpp"
#include "pbft/services/null_service.hpp"
#include "pbft/services/origin_request.hpp"
#include "pbft/services/simulated_service.hpp"
#include "pbft/transport/key_event_log.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {

namespace {

constexpr Duration kReportInterval = seconds(10);
// Of frames to be sent, before they are handed to the transport in the middle of a read.
constexpr std::size_t kUnsettledBytesMax = std::size_t{4} << 20;

// The store's files, and the folders of a state that are open while it is walked.
constexpr std::uint64_t kOwnDescriptors = 512;
// Without a state, with one client and one connection to the origin.
constexpr std::uint64_t kLeastDescriptors = 96;

TimePoint now() {
  return std::chrono::steady_clock::now();
}

// Of accepted connections that are not encrypted as ours are, one is logged in so long a time.
constexpr Duration kInsecureInterval = seconds(10);

TransportSettings transport_settings(const ReplicaIdentity& identity) {
  TransportSettings settings;
  settings.frame_bytes_max = kFrameBytesMax;
  settings.tls = identity.links;
  return settings;
}

ExecutorSettings executor_settings(const ReplicaConfig& config) {
  ExecutorSettings settings;
  settings.reads_in_flight_max = config.service.origin.connections_max;
  return settings;
}

}  // namespace

DescriptorNeed ReplicaNode::descriptors_needed(const ReplicaIdentity& identity) {
  const std::uint64_t peers = identity.group.replicas.size() - 1;
  const TransportSettings transport;
  const std::uint64_t accepted = transport.unproven_connections_max + transport.connections_max +
                                 peers * transport.connections_per_replica_max;
  return {
      .most = kOwnDescriptors + peers + accepted + identity.config.service.origin.connections_max,
      .least = kLeastDescriptors + 2 * peers};
}

Result<std::unique_ptr<ReplicaNode>> ReplicaNode::create(boost::asio::io_context& io,
                                                         const ReplicaIdentity& identity,
                                                         Logger& log, FrameGate* gate) {
  const ReplicaConfig& config = identity.config;
  const Endpoint address = config.listen.value_or(identity.group.replicas[config.id].address);
  auto acceptor = listen_on(io, address);
  if (!acceptor) return acceptor.error();
  auto storage = ReplicaStorage::open(io, identity, log);
  if (!storage) return storage.error();
  std::unique_ptr<ReplicaNode> node(
      new ReplicaNode(io, identity, std::move(*acceptor), std::move(*storage), log, gate));
  if (auto opened = node->open_service(); !opened) return opened.error();
  if (config.admin) {
    auto admin =
        AdminServer::listen(io, *config.admin, [node = node.get()](std::string_view request_line) {
          return node->answer_admin(request_line);
        });
    if (!admin) return admin.error();
    node->admin_ = std::move(*admin);
  }
  if (config.metrics) {
    auto metrics = http::MetricsServer::listen(io, *config.metrics,
                                               [node = node.get()] { return node->metrics(); });
    if (!metrics) return metrics.error();
    node->metrics_ = std::move(*metrics);
  }
  return node;
}

ReplicaNode::ReplicaNode(boost::asio::io_context& io, const ReplicaIdentity& identity,
                         Acceptor acceptor, std::unique_ptr<ReplicaStorage> storage, Logger& log,
                         FrameGate* gate)
    : identity_(identity),
      log_(log),
      gate_(gate),
      storage_(std::move(storage)),
      service_(make_service(io)),
      executor_(*service_, executor_settings(identity.config), [this] { settle(); }),
      key_exchange_(identity.keys,
                    {.refresh_interval = identity.config.key_refresh_interval, .sessions = {}},
                    entropy_),
      core_(identity.config.core, identity.keys, storage_->parts(), inputs_),
      transport_(io, transport_settings(identity), {identity.config.id, identity.group.addresses()},
                 std::move(acceptor), *this),
      timer_(io, [this] { on_timer(); }),
      key_timer_(io, [this] { on_key_timer(); }),
      outbox_(
          [this](std::vector<DurableWrite> writes, Outbox::Committed done) {
            storage_->commit(std::move(writes), std::move(done));
          },
          [this](const Result<>& outcome) { on_released(outcome); }),
      report_timer_(io) {}

std::unique_ptr<Service> ReplicaNode::make_service(boost::asio::io_context& io) {
  const ServiceConfig& config = identity_.config.service;
  switch (config.kind) {
    case ServiceKind::null:
      return std::make_unique<NullService>(config.answer_bytes);
    case ServiceKind::simulated:
      return std::make_unique<SimulatedService>(config.busy, config.answer_bytes);
    case ServiceKind::http:
      break;
  }
  const HttpServiceSettings settings{
      .replica = identity_.config.id,
      .origin = config.origin,
      .times = config.times,
      .state = config.state,
      .in_flight = identity_.config.storage ? identity_.config.storage->folder / "write-in-flight"
                                            : std::filesystem::path(),
      .operation_bytes_max = kOperationBytesMax,
      .result_bytes_max = kResultBytesMax};
  auto service = std::make_unique<HttpService>(io, settings, identity_.group.profile);
  service->on_origin_state(
      [this, &pool = service->origin()](bool up) { on_origin_state(up, pool.down_by()); });
  service->on_uncertain_write([this](const HttpService::UncertainWrite& write) {
    log_.warning("write-uncertain", {{"method", write.method},
                                     {"target", write.target},
                                     {"sequence", write.sigma},
                                     {"reason", http::to_string(write.reason)}});
  });
  service->on_unrecorded_write([this](int error) {
    log_.error("write-not-recorded", {{"reason", std::generic_category().message(error)}});
  });
  service->on_fill([this](std::uint64_t percent) { on_fill(percent); });
  if (config.state.kind != StateKind::stateless) {
    service->on_return([this] { on_origin_returned(); });
  }
  return service;
}

Result<> ReplicaNode::open_service() {
  if (auto opened = service_->open(); !opened) return opened;
  const Duration left = service_->left_behind();
  if (left > Duration::zero()) {
    log_.warning("write-left-behind",
                 {{"settles_in_ms", static_cast<std::uint64_t>(
                                        std::chrono::duration_cast<milliseconds>(left).count())}});
  }
  return {};
}

void ReplicaNode::start() {
  started_at_ = now();
  log_.info("started", {{"version", PROPHECY_VERSION},
                        {"listen", to_string(transport_.local_address())},
                        {"replicas", identity_.group.replicas.size()},
                        {"faults", identity_.group.faults},
                        {"encrypted_links", identity_.group.encrypted_links}});
  key_exchange_.start(now());
  follow_keys();
  transport_.start();
  if (!core_.start(storage_->take_start(), now(), actions_)) log_.warning("journal-unreadable");
  storage_->sweep();
  settle();
  report_drops();
}

void ReplicaNode::stop() {
  if (std::exchange(stopped_, true)) return;
  log_.info("stopping");
  report_timer_.cancel();
  timer_.stop();
  key_timer_.stop();
  if (admin_) admin_->stop();
  if (metrics_) metrics_->stop();
  transport_.stop();
  service_->stop();
}

bool ReplicaNode::on_frame(ByteView frame) {
  if (gate_ != nullptr && !gate_->receive(frame)) return false;
  const std::size_t before = actions_.sends.size();
  const bool authentic = core_.take_frame(frame, now(), actions_);
  unsettled_bytes_ += actions_.sent_bytes(before);
  // One read may hold hundreds of frames that each cause a large answer. Only what is in a queue of
  // the transport is bounded there.
  if (unsettled_bytes_ >= kUnsettledBytesMax) settle();
  return authentic;
}

void ReplicaNode::on_frames_end() {
  core_.propose_waiting(now(), actions_);
  settle();
}

void ReplicaNode::on_timer() {
  core_.on_tick(now(), actions_);
  settle();
}

void ReplicaNode::on_peer_state(NodeId peer, bool connected) {
  if (connected) {
    transport_.send_to_replica(peer, key_exchange_.on_connected(peer, now()));
  } else {
    if (!refused_links_.contains(peer)) log_.warning("peer-lost", {{"peer", peer}});
    key_exchange_.on_disconnected(peer);
  }
  follow_keys();
}

void ReplicaNode::on_peer_open(NodeId peer) {
  refused_links_.erase(peer);
  log_.info("peer-connected", {{"peer", peer}});
}

// It is tried again and again.
void ReplicaNode::on_peer_insecure(NodeId peer, const std::string& reason) {
  if (std::exchange(refused_links_[peer], reason) == reason) return;
  log_.error("link-refused", {{"peer", peer}, {"problem", reason}});
}

// Strangers may come as often as they like.
void ReplicaNode::on_accepted_insecure(const std::string& reason) {
  if (insecure_logged_ && now() - *insecure_logged_ < kInsecureInterval) return;
  insecure_logged_ = now();
  log_.warning("link-refused", {{"problem", reason}});
}

void ReplicaNode::on_peer_gone(NodeId peer) {
  log_.warning("peer-gone", {{"peer", peer}});
  core_.on_peer_gone(peer, now(), actions_);
  settle();
}

Frame ReplicaNode::on_link_key_frame(NodeId peer, ByteView frame) {
  KeyExchange::Step step = key_exchange_.on_link_frame(peer, frame, now());
  follow_keys();
  return std::move(step.answer);
}

KeyAnswer ReplicaNode::on_accepted_key_frame(ConnectionTag connection, ByteView frame) {
  KeyExchange::Step step = key_exchange_.on_accepted_frame(connection, frame, now());
  follow_keys();
  return {std::move(step.answer), step.authentic};
}

void ReplicaNode::on_accepted_closed(ConnectionTag connection) {
  key_exchange_.on_accepted_closed(connection);
}

void ReplicaNode::on_key_timer() {
  std::vector<Outgoing> asks;
  key_exchange_.on_tick(now(), asks);
  for (Outgoing& ask : asks)
    transport_.send_to_replica(ask.to, std::move(ask.frame));
  follow_keys();
}

void ReplicaNode::follow_keys() {
  for (const KeyEvent& event : key_exchange_.take_events())
    log_key_event(log_, event);
  key_timer_.arm(key_exchange_.next_timer());
}

// Carrying out an execution may finish others, and a finished one may ask for more: round after
// round until nothing is left. A service that answers at once comes back here from within.
void ReplicaNode::settle() {
  if (settling_ || stopped_) return;
  settling_ = true;
  unsettled_bytes_ = 0;
  do {
    carry_out();
  } while (take_finished() || !actions_.empty());
  settling_ = false;
  timer_.arm(core_.next_timer());
  watch_state();
  watch_recovery();
  watch_adoption();
}

// Snapshots and restores are asked for when nothing is executed, nor waits to be, so they have
// nothing to wait for.
void ReplicaNode::carry_out() {
  if (actions_.resume) executor_.resume(*actions_.resume);
  if (actions_.adopt) executor_.adopt();
  if (actions_.look) executor_.submit_look(++state_changes_, storage_->parts());
  if (actions_.snapshot) executor_.submit_snapshot(++state_changes_, storage_->parts());
  if (actions_.restore) {
    log_.info("restoring-state", {{"sequence", actions_.restore->sequence}});
    executor_.submit_restore(++state_changes_, storage_->parts(), actions_.restore->service);
  }
  for (const DurableParts& parts : actions_.durable_parts) {
    storage_->make_durable(parts.root,
                           [this, id = parts.id](bool done) { on_parts_durable(id, done); });
  }
  outbox_.put(actions_);
  storage_->end_event();
  actions_.clear();
  Outbox::Released released;
  if (!outbox_.take(released)) return;
  for (Outgoing& outgoing : released.sends)
    send(outgoing);
  for (Execution& execution : released.executions)
    executor_.submit(std::move(execution));
  if (released.flush_parts) {
    storage_->flush_parts([this](bool done) { on_parts_flushed(done); });
  }
}

// True when there was something.
bool ReplicaNode::take_finished() {
  executor_.take_states(finished_states_);
  executor_.take(finished_);
  if (finished_.empty() && finished_states_.empty()) return false;
  for (const Executor::FinishedState& finished : std::exchange(finished_states_, {}))
    on_finished_state(finished);
  for (Executor::Finished& finished : finished_) {
    core_.on_executed(finished.id, finished.status, std::move(finished.result), now(), actions_);
  }
  finished_.clear();
  return true;
}

void ReplicaNode::on_released(const Result<>& outcome) {
  if (outcome) return settle();
  if (std::exchange(failed_, true)) return;
  log_.error("store-failed", {{"reason", outcome.error().message}});
  stop();
}

void ReplicaNode::on_parts_flushed(bool done) {
  if (stopped_) return;
  if (!done) log_.warning("parts-not-flushed");
  core_.on_parts_flushed(done, now(), actions_);
  settle();
}

void ReplicaNode::on_parts_durable(std::uint64_t id, bool done) {
  if (stopped_) return;
  core_.on_parts_durable(id, done, now(), actions_);
  settle();
}

// An origin that is away may come back without what it was told to keep, or with less of it.
void ReplicaNode::on_origin_state(bool up, http::ExchangeEnd down_by) {
  const ServiceConfig& service = identity_.config.service;
  const std::string origin = to_string(service.origin.address);
  if (up) return log_.info("origin-up", {{"origin", origin}});
  log_.warning("origin-down", {{"origin", origin}, {"reason", http::to_string(down_by)}});
  if (service.state.kind == StateKind::stateless) return;
  core_.on_service_state(true, now(), actions_);
  settle();
}

void ReplicaNode::reload_certificates() {
  if (!identity_.origin_tls) return;
  if (auto loaded = identity_.origin_tls->reload(); !loaded) {
    return log_.error("certificates-not-reloaded", {{"problem", loaded.error().message}});
  }
  log_.info("certificates-reloaded");
}

// Once for each change, and not for each checkpoint.
void ReplicaNode::on_fill(std::uint64_t percent) {
  constexpr std::uint64_t kNearlyFull = 80;
  constexpr std::uint64_t kFull = 100;
  const auto level = [](std::uint64_t fill) {
    return fill >= kFull ? 2 : fill >= kNearlyFull ? 1 : 0;
  };
  const int before = level(std::exchange(fill_percent_, percent));
  if (level(percent) == before) return;
  if (level(percent) == 2) return log_.error("state-full", {{"percent", percent}});
  if (level(percent) == 1) return log_.warning("state-nearly-full", {{"percent", percent}});
  log_.info("state-has-room", {{"percent", percent}});
}

void ReplicaNode::on_origin_returned() {
  log_.info("origin-returned", {{"origin", to_string(identity_.config.service.origin.address)}});
  core_.on_service_state(false, now(), actions_);
  settle();
}

void ReplicaNode::on_finished_state(const Executor::FinishedState& finished) {
  if (const auto* snapshot = std::get_if<Executor::FinishedSnapshot>(&finished)) {
    if (!snapshot->root) {
      log_.warning("snapshot-failed", {{"reason", snapshot->root.error().message}});
    }
    return core_.on_snapshot(snapshot->root ? *snapshot->root : Digest{}, now(), actions_);
  }
  const auto& restore = std::get<Executor::FinishedRestore>(finished);
  if (!restore.restored) {
    log_.warning("restore-failed", {{"reason", restore.restored.error().message}});
  } else {
    log_.info("state-restored");
  }
  core_.on_restored(restore.restored.has_value(), now(), actions_);
}

// What only a MAC could prove, and has none because there was no key yet, would look like a
// forgery.
bool ReplicaNode::is_worth_sending(const Outgoing& outgoing) const {
  const auto header = peek_header(*outgoing.frame);
  if (!header || is_signed(header->type)) return true;
  const auto replicas = static_cast<std::uint32_t>(identity_.group.replicas.size());
  if (!is_replica(outgoing.to, replicas)) {
    return identity_.keys.has_key(outgoing.to, outgoing.session);
  }
  // The authenticator is the end of all other messages between replicas.
  const std::size_t behind = (replicas - outgoing.to) * kTagSize;
  ASSERT(outgoing.frame->size() > behind);
  const ByteView tag = ByteView(*outgoing.frame).last(behind).first(kTagSize);
  return std::any_of(tag.begin(), tag.end(), [](std::uint8_t byte) { return byte != 0; });
}

void ReplicaNode::send(Outgoing& outgoing) {
  if (!is_worth_sending(outgoing)) return;
  if (gate_ == nullptr) return pass(std::move(outgoing));
  gate_->send(std::move(outgoing), [this](Outgoing changed) {
    if (!stopped_) pass(std::move(changed));
  });
}

void ReplicaNode::pass(Outgoing outgoing) {
  if (is_replica(outgoing.to, static_cast<std::uint32_t>(identity_.group.replicas.size()))) {
    transport_.send_to_replica(outgoing.to, std::move(outgoing.frame));
  } else {
    transport_.send_to_client(outgoing.to, outgoing.session, std::move(outgoing.frame));
  }
}

void ReplicaNode::watch_state() {
  if (core_.state() == last_state_ && core_.view() == last_view_) return;
  const ReplicaStatus status = core_.status();
  last_state_ = status.state;
  last_view_ = status.view;
  switch (status.state) {
    case ReplicaState::normal:
      return log_.info("view-entered", {{"view", status.view},
                                        {"primary", status.primary},
                                        {"last_executed", status.last_executed}});
    case ReplicaState::changing_view:
      return log_.warning("view-change", {{"view", status.view},
                                          {"cause", to_string(status.view_change_cause)},
                                          {"primary", status.primary},
                                          {"last_executed", status.last_executed},
                                          {"last_stable", status.last_stable}});
    case ReplicaState::diverged:
      return log_.error("diverged", {{"last_executed", status.last_executed},
                                     {"last_stable", status.last_stable}});
  }
}

// At most once a second: a service that is lost again and again changes its state much more often.
void ReplicaNode::watch_recovery() {
  const RecoveryState state = core_.recovery();
  if (state == last_recovery_) return;
  const TimePoint now = std::chrono::steady_clock::now();
  if (now < recovery_told_ + seconds(1)) return;
  recovery_told_ = now;
  last_recovery_ = state;
  const ReplicaStatus status = core_.status();
  const std::initializer_list<LogField> fields = {{"state", to_string(state)},
                                                  {"last_executed", status.last_executed},
                                                  {"last_stable", status.last_stable},
                                                  {"base", status.base},
                                                  {"parts_missing", status.parts_missing}};
  if (state == RecoveryState::service_lost) return log_.warning("recovery", fields);
  log_.info("recovery", fields);
}

// Whose clock is wrong nobody can tell from two of them: both are named.
void ReplicaNode::report_clock() {
  const ReplicaCounters& counters = core_.counters();
  const std::uint64_t refused =
      counters.dropped[static_cast<std::size_t>(DropReason::time_refused)];
  if (std::exchange(reported_times_refused_, refused) == refused) return;
  const TimeRefusal& last = counters.last_time_refused;
  log_.warning("clocks-differ", {{"primary", last.primary},
                                 {"proposed", format_agreed_time(last.proposed)},
                                 {"own", format_agreed_time(last.own)}});
}

void ReplicaNode::report_writes() {
  const ReplicaCounters& counters = core_.counters();
  if (std::exchange(reported_writes_repeated_, counters.writes_repeated) <
      counters.writes_repeated) {
    log_.warning("write-repeated", {{"times", counters.writes_repeated}});
  }
  if (std::exchange(reported_writes_doubted_, counters.writes_doubted) < counters.writes_doubted) {
    log_.warning("state-in-doubt", {{"last_executed", core_.status().last_executed}});
  }
}

// Such a group is one loss of a state away from having none that f+1 vouch for.
void ReplicaNode::report_states() {
  const std::uint64_t uncertified = core_.counters().states_uncertified;
  const std::uint64_t before = std::exchange(reported_states_uncertified_, uncertified);
  if (before == uncertified) return;
  log_.warning("states-differ", {{"checkpoints", uncertified - before}});
}

void ReplicaNode::report_drops() {
  report_clock();
  report_states();
  report_writes();
  const DropCounters& dropped = core_.counters().dropped;
  for (std::size_t reason = 0; reason < dropped.size(); ++reason) {
    const std::uint64_t fresh = dropped[reason] - reported_drops_[reason];
    if (fresh == 0) continue;
    log_.warning("frames-dropped", {{"reason", to_string(static_cast<DropReason>(reason))},
                                    {"count", fresh},
                                    {"total", dropped[reason]}});
  }
  reported_drops_ = dropped;
  report_timer_.expires_after(kReportInterval);
  report_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error && !stopped_) report_drops();
  });
}

ReplicaParts ReplicaNode::parts() const {
  return {.replica = identity_.config.id,
          .group = identity_.group,
          .settings = identity_.config.core,
          .started_at = started_at_,
          .now = now(),
          .status = core_.status(),
          .counters = core_.counters(),
          .keys = key_exchange_.counters(),
          .transport = transport_,
          .executor = executor_,
          .service = service_->counters(),
          .storage = identity_.config.storage,
          .stored = storage_->counters(),
          .metrics = metrics_ ? std::optional(metrics_->local_address()) : std::nullopt};
}

std::string ReplicaNode::status() const {
  return status_json(parts());
}

std::string ReplicaNode::metrics() const {
  return prometheus_text(parts());
}

Result<> ReplicaNode::look_at_state() {
  if (identity_.config.service.state.kind == StateKind::stateless) {
    return Error{ErrorKind::invalid, "the service has no state (`state` is \"stateless\")"};
  }
  if (service_->is_away()) {
    return Error{ErrorKind::unavailable, "the origin does not answer; start it first"};
  }
  auto looked = core_.look_at_state(now(), actions_);
  settle();
  return looked;
}

Result<> ReplicaNode::adopt_state(const AdoptionOrder& order) {
  if (service_->is_away()) {
    return Error{ErrorKind::unavailable, "the origin does not answer; start it first"};
  }
  auto adopted = core_.adopt_state(order, now(), actions_);
  settle();
  if (!adopted) log_.warning("adoption-refused", {{"reason", adopted.error().message}});
  return adopted;
}

// The root and the number are what operators have decided: they are to be found again.
void ReplicaNode::watch_adoption() {
  const AdoptionState state = core_.adoption_state();
  if (std::exchange(last_adoption_, state) == state) return;
  const AdoptionStatus status = core_.adoption();
  const auto& own = status.members.at(identity_.config.id);
  log_.warning("adoption", {{"state", to_string(state)},
                            {"root", to_hex(own.state)},
                            {"at", own.at},
                            {"problem", status.problem}});
}

std::string ReplicaNode::answer_admin(std::string_view request_line) {
  return answer_replica_command(
      request_line, {.status = [this] { return status(); },
                     .adoption = [this] { return core_.adoption(); },
                     .look = [this] { return look_at_state(); },
                     .adopt = [this](const AdoptionOrder& order) { return adopt_state(order); }});
}

}  // namespace prophecy::pbft
