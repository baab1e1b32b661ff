#include "sketcher/worker/worker.hpp"

#include <algorithm>
#include <csignal>
#include <deque>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <malloc.h>

#include "base/io/signal_source.hpp"
#include "base/io/timeout_ticker.hpp"
#include "sketcher/answer/date.hpp"
#include "sketcher/client/acceptor.hpp"
#include "sketcher/client/client_connection.hpp"
#include "sketcher/client/connection_set.hpp"
#include "sketcher/core/admission/address_limit.hpp"
#include "sketcher/core/admission/places.hpp"
#include "sketcher/core/admission/shedding.hpp"
#include "sketcher/reads/exchange_handler.hpp"
#include "sketcher/reads/worker_context.hpp"
#include "sketcher/shared/system_boot_timer.hpp"
#include "sketcher/worker/member_service.hpp"
#include "sketcher/worker/ring_turns.hpp"
#include "sketcher/worker/spare_heap.hpp"

namespace prophecy::sketcher {
namespace {

namespace asio = boost::asio;

// How often deadlines are looked at: the coarseness of every time-out here.
constexpr Duration kTick = milliseconds(100);
constexpr Duration kLinger = seconds(1);
// An idle connection keeps its session, or the memory of one over HTTP/2, for so long.
constexpr Duration kLull = seconds(1);
// So long does an origin wait for a client that takes nothing of a large answer.
constexpr Duration kUntaken = seconds(1);
constexpr std::size_t kSpareBodyBytesMax = 64 << 20;
// Where members come to, handshakes under way.
constexpr std::size_t kStrangersMax = 256;
// The group answers sooner, as a rule.
constexpr Duration kPresence = milliseconds(200);

std::vector<VolatilityLimits> volatility_limits(const std::vector<RouteSettings>& routes) {
  std::vector<VolatilityLimits> limits;
  limits.reserve(routes.size());
  for (const RouteSettings& route : routes)
    limits.push_back(route.volatility);
  return limits;
}

bool orders_requests(const std::vector<GroupSettings>& groups) {
  return std::any_of(groups.begin(), groups.end(),
                     [](const GroupSettings& group) { return group.kind == GroupKind::pbft; });
}

// Of bodies that are not in files.
constexpr std::size_t kBodiesInMemory = 128;

http::Http2Limits http2_limits(const LimitSettings& limits, const SpoolSettings& spool) {
  return {.request = limits.request,
          .bodies_bytes_max =
              std::min(2 * limits.request.body_bytes_max, kBodiesInMemory * spool.from_bytes),
          .unsent_bytes_max = 4 * limits.answer.body_bytes_max};
}

class Worker final : private ConnectionOwner {
 public:
  Worker(const Installation& installation, WorkerSetup setup, HistoryTable& table,
         const SharedState& shared, Logger& log);
  int run();

 private:
  void make_groups(const WorkerSetup& setup);
  void make_client_limits(std::uint32_t worker);
  void on_connection_closed(ClientConnection& connection) override;
  void on_member_known(ClientConnection& connection) override;
  bool on_address_known(const IpAddress& address) override;
  void on_accepted(const ListenerTraits& listener, UniqueFd socket, const IpAddress& peer);
  void join_ring(WorkerSetup& setup);
  void on_member_accepted(UniqueFd socket, const IpAddress& peer);
  ClientConnection& add_connection(UniqueFd socket, const IpAddress& peer,
                                   const ListenerTraits& listener, SessionContext& context);
  // Once a second: storage that nothing has needed since, requests that nobody reads any more,
  // bodies in files that give way to others.
  void tidy_up();
  void look_at_drained_origins();
  // Clients of which too much is held, for being slow.
  void shed_answers();
  void shed_requests();
  // Idle clients, when there are few places left.
  void shed_connections();
  void on_signal(int signal);
  void drain();
  void finish_drain();

  const Installation& installation_;
  const Settings& settings_;
  Logger& log_;
  asio::io_context loop_{1};
  SignalSource signals_;
  asio::steady_timer drain_timer_;
  bool draining_ = false;
  http::OriginTimeouts origin_timeouts_;
  ConnectionTimeouts connection_timeouts_;
  TimeoutQueue read_timeouts_;
  TimeoutQueue untaken_timeouts_{kUntaken};
  TimeoutQueue places_timeouts_{Places::kRetry};
  TimeoutTicker ticker_;
  DateCache date_;
  HedgeTimers hedge_timers_;
  HedgeTimers owner_timers_;
  HedgeTimers retry_timers_;
  http::BodyPool bodies_{kSpareBodyBytesMax};
  CodedBodies coded_;
  struct TidyTimer final : TimeoutEntry {
    explicit TidyTimer(Worker& of) : worker(of) {}
    void on_timeout() override { worker.tidy_up(); }
    Worker& worker;
  } tidy_timer_{*this};
  SpareHeap spare_heap_;
  struct PlacesTimer final : TimeoutEntry {
    explicit PlacesTimer(Worker& of) : worker(of) {}
    void on_timeout() override { worker.shed_connections(); }
    Worker& worker;
  } places_timer_{*this};
  http::ComingAnswers coming_;
  HeldBytes untaken_;
  HeldBytes arriving_;
  HeldBytes asking_;
  ActivityTable activity_;
  DivergenceReporter divergences_;
  RandomDice dice_;
  SystemBootTimer boot_timer_;
  std::optional<Acceptance> acceptance_;  // in a ring
  AccessLog access_log_;
  WorkerContext context_;
  ExchangeHandlers handlers_;
  SessionContext session_context_;
  std::unique_ptr<MemberService> members_;  // in a ring
  std::unique_ptr<RingTurns> turns_;        // in a living one
  std::unique_ptr<Acceptor> member_acceptor_;
  std::deque<ClientConnection*> perhaps_strangers_;  // at member_acceptor_, the oldest first
  std::vector<ListenerTraits> listeners_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  ConnectionSet connections_;
  Places places_;
  std::vector<std::unique_ptr<ClientConnection>> closed_;  // destroyed in a turn of their own
  AddressLimit addresses_;
};

Worker::Worker(const Installation& installation, WorkerSetup setup, HistoryTable& table,
               const SharedState& shared, Logger& log)
    : installation_(installation),
      settings_(installation.settings),
      log_(log),
      signals_(loop_, {SIGTERM, SIGINT, SIGHUP}, [this](int signal) { on_signal(signal); }),
      drain_timer_(loop_),
      origin_timeouts_{.connect = TimeoutQueue(settings_.timeouts.connect),
                       .answer = TimeoutQueue(settings_.timeouts.answer),
                       .idle = TimeoutQueue(settings_.timeouts.origin_idle),
                       .stream = TimeoutQueue(settings_.timeouts.stream)},
      connection_timeouts_{
          .handshake = TimeoutQueue(settings_.timeouts.header),
          .header = TimeoutQueue(settings_.timeouts.header),
          .body = TimeoutQueue(settings_.timeouts.body),
          .idle = TimeoutQueue(settings_.timeouts.idle),
          .send = TimeoutQueue(settings_.timeouts.send),
          .linger = TimeoutQueue(kLinger),
          .presence = TimeoutQueue(kPresence),
          .tunnel_connect = TimeoutQueue(settings_.timeouts.connect),
          .tunnel_answer = TimeoutQueue(settings_.timeouts.answer),
          .tunnel = TimeoutQueue(settings_.timeouts.tunnel),
          .tunnel_half_closed =
              TimeoutQueue(std::min(settings_.timeouts.idle, settings_.timeouts.tunnel)),
          .lull = TimeoutQueue(std::min(settings_.timeouts.idle, kLull)),
          .rest = TimeoutQueue(settings_.timeouts.idle),
          .after_lull = settings_.timeouts.idle - std::min(settings_.timeouts.idle, kLull)},
      read_timeouts_(settings_.timeouts.total),
      ticker_(loop_, kTick,
              {&connection_timeouts_.handshake,
               &connection_timeouts_.header,
               &connection_timeouts_.body,
               &connection_timeouts_.idle,
               &connection_timeouts_.send,
               &connection_timeouts_.linger,
               &connection_timeouts_.presence,
               &connection_timeouts_.tunnel_connect,
               &connection_timeouts_.tunnel_answer,
               &connection_timeouts_.tunnel,
               &connection_timeouts_.tunnel_half_closed,
               &connection_timeouts_.lull,
               &connection_timeouts_.rest,
               &origin_timeouts_.connect,
               &origin_timeouts_.answer,
               &origin_timeouts_.idle,
               &origin_timeouts_.stream,
               &read_timeouts_,
               &untaken_timeouts_,
               &places_timeouts_}),
      hedge_timers_(loop_),
      owner_timers_(loop_),
      retry_timers_(loop_),
      coded_(settings_.compression.bytes_max, settings_.compression.processor_share,
             shared.worker(setup.index).compression),
      coming_(settings_.limits.coming_bytes_max, shared.worker(setup.index).coming_bytes,
              shared.worker(setup.index).shed_answers),
      untaken_(settings_.limits.untaken_bytes_max, shared.worker(setup.index).untaken_bytes,
               [this] { asio::post(loop_, [this] { shed_answers(); }); }),
      arriving_(settings_.limits.arriving_bytes_max, shared.worker(setup.index).arriving_bytes,
                [this] { asio::post(loop_, [this] { shed_requests(); }); }),
      // Nobody's fault, as a rule, and each has its end: there is nothing to be shed.
      asking_(settings_.limits.arriving_bytes_max, shared.worker(setup.index).asking_bytes, [] {}),
      activity_(shared.activity(setup.index), volatility_limits(settings_.routes)),
      divergences_(std::move(setup.event_channel), setup.index, shared.worker(setup.index)),
      access_log_(std::move(setup.access_log), log),
      context_{.settings = settings_,
               .shared = shared,
               .log = log,
               .table = table,
               .router = make_router(settings_.routes),
               .groups = {},
               .budgets = {},
               .client_limits = {},
               .counters = shared.worker(setup.index),
               .requests = shared.requests(setup.index),
               .dice = dice_,
               .hedge_timers = hedge_timers_,
               .owner_timers = owner_timers_,
               .retry_timers = retry_timers_,
               .read_timeouts = read_timeouts_,
               .untaken_timeouts = untaken_timeouts_,
               .bodies = bodies_,
               .coded = coded_,
               .untaken = untaken_,
               .arriving = arriving_,
               .asking = asking_,
               .activity = activity_,
               .access_log = access_log_,
               .spool = {.settings = settings_.spool,
                         .space = SpoolSpace(shared, shared.worker(setup.index).spool,
                                             settings_.spool.bytes_max),
                         .counters = shared.worker(setup.index).spool,
                         .hashed = orders_requests(settings_.groups),
                         .slow_bodies = SlowBodies(settings_.spool.bytes_per_second_min),
                         .time_max = settings_.timeouts.body_total},
               .request_canonicalizer = sketch::RequestCanonicalizer(settings_.forwarding)},
      handlers_(context_, RequestSource::clients),
      session_context_{.worker = context_,
                       .resources = {.limits = settings_.limits.request,
                                     .via = settings_.forwarding.via,
                                     .spool = context_.spool,
                                     .untaken = untaken_,
                                     .arriving = arriving_,
                                     .asking = asking_,
                                     .bodies = bodies_,
                                     .counters = context_.counters,
                                     .unrouted = context_.requests.back(),
                                     .date = date_,
                                     .handlers = handlers_},
                       .timeouts = connection_timeouts_,
                       .http2 = {.limits = http2_limits(settings_.limits, settings_.spool),
                                 .timeouts = connection_timeouts_}},
      connections_(settings_.limits.connections_max),
      places_(settings_.limits.connections_max),
      addresses_(settings_.limits.connections_per_address_max, settings_.limits.ipv6_prefix_bits) {
  if (settings_.ring) acceptance_.emplace(shared.ring().permissions, boot_timer_);
  make_groups(setup);
  for (const RouteSettings& route : settings_.routes) {
    std::uint64_t seed = 0;
    dice_.random.fill({reinterpret_cast<std::uint8_t*>(&seed), sizeof seed});
    context_.budgets.push_back(route.slow_path.any()
                                   ? std::make_unique<SlowPathBudget>(
                                         route.slow_path, settings_.limits.ipv6_prefix_bits, seed)
                                   : nullptr);
  }
  make_client_limits(setup.index);
  if (settings_.ring) join_ring(setup);
  listeners_.reserve(setup.listeners.size());
  for (std::size_t i = 0; i < setup.listeners.size(); ++i) {
    const ListenerSettings& listener = settings_.listeners[i];
    listeners_.push_back({.tls = installation.tls->at(i),
                          .http1 = listener.http1,
                          .http2 = listener.http2,
                          .peers = &listener.peers});
    acceptors_.push_back(std::make_unique<Acceptor>(
        loop_, std::move(setup.listeners[i]), [this, i](UniqueFd socket, const IpAddress& peer) {
          on_accepted(listeners_[i], std::move(socket), peer);
        }));
  }
}

void Worker::make_client_limits(std::uint32_t worker) {
  std::uint32_t number = 0;
  for (const RouteSettings& route : settings_.routes) {
    context_.client_limits.emplace_back();
    if (!route.client_limit) continue;
    context_.client_limits.back() = std::make_unique<ClientLimit>(
        *route.client_limit, context_.shared.client_limit(number++), worker,
        settings_.limits.ipv6_prefix_bits, installation_.floor_seed);
  }
}

void Worker::join_ring(WorkerSetup& setup) {
  members_ = std::make_unique<MemberService>(loop_, installation_, context_, session_context_,
                                             setup.index);
  ticker_.add(members_->queues());
  // One member alone has nobody to look for.
  if (settings_.ring->members.size() > 1 || settings_.ring->living)
    context_.members = &members_->links();
  if (setup.wake) {
    std::vector<RingTurns::OrderedGroup> ordered;
    for (std::uint32_t i = 0; i < settings_.groups.size(); ++i) {
      const GroupSettings& group = settings_.groups[i];
      GroupContext& context = context_.groups[i]->context;
      if (group.kind == GroupKind::pbft)
        ordered.push_back({group.name, &context.group(), &context.core().group.order()});
    }
    turns_ = std::make_unique<RingTurns>(
        loop_, context_.shared.ring().turns, context_.shared.ring().permissions, setup.index,
        std::move(setup.wake), std::move(ordered), settings_.groups.size() == 1,
        [this] { owner_timers_.expire_all(); }, log_);
  }
  member_acceptor_ = std::make_unique<Acceptor>(loop_, std::move(setup.member_listener),
                                                [this](UniqueFd socket, const IpAddress& peer) {
                                                  on_member_accepted(std::move(socket), peer);
                                                });
}

// Whoever reaches that address may begin a handshake there. Members do so once each; the oldest of
// too many gives way, and a member tries again.
void Worker::on_member_accepted(UniqueFd socket, const IpAddress& peer) {
  ClientConnection& connection =
      add_connection(std::move(socket), peer, members_->listener(), members_->sessions());
  if (connection.may_be_strangers()) perhaps_strangers_.push_back(&connection);
  if (perhaps_strangers_.size() > kStrangersMax) perhaps_strangers_.front()->refuse_stranger();
}

void Worker::on_member_known(ClientConnection& connection) {
  std::erase(perhaps_strangers_, &connection);
}

void Worker::make_groups(const WorkerSetup& setup) {
  const GroupEnvironment environment{.loop = loop_,
                                     .settings = settings_,
                                     .origin_timeouts = origin_timeouts_,
                                     .bodies = bodies_,
                                     .coming = coming_,
                                     .divergences = divergences_,
                                     .log = log_,
                                     .shared = context_.shared,
                                     .activity = activity_,
                                     .dice = dice_,
                                     .worker = setup.index,
                                     .first_timestamp = setup.first_timestamp,
                                     .acceptance = acceptance_ ? &*acceptance_ : nullptr};
  const std::span<OriginCounters> origins = context_.shared.origins(setup.index);
  for (std::uint32_t i = 0; i < settings_.groups.size(); ++i) {
    const GroupSettings& group = settings_.groups[i];
    context_.groups.push_back(std::make_unique<WorkerGroup>(
        environment, context_.table, group, installation_.groups[i], context_.shared.group(i),
        context_.table.floors(i), origins.subspan(group.first_origin, group.origins.size()),
        context_.shared.shadows(setup.index).subspan(group.first_shadow, group.shadows.size())));
  }
  context_.reads = std::make_unique<WorkerReads>(
      WorkerReads{.routes = {},
                  .large = context_.counters.large,
                  .forced_share = settings_.fail_fast_reads,
                  .answer_bytes_max = settings_.limits.answer.body_bytes_max,
                  .target_bytes_max = settings_.limits.request.target_bytes_max});
  for (const RouteSettings& route : settings_.routes) {
    AskedOrigins asked{
        .group = &context_.groups[route.group]->context.core(),
        .pattern = {.hosts = route.pattern.hosts, .path_prefix = route.pattern.path_prefix}};
    if (const auto& rewrite = route.answer_rules.rewrite) asked.pattern.path_prefix = rewrite->to();
    context_.reads->routes.push_back(std::move(asked));
  }
}

int Worker::run() {
  ticker_.start();
  tidy_up();
  for (const auto& group : context_.groups)
    group->context.group().start();
  if (turns_) turns_->start();
  for (auto& acceptor : acceptors_)
    acceptor->resume();
  if (member_acceptor_) member_acceptor_->resume();
  loop_.run();
  return 0;
}

void Worker::tidy_up() {
  const TimePoint now = std::chrono::steady_clock::now();
  bodies_.free_unused();
  activity_.sweep(activity_seconds(now));
  access_log_.flush();
  look_at_drained_origins();
  context_.spool.slow_bodies.make_room(context_.spool.space, now);
  if (spare_heap_.should_give_back(session_context_.resources.http1_sessions)) ::malloc_trim(0);
  untaken_timeouts_.arm(tidy_timer_, now);
}

// What is left there is counted, and cut when its time is over.
void Worker::look_at_drained_origins() {
  for (std::uint32_t i = 0; i < settings_.groups.size(); ++i) {
    const HealthView& health = context_.shared.group(i).health;
    WorkerGroup& group = *context_.groups[i];
    for (NodeId replica = 0; replica < settings_.groups[i].origins.size(); ++replica) {
      const auto bit = replica_client::bit_of(replica);
      if ((health.cut() & bit) != 0) group.uses.cut(replica);
      const bool is_out = (health.drawable() & bit) == 0;
      group.context.counters(replica).under_way.set(is_out ? group.uses.count(replica) : 0);
    }
  }
}

void Worker::shed_answers() {
  untaken_.rearm();
  context_.counters.shed.add(
      shed({&connection_timeouts_.send, &connection_timeouts_.tunnel,
            &connection_timeouts_.tunnel_half_closed, &connection_timeouts_.tunnel_answer},
           SessionContext::now(), [this] { return untaken_.has_spare(); }));
}

void Worker::shed_requests() {
  arriving_.rearm();
  context_.counters.shed_requests.add(
      shed({&connection_timeouts_.header, &connection_timeouts_.body}, SessionContext::now(),
           [this] { return arriving_.has_spare(); }));
}

void Worker::shed_connections() {
  const TimePoint now = SessionContext::now();
  const std::size_t wanted = places_.wanted(connections_.size(), now);
  if (wanted == 0) return;
  const std::size_t gone = end_idle(
      {&connection_timeouts_.rest, &connection_timeouts_.lull, &connection_timeouts_.idle,
       &connection_timeouts_.header, &connection_timeouts_.handshake, &connection_timeouts_.linger},
      now, wanted);
  context_.counters.shed_connections.add(gone);
  places_.on_look(wanted, gone, now);
  if (gone < wanted) places_timeouts_.arm(places_timer_, now);
}

void Worker::on_accepted(const ListenerTraits& listener, UniqueFd socket, const IpAddress& peer) {
  if (listener.peers->proxy_protocol) {
    // Who comes past the load balancers could pretend to be anybody.
    if (!contains(listener.peers->trusted_peers, peer)) {
      context_.counters.refusals.add("PROXY header from a peer that is not trusted");
      return context_.counters.connections_refused.add();
    }
  } else if (!on_address_known(peer)) {
    return;
  }
  add_connection(std::move(socket), peer, listener, session_context_);
  shed_connections();
  // New clients wait in the listeners' backlogs until one of the others has gone.
  if (connections_.full()) {
    for (auto& acceptor : acceptors_)
      acceptor->pause();
  }
}

ClientConnection& Worker::add_connection(UniqueFd socket, const IpAddress& peer,
                                         const ListenerTraits& listener, SessionContext& context) {
  context_.counters.connections_accepted.add();
  context_.counters.connections.add();
  ConnectionOwner& owner = *this;
  ClientConnection& added = connections_.add(std::make_unique<ClientConnection>(
      std::move(socket), peer, listener, context, transport::ReadinessLoop::of(loop_), owner));
  added.start();
  return added;
}

bool Worker::on_address_known(const IpAddress& address) {
  if (addresses_.take(address)) return true;
  context_.counters.connections_refused.add();
  return false;
}

void Worker::on_connection_closed(ClientConnection& connection) {
  context_.counters.connections.subtract();
  if (connection.address()) addresses_.give_back(*connection.address());
  if (members_ && !connection.address()) std::erase(perhaps_strangers_, &connection);
  const bool was_full = connections_.full();
  // Not at once: its code is on the stack.
  if (closed_.empty()) asio::post(loop_, [this] { closed_.clear(); });
  closed_.push_back(connections_.remove(connection));
  if (draining_) {
    if (connections_.empty()) finish_drain();
  } else if (was_full) {
    for (auto& acceptor : acceptors_)
      acceptor->resume();
  }
}

void Worker::on_signal(int signal) {
  if (signal == SIGHUP) {
    // The master has told of what is wrong with them; a worker may fail where it has not.
    if (auto loaded = reload_certificates(installation_); !loaded) {
      log_.error("certificates-not-reloaded", {{"problem", loaded.error().message}});
    }
    if (settings_.access_log) access_log_.reopen(*settings_.access_log);
    return;
  }
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
  if (member_acceptor_) member_acceptor_->close();
  connections_.for_each([](ClientConnection& connection) { connection.drain(); });
  if (connections_.empty()) finish_drain();
}

void Worker::finish_drain() {
  if (!connections_.empty()) {
    log_.warning("drain-incomplete", {{"connections", connections_.size()}});
  }
  loop_.stop();
}

// Large bodies are mapped, and go back to the system when they are freed. (By default, glibc takes
// them from its heap once it has seen a few, where what lies above them keeps them.)
constexpr int kMappedBytesMin = 256 << 10;
// At most so much stays free at the heap's end until `SpareHeap` is asked. With glibc's default for
// a fixed threshold above, 128 KiB, a member that hands on answers of 64 KiB gives their memory
// back and asks for it anew, zeroed, some hundreds of times a second.
constexpr int kSpareBytesMax = 8 << 20;

}  // namespace

int run_worker(const Installation& installation, WorkerSetup setup, HistoryTable& table,
               const SharedState& shared, Logger& log) {
  ::mallopt(M_MMAP_THRESHOLD, kMappedBytesMin);
  ::mallopt(M_TRIM_THRESHOLD, kSpareBytesMax);
  Worker worker(installation, std::move(setup), table, shared, log);
  return worker.run();
}

}  // namespace prophecy::sketcher
