#include "sketcher/worker.hpp"

#include <csignal>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/signal_source.hpp"
#include "base/timeout_ticker.hpp"
#include "replica_client/pbft_group.hpp"
#include "replica_client/vote_group.hpp"
#include "sketcher/acceptor.hpp"
#include "sketcher/address_limit.hpp"
#include "sketcher/client_connection.hpp"
#include "sketcher/connection_set.hpp"
#include "sketcher/date.hpp"
#include "sketcher/request_line.hpp"
#include "sketcher/worker_context.hpp"

namespace prophecy::sketcher {
namespace {

namespace asio = boost::asio;

// How often deadlines are looked at: the coarseness of every time-out here.
constexpr Duration kTick = milliseconds(100);
constexpr Duration kLinger = seconds(1);
// The group answers sooner, as a rule.
constexpr Duration kPresence = milliseconds(200);

std::vector<http::OriginSettings> origin_settings(const Settings& settings) {
  std::vector<http::OriginSettings> origins;
  for (const OriginAddress& origin : settings.origins) {
    http::OriginSettings pool;
    pool.address = origin.address;
    pool.connections_max = settings.origin_connections_max;
    pool.pipeline_max = settings.origin_pipeline_max;
    pool.answer_limits = settings.limits.answer;
    origins.push_back(pool);
  }
  return origins;
}

replica_client::PbftGroupSettings pbft_settings(const Settings& settings,
                                                const pbft::GroupFile& file,
                                                const WorkerSetup& setup) {
  replica_client::PbftGroupSettings group;
  group.client.faults = file.faults;
  group.client.session_count = settings.group.sessions;
  group.client.first_session = setup.index * settings.group.sessions;
  group.client.queue_max = settings.group.queue_max;
  group.client.linearizable_reads = settings.mode == Mode::pbft_ro;
  group.client.tentative_execution = settings.group.tentative_execution;
  group.client.first_timestamp = setup.first_timestamp;
  group.replicated_deadline = settings.group.deadline;
  group.key_refresh_interval = settings.group.key_refresh_interval;
  for (const auto& replica : file.replicas)
    group.agents.push_back(replica.address);
  group.origins = origin_settings(settings);
  return group;
}

replica_client::VoteGroupSettings vote_settings(const Settings& settings) {
  replica_client::VoteGroupSettings group;
  group.faults = settings.group.faults;
  group.takes_writes = settings.group.takes_writes;
  group.ballots_max = settings.group.queue_max;
  group.origins = origin_settings(settings);
  return group;
}

class Worker final : private ConnectionOwner, private replica_client::RefutationHandler {
 public:
  Worker(const Installation& installation, WorkerSetup setup, HistoryTable& table,
         SharedSigmas& sigmas, WorkerCounters& counters, Logger& log);
  int run();

 private:
  [[nodiscard]] std::unique_ptr<replica_client::ReplicaGroup> make_group(
      const Installation& installation, const WorkerSetup& setup,
      replica_client::SigmaCounter& sigmas);
  void on_connection_closed(ClientConnection& connection) override;
  void on_refuted(const replica_client::Refutation& refutation) override;
  void on_vote(NodeId replica, http::ExchangeEnd end) override;
  void on_accepted(asio::ip::tcp::socket socket, std::string address);
  void on_stop_signal();
  void drain();
  void finish_drain();

  const Settings& settings_;
  Logger& log_;
  asio::io_context loop_{1};
  SignalSource stop_signals_;
  asio::steady_timer drain_timer_;
  bool draining_ = false;
  http::OriginTimeouts origin_timeouts_;
  ConnectionTimeouts connection_timeouts_;
  TimeoutTicker ticker_;
  DateCache date_;
  DivergenceReporter divergences_;
  std::unique_ptr<replica_client::ReplicaGroup> group_;
  WorkerContext context_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  ConnectionSet connections_;
  AddressLimit addresses_;
};

Worker::Worker(const Installation& installation, WorkerSetup setup, HistoryTable& table,
               SharedSigmas& sigmas, WorkerCounters& counters, Logger& log)
    : settings_(installation.settings),
      log_(log),
      stop_signals_(loop_, {SIGTERM, SIGINT}, [this](int) { on_stop_signal(); }),
      drain_timer_(loop_),
      origin_timeouts_{.connect = TimeoutQueue(settings_.timeouts.connect),
                       .answer = TimeoutQueue(settings_.timeouts.answer),
                       .idle = TimeoutQueue(settings_.timeouts.origin_idle)},
      connection_timeouts_{.header = TimeoutQueue(settings_.timeouts.header),
                           .body = TimeoutQueue(settings_.timeouts.body),
                           .idle = TimeoutQueue(settings_.timeouts.idle),
                           .send = TimeoutQueue(settings_.timeouts.send),
                           .linger = TimeoutQueue(kLinger),
                           .presence = TimeoutQueue(kPresence)},
      ticker_(
          loop_, kTick,
          {&connection_timeouts_.header, &connection_timeouts_.body, &connection_timeouts_.idle,
           &connection_timeouts_.send, &connection_timeouts_.linger, &connection_timeouts_.presence,
           &origin_timeouts_.connect, &origin_timeouts_.answer, &origin_timeouts_.idle}),
      divergences_(std::move(setup.event_channel), setup.index, counters),
      group_(make_group(installation, setup, sigmas.votes)),
      context_{.settings = settings_,
               .profile = installation.profile,
               .sketch = installation.sketch,
               .table = table,
               .order = sigmas.order,
               .group = *group_,
               .counters = counters,
               .divergences = divergences_,
               .random = {},
               .request_canonicalizer = sketch::RequestCanonicalizer(installation.profile),
               .answer_canonicalizer = sketch::AnswerCanonicalizer(installation.profile)},
      connections_(settings_.limits.connections_max),
      addresses_(settings_.limits.connections_per_address_max) {
  for (UniqueFd& listener : setup.listeners) {
    acceptors_.push_back(std::make_unique<Acceptor>(
        loop_, std::move(listener), [this](asio::ip::tcp::socket socket, std::string address) {
          on_accepted(std::move(socket), std::move(address));
        }));
  }
}

std::unique_ptr<replica_client::ReplicaGroup> Worker::make_group(
    const Installation& installation, const WorkerSetup& setup,
    replica_client::SigmaCounter& sigmas) {
  replica_client::RefutationHandler& refutations = *this;
  if (installation.pbft) {
    return std::make_unique<replica_client::PbftGroup>(
        loop_, pbft_settings(settings_, installation.pbft->group, setup), installation.pbft->keys,
        origin_timeouts_, refutations, log_);
  }
  return std::make_unique<replica_client::VoteGroup>(
      loop_, vote_settings(settings_), installation.profile, origin_timeouts_, sigmas, refutations);
}

int Worker::run() {
  ticker_.start();
  group_->start();
  for (auto& acceptor : acceptors_)
    acceptor->resume();
  loop_.run();
  return 0;
}

void Worker::on_accepted(asio::ip::tcp::socket socket, std::string address) {
  if (!addresses_.take(address)) return context_.counters.connections_refused.add();
  context_.counters.connections_accepted.add();
  context_.counters.connections.add();
  ConnectionOwner& owner = *this;
  ClientConnection& connection = connections_.add(std::make_unique<ClientConnection>(
      std::move(socket), std::move(address), context_, connection_timeouts_, date_, owner));
  connection.start();
  // New clients wait in the listeners' backlogs until one of the others has gone.
  if (connections_.full()) {
    for (auto& acceptor : acceptors_)
      acceptor->pause();
  }
}

void Worker::on_connection_closed(ClientConnection& connection) {
  context_.counters.connections.subtract();
  addresses_.give_back(connection.address());
  const bool was_full = connections_.full();
  connections_.remove(connection);
  if (draining_) {
    if (connections_.empty()) finish_drain();
  } else if (was_full) {
    for (auto& acceptor : acceptors_)
      acceptor->resume();
  }
}

void Worker::on_refuted(const replica_client::Refutation& refutation) {
  const std::string origin = to_string(settings_.origins[refutation.replica].address);
  Divergence divergence;
  divergence.kind =
      settings_.group.kind == GroupKind::vote ? DivergenceKind::vote : DivergenceKind::replicated;
  divergence.replica = refutation.replica;
  divergence.origin = origin;
  const RequestLine line = parse_request_line(refutation.request_head);
  divergence.method = line.method;
  divergence.target = line.target;
  divergence.authority = line.authority;
  divergence.answer_digest = to_hex(refutation.vote_digest);
  divergence.agreed_digest = to_hex(refutation.agreed_digest);
  divergences_.report(divergence);
}

void Worker::on_vote(NodeId replica, http::ExchangeEnd end) {
  context_.counters.origins[replica].votes[static_cast<std::size_t>(end)].add();
}

void Worker::on_stop_signal() {
  if (draining_) return finish_drain();  // asked twice
  drain();
}

void Worker::drain() {
  log_.info("draining", {{"connections", connections_.size()}});
  draining_ = true;
  drain_timer_.expires_after(settings_.timeouts.drain);
  drain_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) finish_drain();
  });
  for (auto& acceptor : acceptors_)
    acceptor->close();
  connections_.for_each([](ClientConnection& connection) { connection.drain(); });
  if (connections_.empty()) finish_drain();
}

void Worker::finish_drain() {
  if (!connections_.empty()) {
    log_.warning("drain-incomplete", {{"connections", connections_.size()}});
  }
  loop_.stop();
}

}  // namespace

int run_worker(const Installation& installation, WorkerSetup setup, HistoryTable& table,
               SharedSigmas& sigmas, WorkerCounters& counters, Logger& log) {
  Worker worker(installation, std::move(setup), table, sigmas, counters, log);
  return worker.run();
}

}  // namespace prophecy::sketcher
