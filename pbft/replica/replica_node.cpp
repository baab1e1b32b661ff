#include "pbft/replica/replica_node.hpp"

#include <nlohmann/json.hpp>

#include "pbft/replica/replica_status.hpp"
#include "pbft/services/http_service.hpp"
#include "pbft/services/null_service.hpp"
#include "pbft/services/simulated_service.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {

namespace {

constexpr Duration kReportInterval = seconds(10);

TimePoint now() {
  return std::chrono::steady_clock::now();
}

TransportSettings transport_settings() {
  TransportSettings settings;
  settings.frame_bytes_max = kFrameBytesMax;
  return settings;
}

ExecutorSettings executor_settings(const ReplicaConfig& config) {
  ExecutorSettings settings;
  settings.reads_in_flight_max = config.service.origin.connections_max;
  return settings;
}

}  // namespace

Result<std::unique_ptr<ReplicaNode>> ReplicaNode::create(boost::asio::io_context& io,
                                                         const ReplicaIdentity& identity,
                                                         Logger& log) {
  const ReplicaConfig& config = identity.config;
  const Endpoint address = config.listen.value_or(identity.group.replicas[config.id].address);
  auto acceptor = listen_on(io, address);
  if (!acceptor) return acceptor.error();
  std::unique_ptr<ReplicaNode> node(new ReplicaNode(io, identity, std::move(*acceptor), log));
  if (config.admin) {
    auto admin =
        AdminServer::listen(io, *config.admin, [node = node.get()](std::string_view request_line) {
          return node->answer_admin(request_line);
        });
    if (!admin) return admin.error();
    node->admin_ = std::move(*admin);
  }
  return node;
}

ReplicaNode::ReplicaNode(boost::asio::io_context& io, const ReplicaIdentity& identity,
                         Acceptor acceptor, Logger& log)
    : identity_(identity),
      log_(log),
      service_(make_service(io)),
      executor_(*service_, executor_settings(identity.config), [this] { settle(); }),
      core_(identity.config.core, identity.keys),
      transport_(io, transport_settings(), {identity.config.id, identity.group.addresses()},
                 std::move(acceptor), *this),
      timer_(io, [this] { on_timer(); }),
      report_timer_(io) {}

std::unique_ptr<Service> ReplicaNode::make_service(boost::asio::io_context& io) {
  const ServiceConfig& config = identity_.config.service;
  switch (config.kind) {
    case ServiceKind::null:
      return std::make_unique<NullService>();
    case ServiceKind::simulated:
      return std::make_unique<SimulatedService>(config.busy, config.answer_bytes);
    case ServiceKind::http:
      break;
  }
  const HttpServiceSettings settings{.replica = identity_.config.id,
                                     .origin = config.origin,
                                     .times = config.times,
                                     .state = config.state,
                                     .operation_bytes_max = kOperationBytesMax,
                                     .result_bytes_max = kResultBytesMax};
  auto service = std::make_unique<HttpService>(io, settings, identity_.group.profile);
  service->on_origin_state([this](bool up) {
    const std::string origin = to_string(identity_.config.service.origin.address);
    if (up) {
      log_.info("origin-up", {{"origin", origin}});
    } else {
      log_.warning("origin-down", {{"origin", origin}});
    }
  });
  return service;
}

void ReplicaNode::start() {
  log_.info("started", {{"version", PROPHECY_VERSION},
                        {"listen", to_string(transport_.local_address())},
                        {"replicas", identity_.group.replicas.size()},
                        {"faults", identity_.group.faults}});
  transport_.start();
  core_.on_tick(now(), actions_);
  settle();
  report_drops();
}

void ReplicaNode::stop() {
  if (std::exchange(stopped_, true)) return;
  log_.info("stopping");
  report_timer_.cancel();
  timer_.stop();
  if (admin_) admin_->stop();
  transport_.stop();
  service_->stop();
}

bool ReplicaNode::on_frame(ByteView frame) {
  return core_.on_frame(frame, now(), actions_);
}

void ReplicaNode::on_frames_end() {
  settle();
}

void ReplicaNode::on_timer() {
  core_.on_tick(now(), actions_);
  settle();
}

void ReplicaNode::on_peer_state(NodeId peer, bool connected) {
  if (connected) {
    log_.info("peer-connected", {{"peer", peer}});
  } else {
    log_.warning("peer-lost", {{"peer", peer}});
  }
}

// Carrying out an execution may finish others, and a finished one may ask for more: round after
// round until nothing is left. A service that answers at once comes back here from within.
void ReplicaNode::settle() {
  if (settling_ || stopped_) return;
  settling_ = true;
  for (;;) {
    for (Outgoing& outgoing : actions_.sends)
      send(outgoing);
    for (Execution& execution : actions_.executions)
      executor_.submit(std::move(execution));
    actions_.clear();
    executor_.take(finished_);
    if (finished_.empty()) break;
    for (Executor::Finished& finished : finished_) {
      core_.on_executed(finished.id, finished.status, std::move(finished.result), now(), actions_);
    }
    finished_.clear();
  }
  settling_ = false;
  timer_.arm(core_.next_timer());
  watch_state();
}

void ReplicaNode::send(Outgoing& outgoing) {
  if (is_replica(outgoing.to, static_cast<std::uint32_t>(identity_.group.replicas.size()))) {
    transport_.send_to_replica(outgoing.to, std::move(outgoing.frame));
  } else {
    transport_.send_to_client(outgoing.to, outgoing.session, std::move(outgoing.frame));
  }
}

void ReplicaNode::watch_state() {
  const ReplicaStatus status = core_.status();
  if (status.state == last_state_ && status.view == last_view_) return;
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
    case ReplicaState::needs_state_transfer:
    case ReplicaState::diverged:
      const bool diverged = status.state == ReplicaState::diverged;
      return log_.error(
          diverged ? "diverged" : "needs-state-transfer",
          {{"last_executed", status.last_executed}, {"last_stable", status.last_stable}});
  }
}

void ReplicaNode::report_drops() {
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

std::string ReplicaNode::status() const {
  return status_json({.replica = identity_.config.id,
                      .status = core_.status(),
                      .counters = core_.counters(),
                      .transport = transport_,
                      .executor = executor_,
                      .service = service_->counters()},
                     identity_.group);
}

std::string ReplicaNode::answer_admin(std::string_view request_line) const {
  const auto request = nlohmann::json::parse(request_line, nullptr, false);
  const auto refused = [](const std::string& why) { return nlohmann::json{{"error", why}}.dump(); };
  if (!request.is_object()) return refused("expected a JSON object on one line");
  const auto command = request.find("command");
  if (command == request.end() || *command != "status") {
    return refused("unknown command; expected \"status\"");
  }
  return status();
}

}  // namespace prophecy::pbft
