#include "bench/load/pbft_load.hpp"

#include <algorithm>
#include <unordered_map>

#include <sys/resource.h>

#include "base/assert.hpp"
#include "pbft/core/key_exchange.hpp"
#include "pbft/transport/client_transport.hpp"
#include "pbft/transport/core_timer.hpp"
#include "pbft/transport/system_entropy.hpp"
#include "pbft/wire/frame_header.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::tools {
namespace {

constexpr Duration kConnectPatience = seconds(10);
constexpr Duration kCallDeadline = seconds(10);
constexpr Duration kKeyRefreshInterval = seconds(600);

TimePoint now() {
  return std::chrono::steady_clock::now();
}

Duration duration_of(const timeval& time) {
  return seconds(time.tv_sec) + microseconds(time.tv_usec);
}

rusage usage_of_process() {
  rusage usage{};
  const int failed = ::getrusage(RUSAGE_SELF, &usage);
  ASSERT(failed == 0);
  return usage;
}

// The services for measurements take an operation that begins with 'r' for a read.
Bytes make_operation(const PbftLoadSettings& settings) {
  const bool reads = settings.kind == pbft::CallKind::read_only;
  Bytes operation(std::max<std::size_t>(settings.operation_bytes, reads ? 1 : 0),
                  std::uint8_t{'w'});
  if (reads) operation.front() = 'r';
  return operation;
}

pbft::TransportSettings transport_settings(std::shared_ptr<const pbft::LinkTls> links) {
  pbft::TransportSettings settings;
  settings.frame_bytes_max = pbft::kFrameBytesMax;
  settings.tls = std::move(links);
  return settings;
}

pbft::ClientSettings client_settings(const PbftLoadSettings& settings, std::uint32_t faults,
                                     std::uint32_t first_session, std::uint32_t sessions) {
  pbft::ClientSettings made;
  made.faults = faults;
  made.first_session = first_session;
  made.session_count = sessions;
  made.first_timestamp = settings.first_timestamp;
  made.tentative_execution = settings.tentative;
  return made;
}

}  // namespace

// A client's core on a connection to each replica.
class PbftLoad::Connection {
 public:
  Connection(PbftLoad& load, boost::asio::io_context& io, const pbft::ClientSettings& settings,
             const pbft::GroupFile& group, const pbft::KeyRing& keys)
      : load_(load),
        sessions_(settings.session_count),
        replicas_(group.replicas.size()),
        told_(group.replicas.size()),
        key_exchange_(keys,
                      {.refresh_interval = kKeyRefreshInterval,
                       .sessions = {settings.first_session, settings.session_count}},
                      entropy_),
        client_(settings, keys),
        transport_(
            io, transport_settings(load.settings_.links), group.addresses(),
            {.on_frame = [this](NodeId replica, ByteView frame) { on_frame(replica, frame); },
             .on_state = [this](NodeId replica, bool connected) { on_state(replica, connected); }}),
        timer_(io,
               [this] {
                 client_.on_tick(now(), actions_);
                 settle();
               }),
        key_timer_(io, [this] { on_key_timer(); }) {}

  void start() {
    key_exchange_.start(now());
    key_timer_.arm(key_exchange_.next_timer());
    transport_.start();
  }
  void stop() {
    stopped_ = true;
    timer_.stop();
    key_timer_.stop();
    transport_.stop();
  }
  void begin() {
    for (std::uint32_t i = 0; i < sessions_; ++i)
      call();
    settle();
  }
  [[nodiscard]] bool is_complete() const {
    for (NodeId replica = 0; replica < replicas_; ++replica) {
      if (!transport_.connected(replica) || !told_[replica]) return false;
    }
    return true;
  }
  [[nodiscard]] std::uint64_t retransmissions() const { return client_.counters().retransmissions; }

 private:
  void on_frame(NodeId replica, ByteView frame) {
    const auto header = pbft::peek_header(frame);
    if (header && pbft::is_key_message(header->type)) {
      on_key_frame(replica, frame);
    } else {
      client_.on_frame(frame, now(), actions_);
    }
    settle();
  }

  void on_key_frame(NodeId replica, ByteView frame) {
    pbft::KeyExchange::Step step = key_exchange_.on_link_frame(replica, frame, now());
    if (step.answer) transport_.send(replica, std::move(step.answer));
    key_timer_.arm(key_exchange_.next_timer());
    if (!step.authentic) return;
    client_.on_connected(replica, actions_);
    settle();
    told_[replica] = true;
    load_.on_connected();
  }

  void on_key_timer() {
    std::vector<pbft::Outgoing> asks;
    key_exchange_.on_tick(now(), asks);
    for (pbft::Outgoing& ask : asks)
      transport_.send(ask.to, std::move(ask.frame));
    key_timer_.arm(key_exchange_.next_timer());
  }

  void on_state(NodeId replica, bool connected) {
    if (connected) {
      transport_.send(replica, key_exchange_.on_connected(replica, now()));
    } else {
      key_exchange_.on_disconnected(replica);
    }
    key_timer_.arm(key_exchange_.next_timer());
  }

  void call() {
    const TimePoint time = now();
    const pbft::CallId id = client_.submit(load_.operation_, load_.settings_.kind,
                                           time + kCallDeadline, time, actions_);
    begun_.emplace(id, time);
  }

  // A completion makes room for the next call, which may want something sent.
  void settle() {
    if (stopped_) return;
    while (!actions_.completions.empty()) {
      const std::vector<pbft::Completion> completions = std::exchange(actions_.completions, {});
      const TimePoint time = now();
      for (const pbft::Completion& completion : completions) {
        const auto begun = begun_.find(completion.call);
        ASSERT(begun != begun_.end());
        load_.on_completion(completion, begun->second, time);
        begun_.erase(begun);
        call();
      }
    }
    for (pbft::Outgoing& outgoing : actions_.sends)
      transport_.send(outgoing.to, std::move(outgoing.frame));
    actions_.clear();
    timer_.arm(client_.next_timer());
  }

  PbftLoad& load_;
  std::uint32_t sessions_;
  std::size_t replicas_;
  std::vector<bool> told_;  // by replica: it knows our key, and we its
  pbft::SystemEntropy entropy_;
  pbft::KeyExchange key_exchange_;
  pbft::Client client_;
  pbft::ClientTransport transport_;
  pbft::CoreTimer timer_;
  pbft::CoreTimer key_timer_;
  pbft::ClientActions actions_;
  std::unordered_map<pbft::CallId, TimePoint> begun_;
  bool stopped_ = false;
};

PbftLoad::PbftLoad(boost::asio::io_context& io, const PbftLoadSettings& settings,
                   const pbft::GroupFile& group, std::span<const pbft::KeyRing> keys,
                   Callbacks callbacks)
    : settings_(settings),
      callbacks_(std::move(callbacks)),
      operation_(make_operation(settings)),
      timer_(io) {
  ASSERT(settings.connections > 0 && settings.connections <= settings.clients);
  ASSERT(settings.clients <= pbft::kSessionsMax && keys.size() == settings.connections);
  std::uint32_t first = 0;
  for (std::uint32_t i = 0; i < settings.connections; ++i) {
    const std::uint32_t end = settings.clients * (i + 1) / settings.connections;
    connections_.push_back(std::make_unique<Connection>(
        *this, io, client_settings(settings, group.faults, first, end - first), group, keys[i]));
    first = end;
  }
}

PbftLoad::~PbftLoad() = default;

void PbftLoad::start() {
  timer_.expires_after(kConnectPatience);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error || state_ != State::connecting) return;
    stop();
    callbacks_.on_failed({ErrorKind::unavailable, "not all replicas could be reached"});
  });
  for (const auto& connection : connections_)
    connection->start();
}

void PbftLoad::on_connected() {
  const bool complete = std::all_of(connections_.begin(), connections_.end(),
                                    [](const auto& each) { return each->is_complete(); });
  if (state_ == State::connecting && complete) begin();
}

void PbftLoad::begin() {
  state_ = State::warming_up;
  timer_.expires_after(settings_.warm_up);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) begin_measuring();
  });
  for (const auto& connection : connections_)
    connection->begin();
}

void PbftLoad::begin_measuring() {
  state_ = State::measuring;
  for (const auto& connection : connections_)
    report_.retransmissions -= connection->retransmissions();
  callbacks_.on_measuring();
  const rusage usage = usage_of_process();
  report_.user = -duration_of(usage.ru_utime);
  report_.system = -duration_of(usage.ru_stime);
  measuring_since_ = now();
  end_at(measuring_since_ + settings_.duration);
}

void PbftLoad::end_at(TimePoint time) {
  timer_.expires_at(time);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) end();
  });
}

void PbftLoad::end() {
  const rusage usage = usage_of_process();
  report_.user += duration_of(usage.ru_utime);
  report_.system += duration_of(usage.ru_stime);
  report_.measured = now() - measuring_since_;
  for (const auto& connection : connections_)
    report_.retransmissions += connection->retransmissions();
  stop();
  callbacks_.on_done(report_);
}

void PbftLoad::stop() {
  state_ = State::done;
  for (const auto& connection : connections_)
    connection->stop();
}

void PbftLoad::on_completion(const pbft::Completion& completion, TimePoint begun, TimePoint now) {
  if (state_ != State::measuring) return;
  if (completion.fell_back) ++report_.fell_back;
  if (completion.outcome != pbft::CallOutcome::agreed) {
    ++report_.failed;
  } else if (completion.result.size() != settings_.result_bytes) {
    ++report_.wrong_results;
  } else {
    ++report_.agreed;
    report_.latency.add(now - begun);
    // Not at once: a connection is in the midst of its completions.
    if (report_.agreed == settings_.operations_max) end_at(now);
  }
}

}  // namespace prophecy::tools
