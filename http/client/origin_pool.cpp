#include "http/client/origin_pool.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>

#include "base/assert.hpp"
#include "base/random.hpp"
#include "http/client/origin_connection.hpp"
#include "http/pipeline/origin_pace.hpp"

namespace prophecy::http {

namespace asio = boost::asio;

namespace {

// So many are busy before requests begin to share them. Those that are stuck behind a slow answer
// are not shared.
constexpr std::size_t kBusyBeforeSharing = 2;
// An origin may have a process for each connection, and few of these.
constexpr std::size_t kIdleBesideFresh = 2;
constexpr std::size_t kSpareBodyBytesMax = 4 << 20;

OriginPace::Key draw_pace_key() {
  std::array<std::uint8_t, sizeof(OriginPace::Key)> bytes{};
  SecureRandom().fill(bytes);
  return std::bit_cast<OriginPace::Key>(bytes);
}

}  // namespace

OriginPool::OriginPool(asio::io_context& loop, OriginSettings settings, OriginTimeouts& timeouts)
    : loop_(loop),
      readiness_(transport::ReadinessLoop::of(loop)),
      settings_(std::move(settings)),
      timeouts_(timeouts),
      address_(asio::ip::make_address(settings_.address.address), settings_.address.port),
      pace_(std::make_unique<OriginPace>(draw_pace_key())),
      ticks_(loop),
      own_bodies_(kSpareBodyBytesMax),
      bodies_(settings_.bodies != nullptr ? *settings_.bodies : own_bodies_),
      readers_(settings_.answer_limits) {}

OriginPool::~OriginPool() = default;

void OriginPool::start(OriginExchange& exchange, const ExchangeRequest& request) {
  ASSERT(!exchange.active());
  ASSERT(!request.pipelined || (request.repeat_when_stale && request.verified &&
                                request.piece_bytes == 0 && request.body == nullptr));
  exchange.request_ = request;
  exchange.request_.pipelined = request.pipelined && settings_.pipeline_max > 1;
  exchange.was_put_back_ = false;
  if (exchange.request_.pipelined) exchange.path_class_ = pace_->class_of(request.wire);
  exchange.pool_ = this;
  give_time(exchange);
  submit(exchange);
}

void OriginPool::give_time(OriginExchange& exchange) {
  TimeoutQueue& queue = exchange.request_.streamed ? timeouts_.stream : timeouts_.answer;
  queue.arm(exchange, std::chrono::steady_clock::now());
}

void OriginPool::submit(OriginExchange& exchange) {
  if (waiting_.empty() && has_room_for(exchange)) return place(exchange);
  if (waiting_.size() < settings_.queue_max) return waiting_.push_back(&exchange);
  end(exchange, ExchangeEnd::overloaded, no_response_);
}

bool OriginPool::has_room_for(const OriginExchange& exchange) const {
  return !idle_.empty() || open_ < settings_.connections_max ||
         connection_to_share(exchange) != nullptr;
}

// One that this turn of the loop writes to anyway; else the one with the fewest before us.
OriginConnection* OriginPool::connection_to_share(const OriginExchange& exchange) const {
  if (!exchange.request_.pipelined || exchange.request_.fresh_connection) return nullptr;
  const TimePoint now = std::chrono::steady_clock::now();
  const std::size_t depth_max = pace_->depth_max(exchange.path_class_, now);
  if (depth_max == 1) return nullptr;
  OriginConnection* best = nullptr;
  for (const auto& connection : connections_) {
    if (!connection->may_share(exchange.path_class_, depth_max, now)) continue;
    if (connection->flush_pending()) return connection.get();
    if (best == nullptr || connection->depth() < best->depth()) best = connection.get();
  }
  return best;
}

void OriginPool::place(OriginExchange& exchange) {
  const std::size_t busy = open_ - idle_.size();
  if (busy >= kBusyBeforeSharing || (idle_.empty() && open_ >= settings_.connections_max)) {
    if (OriginConnection* shared = connection_to_share(exchange)) return shared->send(exchange);
  }
  while (!idle_.empty() && idle_.back()->is_outdated())
    idle_.back()->close();
  const auto may_take = [&](const OriginConnection* one) { return one->may_take(exchange); };
  auto idle = idle_.rend();
  // HEAD makes a connection doubtful, and so does sharing it: those that are so already come first,
  // and the others are left for whoever needs one.
  const bool makes_doubtful = exchange.request_.answers_head || exchange.request_.pipelined;
  if (makes_doubtful && exchange.request_.verified) {
    idle = std::find_if(idle_.rbegin(), idle_.rend(), [&](const OriginConnection* one) {
      return one->is_doubtful() && may_take(one);
    });
  }
  if (idle == idle_.rend()) idle = std::find_if(idle_.rbegin(), idle_.rend(), may_take);
  if (!exchange.request_.fresh_connection && idle != idle_.rend()) {
    OriginConnection& connection = **idle;
    idle_.erase(std::next(idle).base());
    return connection.send(exchange);
  }
  // A fresh connection may take the place of an idle one; and does so beyond a few, or writes would
  // fill the pool with connections that nobody needs.
  if (open_ >= settings_.connections_max && !idle_.empty()) idle_.front()->displace();
  if (idle_.size() >= kIdleBesideFresh) idle_.front()->close();
  if (open_ < settings_.connections_max) {
    ++open_;
    connections_.push_back(std::make_unique<OriginConnection>(*this));
    return connections_.back()->open(exchange);
  }
  // What could be shared a moment ago has become too slow for it.
  waiting_.push_front(&exchange);
}

void OriginPool::stop() {
  for (const auto& connection : connections_)
    connection->stop();
  while (!waiting_.empty())
    waiting_.front()->cancel();
  ticks_.cancel();
}

void OriginPool::end(OriginExchange& exchange, ExchangeEnd end, Response& response) {
  if (end == ExchangeEnd::stale && exchange.request_.repeat_when_stale) {
    exchange.request_.repeat_when_stale = false;
    exchange.request_.fresh_connection = true;
    return submit(exchange);
  }
  if (end == ExchangeEnd::answered) set_up(true);
  if (end == ExchangeEnd::not_sent || is_tls_failure(end)) {
    down_by_ = end;
    set_up(false);
  }
  exchange.pool_ = nullptr;
  exchange.disarm();
  exchange.handler_->on_exchange_end(exchange, end, response);
}

void OriginPool::set_up(bool up) {
  if (std::exchange(up_, up) != up && on_state_) on_state_(up);
}

void OriginPool::put_back(OriginExchange& exchange, bool untouched) {
  exchange.connection_ = nullptr;
  // An origin that closes again and again does not keep it from a connection of its own.
  if (std::exchange(exchange.was_put_back_, true)) exchange.request_.pipelined = false;
  if (!untouched) {
    exchange.request_.repeat_when_stale = false;
    exchange.request_.fresh_connection = true;
    exchange.request_.pipelined = false;
  }
  waiting_.push_front(&exchange);
}

void OriginPool::flush_later(OriginConnection& connection) {
  if (to_flush_.empty()) asio::post(loop_, [this] { flush(); });
  to_flush_.push_back(&connection);
}

void OriginPool::flush() {
  // What is written may end exchanges, whose handlers may start others: those get a flush of
  // their own.
  for (OriginConnection* connection : std::exchange(to_flush_, {}))
    connection->flush();
}

void OriginPool::watch(TimePoint now) {
  if (std::exchange(is_ticking_, true)) return;
  pace_->begin_ticks(now);
  ticks_.expires_at(now + OriginPace::kTick);
  ticks_.async_wait([this](const boost::system::error_code& error) {
    if (!error) on_tick();
  });
}

void OriginPool::on_tick() {
  const TimePoint now = std::chrono::steady_clock::now();
  if (pace_->on_tick(now)) {
    // What they lead to may add connections, and destroys none before this turn is over.
    for (std::size_t i = 0; i < connections_.size(); ++i)
      connections_[i]->look_at_waiting(now);
  }
  is_ticking_ = false;
  const bool goes_on = std::any_of(connections_.begin(), connections_.end(),
                                   [](const auto& one) { return one->is_watched(); });
  goes_on ? watch(now) : pace_->end_ticks();
}

void OriginPool::on_connection_idle(OriginConnection& connection) {
  idle_.push_back(&connection);
  serve_queue();
}

void OriginPool::on_connection_closed(OriginConnection& connection) {
  --open_;
  std::erase(idle_, &connection);
  // Not at once: the caller is in the middle of its own work.
  if (!waiting_.empty()) asio::post(loop_, [this] { serve_queue(); });
}

void OriginPool::on_connection_finished(OriginConnection& connection) {
  const auto found = std::find_if(connections_.begin(), connections_.end(),
                                  [&](const auto& owned) { return owned.get() == &connection; });
  ASSERT(found != connections_.end());
  std::swap(*found, connections_.back());
  connections_.pop_back();
}

void OriginPool::serve_queue() {
  while (!waiting_.empty() && has_room_for(*waiting_.front())) {
    OriginExchange& exchange = *waiting_.front();
    waiting_.pop_front();
    place(exchange);
  }
}

void OriginExchange::cancel() {
  if (pool_ == nullptr) return;
  OriginPool& pool = *std::exchange(pool_, nullptr);
  disarm();
  if (connection_ != nullptr) {
    std::exchange(connection_, nullptr)->leave(*this);
  } else {
    std::erase(pool.waiting_, this);
  }
}

void OriginExchange::extend() {
  pool_->give_time(*this);
}

void OriginExchange::pause() {
  disarm();
  connection_->pause();
}

void OriginExchange::resume() {
  extend();
  connection_->resume();
}

void OriginExchange::on_timeout() {
  OriginPool& pool = *pool_;
  const ExchangeEnd end = end_without_time();
  cancel();
  handler_->on_exchange_end(*this, end, pool.no_response_);
}

ExchangeEnd OriginExchange::end_without_time() const {
  if (connection_ == nullptr) return ExchangeEnd::overloaded;  // in the queue
  if (!connection_->has_sent(*this)) return ExchangeEnd::not_sent;
  return request_.streamed ? ExchangeEnd::quiet : ExchangeEnd::timed_out;
}

}  // namespace prophecy::http
