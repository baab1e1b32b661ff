// Kept-alive connections to the agent's own origin: a bounded number, the most recently used
// first, and a queue for the exchanges beyond it. (The queue is bounded by what the Executor
// lets run.)
//
// Single-threaded. Its io_context must not run any more once the pool is destroyed.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "pbft/services/origin_connection.hpp"

namespace prophecy::pbft {

class OriginPool final : private OriginConnection::Owner {
 public:
  OriginPool(boost::asio::io_context& io, const OriginSettings& settings, OriginHandler& handler);

  // The handler is told exactly once, never from within this call.
  void start(OriginExchange& exchange);
  // Closes everything; the handler hears nothing more.
  void stop();

  // Called when the origin stops taking connections (false), and when it answers again (true).
  void on_state(std::function<void(bool up)> callback) { on_state_ = std::move(callback); }
  [[nodiscard]] bool up() const { return up_; }
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  void dispatch();
  void schedule_dispatch();
  [[nodiscard]] std::shared_ptr<OriginConnection> connection_for(const OriginExchange& exchange);
  void on_connection_end(OriginConnection& connection, OriginExchange& exchange,
                         ExchangeEnd end) override;
  void on_idle_closed(OriginConnection& connection) override;
  void forget(OriginConnection& connection);
  void set_up(bool up);
  void arm_sweep();
  void sweep();

  boost::asio::io_context& io_;
  OriginSettings settings_;
  OriginHandler& handler_;
  std::function<void(bool)> on_state_;
  std::vector<std::shared_ptr<OriginConnection>> connections_;
  std::vector<OriginConnection*> idle_;  // the most recently used last
  std::deque<OriginExchange*> waiting_;
  boost::asio::steady_timer sweep_timer_;
  bool sweep_armed_ = false;
  bool dispatch_scheduled_ = false;
  bool stopped_ = false;
  bool up_ = true;
};

}  // namespace prophecy::pbft
