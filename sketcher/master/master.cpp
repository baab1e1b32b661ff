#include "sketcher/master/master.hpp"

#include <algorithm>
#include <csignal>
#include <deque>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io/admin_socket.hpp"
#include "base/io/signal_source.hpp"
#include "http/metrics/metrics_server.hpp"
#include "sketcher/health/checker_process.hpp"
#include "sketcher/health/monitor.hpp"
#include "sketcher/history/history_admin.hpp"
#include "sketcher/history/transfer_process.hpp"
#include "sketcher/master/certificate_watch.hpp"
#include "sketcher/master/cluster_reports.hpp"
#include "sketcher/master/operator_switches.hpp"
#include "sketcher/master/preparations.hpp"
#include "sketcher/master/static_ring.hpp"
#include "sketcher/master/turn_watch.hpp"
#include "sketcher/reads/access_log.hpp"
#include "sketcher/report/field_report.hpp"
#include "sketcher/report/status.hpp"
#include "sketcher/ring/ring_process.hpp"
#include "sketcher/shared/divergence.hpp"
#include "sketcher/shared/divergence_log.hpp"
#include "sketcher/shared/log_file.hpp"
#include "sketcher/shared/shared_state.hpp"
#include "sketcher/worker/listeners.hpp"
#include "sketcher/worker/worker_process.hpp"

namespace prophecy::sketcher {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// A worker that lived shorter than this is replaced after a pause, which doubles.
constexpr Duration kShortLife = seconds(2);
constexpr Duration kPauseMin = milliseconds(100);
constexpr Duration kPauseMax = seconds(5);
// A TLS session can be resumed for one to two of these.
constexpr Duration kTicketKeyInterval = std::chrono::hours(1);
// Beyond the workers' own patience while they drain; then they are killed.
constexpr Duration kKillDelay = seconds(2);

std::string refusal(std::string reason) {
  return nlohmann::json{{"error", std::move(reason)}}.dump(
      -1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// A worker in the master's hands: the process, and what the loop waits for on its behalf.
struct Seat {
  explicit Seat(asio::io_context& loop) : events(loop), pause(loop) {}
  asio::posix::stream_descriptor events;
  asio::steady_timer pause;
  Duration pause_length = kPauseMin;
};

class Master {
 public:
  Master(const Installation& installation, HistoryTable table, const SharedState& shared,
         std::vector<Listener> listeners, std::vector<Listener> member_listeners, Logger& log);
  Result<> start(UniqueFd hand_over_listener);
  int run();

 private:
  Result<> start_worker_at(std::uint32_t index);
  void receive_events(std::uint32_t index);
  void wait_for_events(std::uint32_t index);
  [[nodiscard]] bool take_events(std::uint32_t index);
  void on_signal(int signal);
  void reload();
  void reload_certificates();
  void reopen_access_log();
  void renew_next_worker();
  void rotate_tickets();
  void reap();
  void on_worker_ended(std::uint32_t index, int wait_status);
  void replace(std::uint32_t index);
  void leave();
  void stop();
  void signal_workers(int signal);
  void finish_when_all_stopped();
  [[nodiscard]] std::string on_admin_request(std::string_view line);
  [[nodiscard]] std::string on_admin_files(std::string_view line, std::vector<UniqueFd> files);
  [[nodiscard]] StatusSources sources() const;
  [[nodiscard]] std::string report(dht::ReportKind kind) const;
  [[nodiscard]] std::string no_ring() const;

  const Installation& installation_;
  const Settings& settings_;
  Logger& log_;
  HistoryTable table_;
  SharedState shared_;
  std::vector<Listener> listeners_;
  std::vector<Listener> member_listeners_;  // by worker; none without a ring
  TimePoint started_ = std::chrono::steady_clock::now();
  bool leaving_ = false;  // the ring, before it stops
  bool stopping_ = false;
  int exit_status_ = 0;

  asio::io_context loop_{1};
  SignalSource signals_;
  asio::steady_timer kill_timer_;
  asio::steady_timer ticket_timer_;
  asio::steady_timer renewal_timer_;
  asio::steady_timer leave_timer_;
  std::deque<std::uint32_t> renewals_;  // the first one is ending
  CertificateWatch certificates_;
  DivergenceLog divergences_;
  UniqueFd access_log_;
  HealthMonitor health_;
  CheckerProcess checker_;
  TransferProcess transfer_;
  HistoryAdmin history_;
  RingProcess ring_;
  OperatorSwitches switches_;
  ClusterReports reports_;
  std::vector<WorkerProcess> workers_;
  TurnWatch turn_watch_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::unique_ptr<AdminServer> admin_;
  std::unique_ptr<http::MetricsServer> metrics_;
};

Master::Master(const Installation& installation, HistoryTable table, const SharedState& shared,
               std::vector<Listener> listeners, std::vector<Listener> member_listeners, Logger& log)
    : installation_(installation),
      settings_(installation.settings),
      log_(log),
      table_(std::move(table)),
      shared_(shared),
      listeners_(std::move(listeners)),
      member_listeners_(std::move(member_listeners)),
      signals_(loop_, {SIGTERM, SIGINT, SIGCHLD, SIGHUP}, [this](int s) { on_signal(s); }),
      kill_timer_(loop_),
      ticket_timer_(loop_),
      renewal_timer_(loop_),
      leave_timer_(loop_),
      certificates_(loop_, installation, [this] { reload_certificates(); }),
      divergences_(log),
      health_(loop_, installation, shared, log),
      checker_(loop_, installation, shared, log,
               [this](const CheckReport& report) { health_.on_check(report); }),
      transfer_(loop_, installation, table_, shared, log),
      history_(loop_, installation, table_, shared_, log, [this] { reap(); }),
      ring_(loop_, installation, table_, shared_, log),
      switches_(loop_, installation, shared_, health_, history_, ring_, log),
      reports_(loop_, ring_, [this](dht::ReportKind kind) { return report(kind); }),
      turn_watch_(loop_, workers_, log) {
  table_.attach(0);
  for (std::uint32_t i = 0; i < settings_.workers; ++i) {
    workers_.emplace_back();
    workers_.back().index = i;
    seats_.push_back(std::make_unique<Seat>(loop_));
  }
}

Result<> Master::start(UniqueFd hand_over_listener) {
  if (settings_.divergence_log) {
    auto opened =
        divergences_.file().open(*settings_.divergence_log, settings_.divergence_log_bytes_max);
    if (!opened) return opened;
  }
  if (settings_.access_log) {
    auto opened = open_log_file(*settings_.access_log, kAccessLogName);
    if (!opened) return std::move(opened.error());
    access_log_ = std::move(*opened);
  }
  auto admin = AdminServer::listen(loop_, settings_.admin_socket, [this](std::string_view line) {
    return on_admin_request(line);
  });
  if (!admin) return admin.error();
  admin_ = std::move(*admin);
  admin_->take_files([this](std::string_view line, std::vector<UniqueFd> files) {
    return on_admin_files(line, std::move(files));
  });
  if (settings_.metrics) {
    auto metrics = http::MetricsServer::listen(loop_, *settings_.metrics,
                                               [this] { return prometheus_text(sources()); });
    if (!metrics) return metrics.error();
    metrics_ = std::move(*metrics);
  }
  if (auto prepared = ring_.prepare(std::move(hand_over_listener)); !prepared) return prepared;
  switches_.start();
  health_.start();
  for (std::uint32_t i = 0; i < settings_.workers; ++i) {
    if (auto started = start_worker_at(i); !started) return started.error();
  }
  if (auto started = checker_.start(); !started) return started.error();
  if (auto started = ring_.start(); !started) return started.error();
  if (ring_.exists()) turn_watch_.start(shared_.ring().turns);
  history_.start();
  log_.info("table-mapped", {{"bytes", table_.bytes()},
                             {"in_huge_pages", table_.huge_bytes()},
                             {"entries_kept", table_.stats().entries}});
  for (const Listener& listener : listeners_) {
    log_.info("listening",
              {{"address", to_string(listener.address)}, {"workers", settings_.workers}});
  }
  for (const Listener& listener : member_listeners_)
    log_.info("listening-for-members", {{"address", to_string(listener.address)}});
  return {};
}

int Master::run() {
  if (installation_.tls->any()) rotate_tickets();
  certificates_.start();
  loop_.run();
  admin_->stop();
  if (auto closed = table_.close(); !closed) {
    log_.error("table-not-kept", {{"problem", closed.error().message}});
    exit_status_ = 1;
  }
  log_.info("stopped", {{"status", exit_status_}});
  return exit_status_;
}

Result<> Master::start_worker_at(std::uint32_t index) {
  KeptFiles kept;
  for (const Listener& listener : listeners_)
    kept.listeners.push_back(listener.sockets[index].get());
  if (!member_listeners_.empty()) {
    kept.member_listener = member_listeners_[index].sockets[0].get();
  }
  if (access_log_) kept.access_log = access_log_.get();
  kept.wake = ring_.wake(index);
  auto started = start_worker(workers_[index], installation_, kept, table_, shared_, log_);
  if (started) receive_events(index);
  return started;
}

void Master::receive_events(std::uint32_t index) {
  Seat& seat = *seats_[index];
  error_code ignored;
  seat.events.close(ignored);
  seat.events.assign(workers_[index].events.release());
  wait_for_events(index);
}

void Master::wait_for_events(std::uint32_t index) {
  seats_[index]->events.async_wait(asio::posix::stream_descriptor::wait_read,
                                   [this, index](error_code error) {
                                     if (!error && take_events(index)) wait_for_events(index);
                                   });
}

// Takes all that has arrived. False at the end of the channel: the worker has gone.
bool Master::take_events(std::uint32_t index) {
  char event[kEventBytesMax];
  for (;;) {
    const ssize_t size = ::read(seats_[index]->events.native_handle(), event, sizeof event);
    if (size <= 0) return size < 0;
    divergences_.add({event, static_cast<std::size_t>(size)}, std::chrono::steady_clock::now());
  }
}

void Master::on_signal(int signal) {
  switch (signal) {
    case SIGCHLD:
      return reap();
    case SIGHUP:
      return reload();
    default:
      return leave();
  }
}

void Master::reload() {
  certificates_.note_read();
  if (settings_.access_log) reopen_access_log();
  reload_certificates();
  if (!divergences_.file().is_open()) return;
  if (auto opened = divergences_.file().reopen(); !opened) {
    log_.error("divergence-log-not-reopened", {{"problem", opened.error().message}});
  } else {
    log_.info("divergence-log-reopened");
  }
}

// A worker that is replaced later has what this process has.
void Master::reload_certificates() {
  if (stopping_) return;
  if (auto loaded = sketcher::reload_certificates(installation_); !loaded) {
    log_.error("certificates-not-reloaded", {{"problem", loaded.error().message}});
  } else {
    log_.info("certificates-reloaded");
  }
  if (!settings_.account) {
    signal_workers(SIGHUP);
  } else if (uses_certificates(installation_) || settings_.access_log) {
    const bool is_renewing = !renewals_.empty();
    for (const WorkerProcess& worker : workers_)
      renewals_.push_back(worker.index);
    if (!is_renewing) renew_next_worker();
  }
  checker_.reload();
  ring_.reload();
}

// For workers that start later. A worker of the master's own account opens the file itself.
void Master::reopen_access_log() {
  auto opened = open_log_file(*settings_.access_log, kAccessLogName);
  if (!opened) {
    return log_.error("access-log-not-reopened", {{"problem", opened.error().message}});
  }
  access_log_ = std::move(*opened);
  log_.info("access-log-reopened");
}

// The files may be root's alone, so a worker cannot read them again: one after the other ends as
// it does at a stop, and the next one has what the master has read.
void Master::renew_next_worker() {
  while (!renewals_.empty() && workers_[renewals_.front()].state != WorkerState::running)
    renewals_.pop_front();
  renewal_timer_.cancel();
  if (renewals_.empty() || stopping_) return;
  ::kill(workers_[renewals_.front()].pid, SIGTERM);
  renewal_timer_.expires_after(settings_.timeouts.drain + kKillDelay);
  renewal_timer_.async_wait([this](error_code error) {
    if (error || renewals_.empty()) return;
    const WorkerProcess& worker = workers_[renewals_.front()];
    if (worker.state == WorkerState::running) ::kill(worker.pid, SIGKILL);
  });
}

void Master::rotate_tickets() {
  ticket_timer_.expires_after(kTicketKeyInterval);
  ticket_timer_.async_wait([this](error_code error) {
    if (error) return;
    installation_.tls->rotate_tickets();
    rotate_tickets();
  });
}

void Master::reap() {
  int status = 0;
  int pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    checker_.on_child_ended(pid, status);
    ring_.on_child_ended(pid, status);
    transfer_.on_child_ended(pid, status);
    for (WorkerProcess& worker : workers_) {
      if (worker.pid == pid && worker.state == WorkerState::running) {
        on_worker_ended(worker.index, status);
      }
    }
  }
  if (stopping_) finish_when_all_stopped();
}

void Master::on_worker_ended(std::uint32_t index, int wait_status) {
  WorkerProcess& worker = workers_[index];
  // First of all: another worker may be waiting for a bucket that this one held.
  table_.declare_dead(static_cast<WriterSlot>(index + 1));
  if (ring_.exists()) shared_.ring().turns.leave(index);
  clear_gauges(shared_, index);
  static_cast<void>(take_events(index));  // what it reported last
  worker.pid = -1;
  const bool clean = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
  if (stopping_) {
    worker.state = WorkerState::stopped;
    if (!clean) exit_status_ = 1;
    return;
  }
  const bool is_renewal = !renewals_.empty() && renewals_.front() == index;
  if (is_renewal) renewals_.pop_front();
  if (is_renewal && clean && start_worker_at(index)) {
    log_.info("worker-renewed", {{"worker", index}, {"pid", worker.pid}});
    return renew_next_worker();
  }
  log_.error("worker-died", {{"worker", index},
                             {"signal", WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0},
                             {"status", WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0},
                             {"core_dumped", WIFSIGNALED(wait_status) && WCOREDUMP(wait_status)}});
  worker.state = WorkerState::waiting;
  if (is_renewal) renew_next_worker();
  Seat& seat = *seats_[index];
  const bool short_lived = std::chrono::steady_clock::now() - worker.started < kShortLife;
  if (!short_lived) {
    seat.pause_length = kPauseMin;
    return replace(index);
  }
  seat.pause.expires_after(seat.pause_length);
  seat.pause_length = std::min(2 * seat.pause_length, kPauseMax);
  seat.pause.async_wait([this, index](error_code error) {
    if (!error) replace(index);
  });
}

void Master::replace(std::uint32_t index) {
  WorkerProcess& worker = workers_[index];
  if (stopping_) return;
  ++worker.restarts;
  if (auto started = start_worker_at(index); !started) {
    log_.error("worker-not-started", {{"worker", index}, {"problem", started.error().message}});
    Seat& seat = *seats_[index];
    seat.pause.expires_after(kPauseMax);
    seat.pause.async_wait([this, index](error_code error) {
      if (!error) replace(index);
    });
    return;
  }
  log_.info("worker-started", {{"worker", index}, {"pid", worker.pid}});
}

// A member of a living ring goes on until others have its partitions; told again, it stops at once.
void Master::leave() {
  if (!ring_.exists() || leaving_ || stopping_) return stop();
  leaving_ = true;
  log_.info("leaving-the-ring");
  leave_timer_.expires_after(settings_.timeouts.drain);
  leave_timer_.async_wait([this](error_code error) {
    if (error || stopping_) return;
    log_.warning("left-the-ring-early", {{"reason", "others have not taken over in time"}});
    stop();
  });
  ring_.drain([this] {
    if (!stopping_) stop();
  });
}

void Master::stop() {
  if (!stopping_) log_.info("stopping");
  leave_timer_.cancel();
  stopping_ = true;
  for (Listener& listener : listeners_)
    listener.sockets.clear();
  member_listeners_.clear();
  signal_workers(SIGTERM);
  checker_.stop();
  transfer_.stop();
  for (WorkerProcess& worker : workers_) {
    seats_[worker.index]->pause.cancel();
    if (worker.state == WorkerState::waiting) worker.state = WorkerState::stopped;
  }
  kill_timer_.expires_after(settings_.timeouts.drain + kKillDelay);
  kill_timer_.async_wait([this](error_code error) {
    if (error) return;
    log_.error("workers-killed", {{"reason", "they did not stop in time"}});
    signal_workers(SIGKILL);
    transfer_.abandon();  // killed long since
    finish_when_all_stopped();
  });
  finish_when_all_stopped();
}

void Master::signal_workers(int signal) {
  for (const WorkerProcess& worker : workers_) {
    if (worker.state == WorkerState::running) ::kill(worker.pid, signal);
  }
}

void Master::finish_when_all_stopped() {
  for (const WorkerProcess& worker : workers_) {
    if (worker.state != WorkerState::stopped) return;
  }
  if (transfer_.is_running()) return;
  if (!ring_.is_running()) return loop_.stop();
  // Last of all: it hands over what the workers have left.
  ring_.stop();
  leave_timer_.expires_after(kKillDelay);
  leave_timer_.async_wait([this](error_code error) {
    if (!error) ring_.kill();
  });
}

StatusSources Master::sources() const {
  return {.installation = installation_,
          .listeners = listeners_,
          .workers = workers_,
          .shared = shared_,
          .table = table_,
          .divergences = divergences_,
          .health = health_,
          .ring = ring_.report(),
          .ring_settings = switches_.status(),
          .started = started_};
}

std::string Master::report(dht::ReportKind kind) const {
  if (kind == dht::ReportKind::metrics) return prometheus_text(sources());
  return status_json(sources(), std::chrono::steady_clock::now());
}

std::string Master::no_ring() const {
  return refusal(ring_.exists() ? "the ring's process is starting; try again"
                                : "this sketcher is no member of a ring with ZooKeeper");
}

std::string Master::on_admin_request(std::string_view line) {
  const auto request = nlohmann::json::parse(line, nullptr, false);
  const auto text = [&](const char* key) {
    const bool is_text = request.is_object() && request.contains(key) && request[key].is_string();
    return is_text ? request[key].get<std::string>() : std::string();
  };
  const std::string command = text("command");
  if (command == "status") return report(dht::ReportKind::status);
  if (command == "metrics")
    return nlohmann::json{{"metrics", report(dht::ReportKind::metrics)}}.dump();
  if (ClusterReports::takes(command))
    return ring_.report().is_object() ? reports_.answer(command, request) : no_ring();
  if (command == "access-log") return access_log_json(settings_);
  if (command == "fields") return fields_json(installation_, shared_);
  if (command == "divergences") {
    const bool numbered = request.contains("since") && request["since"].is_number_unsigned();
    return divergences_.since(numbered ? request["since"].get<std::uint64_t>() : 0);
  }
  if (command == "ring") return ring_.report().is_object() ? ring_.report().dump() : no_ring();
  if (command == "ring-drain") return ring_.exists() && ring_.drain() ? "{}" : no_ring();
  if (command == "ring-join") return ring_.exists() && ring_.rejoin() ? "{}" : no_ring();
  if (HistoryAdmin::takes(command)) return history_.answer(command, request);
  if (OperatorSwitches::takes(command)) return switches_.answer(command, request);
  return refusal(
      R"(expected "command" to be one of status, metrics, fields, divergences, ring, ring-drain, )"
      R"(ring-join, cluster-report with "kind", cluster-report-answer with "round", )"
      R"(ring-settings, ring-settings-accept, ring-settings-restore, ring-change with "change", )"
      R"(history-..., )"
      R"(set-route-mode with "route" and "mode", set-bypass with "on", set-origin-state with "group", )"
      R"("replica", "state" and "reason", set-origin-weight with "group", "replica" and "weight")");
}

// An export or import: the file, and the channel that is told how it ended.
std::string Master::on_admin_files(std::string_view line, std::vector<UniqueFd> files) {
  const auto request = nlohmann::json::parse(line, nullptr, false);
  const std::string command =
      request.is_object() && request.contains("command") && request["command"].is_string()
          ? request["command"].get<std::string>()
          : "";
  const bool is_export = command == "history-export";
  if ((!is_export && command != "history-import") || files.size() != 2) {
    return refusal(R"(expected two files with "history-export" or "history-import" alone)");
  }
  // It passes no turns, so what it brings may outlast the ownership of a partition.
  if (!is_export && ring_.exists()) {
    return refusal(
        "a member of a ring with ZooKeeper takes no history from a file; the members "
        "hand theirs over");
  }
  TransferRequest transfer{.kind = is_export ? Transfer::export_ : Transfer::import_};
  if (request.contains("marks")) transfer.takes_marks = request["marks"] == true;
  if (request.contains("made_after")) {
    if (!request["made_after"].is_number_unsigned()) {
      return refusal(R"(expected "made_after" to be seconds since 1970)");
    }
    transfer.made_after = request["made_after"].get<std::uint64_t>();
  }
  const auto started = transfer_.start(transfer, std::move(files[0]), std::move(files[1]));
  return started ? "{}" : refusal(started.error().message);
}

}  // namespace

Result<int> run_master(const Installation& installation, Logger& log) {
  if (auto allowed = check_account(installation.settings); !allowed) return allowed.error();
  const DescriptorNeed need = descriptors_needed(installation.settings);
  if (auto allowed = allow_descriptors(need, log); !allowed) return allowed.error();
  auto table = make_table(installation, log);
  if (!table) return table.error();
  warn_of_routes(installation.settings, log);
  auto shared = map_shared_state(installation, *table);
  if (!shared) return shared.error();
  std::vector<Listener> listeners;
  for (const ListenerSettings& settings : installation.settings.listeners) {
    if (!takes_clients(installation.settings.ring)) break;
    auto listener = open_listener(settings.address, installation.settings.workers);
    if (!listener) return listener.error();
    listeners.push_back(std::move(*listener));
  }
  std::vector<Listener> member_listeners;
  for (const Endpoint& address : own_addresses(installation.settings.ring)) {
    auto listener = open_listener(address, 1);
    if (!listener) return listener.error();
    member_listeners.push_back(std::move(*listener));
  }
  UniqueFd hand_over;
  if (const auto& ring = installation.settings.ring; ring && ring->living) {
    auto listener = open_listener(ring->living->hand_over, 1);
    if (!listener) return listener.error();
    hand_over = std::move(listener->sockets.front());
  }
  Master master(installation, std::move(*table), *shared, std::move(listeners),
                std::move(member_listeners), log);
  if (auto started = master.start(std::move(hand_over)); !started) return started.error();
  warn_of_rights(installation.settings, log);
  return master.run();
}

}  // namespace prophecy::sketcher
