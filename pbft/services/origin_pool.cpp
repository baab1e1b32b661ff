#include "pbft/services/origin_pool.hpp"

#include <algorithm>

#include <boost/asio/post.hpp>

#include "base/assert.hpp"

namespace prophecy::pbft {

OriginPool::OriginPool(boost::asio::io_context& io, const OriginSettings& settings,
                       OriginHandler& handler)
    : io_(io), settings_(settings), handler_(handler), sweep_timer_(io) {}

void OriginPool::start(OriginExchange& exchange) {
  ASSERT(!stopped_);
  exchange.started = std::chrono::steady_clock::now();
  waiting_.push_back(&exchange);
  schedule_dispatch();
}

void OriginPool::stop() {
  stopped_ = true;
  sweep_timer_.cancel();
  waiting_.clear();
  idle_.clear();
  for (const auto& connection : connections_) connection->abandon();
  connections_.clear();
}

// Deferred, so that a failure at once does not call the handler from within start().
void OriginPool::schedule_dispatch() {
  if (dispatch_scheduled_) return;
  dispatch_scheduled_ = true;
  boost::asio::post(io_, [this] {
    dispatch_scheduled_ = false;
    if (!stopped_) dispatch();
  });
}

void OriginPool::dispatch() {
  arm_sweep();
  // Only what waits now: an exchange that fails at once and is started again has to wait for the
  // next turn, or it would be tried for ever in this one.
  for (std::size_t left = waiting_.size(); left > 0 && !waiting_.empty(); --left) {
    const auto connection = connection_for(*waiting_.front());
    if (!connection) return;
    OriginExchange& exchange = *waiting_.front();
    waiting_.pop_front();
    connection->begin(exchange, std::chrono::steady_clock::now());
  }
}

std::shared_ptr<OriginConnection> OriginPool::connection_for(const OriginExchange& exchange) {
  if (!exchange.fresh_connection && !idle_.empty()) {
    OriginConnection* connection = idle_.back();
    idle_.pop_back();
    return connection->shared_from_this();
  }
  if (connections_.size() >= settings_.connections_max) {
    if (idle_.empty()) return nullptr;
    OriginConnection* oldest = idle_.front();  // makes room for the fresh one
    oldest->abandon();
    forget(*oldest);
  }
  connections_.push_back(std::make_shared<OriginConnection>(
      io_, settings_, static_cast<OriginConnection::Owner&>(*this)));
  return connections_.back();
}

void OriginPool::on_connection_end(OriginConnection& connection, OriginExchange& exchange,
                                   ExchangeEnd end) {
  const auto kept = connection.shared_from_this();
  if (end == ExchangeEnd::answered) set_up(true);
  if (end == ExchangeEnd::not_sent) set_up(false);
  if (connection.is_idle()) {
    idle_.push_back(&connection);
  } else {
    forget(connection);
  }
  handler_.on_exchange_end(exchange, end, connection.response());
  if (!stopped_ && !waiting_.empty()) schedule_dispatch();
}

void OriginPool::on_idle_closed(OriginConnection& connection) { forget(connection); }

void OriginPool::forget(OriginConnection& connection) {
  std::erase(idle_, &connection);
  std::erase_if(connections_, [&](const auto& entry) { return entry.get() == &connection; });
}

void OriginPool::set_up(bool up) {
  if (std::exchange(up_, up) != up && on_state_) on_state_(up);
}

void OriginPool::arm_sweep() {
  if (sweep_armed_) return;
  sweep_armed_ = true;
  const Duration shortest = std::min(
      {settings_.connect_timeout, settings_.answer_timeout, settings_.idle_timeout});
  sweep_timer_.expires_after(std::clamp<Duration>(shortest / 8, milliseconds(5), milliseconds(250)));
  sweep_timer_.async_wait([this](const boost::system::error_code& error) {
    sweep_armed_ = false;
    if (!error && !stopped_) sweep();
  });
}

void OriginPool::sweep() {
  const TimePoint now = std::chrono::steady_clock::now();
  const auto connections = connections_;  // ends of exchanges change the list
  for (const auto& connection : connections) {
    connection->check_deadline(now);
    if (connection->is_idle() && now - connection->idle_since() >= settings_.idle_timeout) {
      connection->abandon();
      forget(*connection);
    }
  }
  // Those that waited in vain behind a slow origin.
  while (!waiting_.empty() && now - waiting_.front()->started >= settings_.answer_timeout) {
    OriginExchange& exchange = *waiting_.front();
    waiting_.pop_front();
    handler_.on_exchange_end(exchange, ExchangeEnd::not_sent, {});
  }
  if (!connections_.empty() || !waiting_.empty()) arm_sweep();
}

}  // namespace prophecy::pbft
