#include "replica_client/origin_pool.hpp"

#include <algorithm>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>

#include "base/assert.hpp"
#include "replica_client/origin_connection.hpp"

namespace prophecy::replica_client {

namespace asio = boost::asio;

OriginPool::OriginPool(asio::io_context& loop, OriginSettings settings, OriginTimeouts& timeouts)
    : loop_(loop),
      settings_(std::move(settings)),
      timeouts_(timeouts),
      address_(asio::ip::make_address(settings_.address.address), settings_.address.port) {}

OriginPool::~OriginPool() = default;

void OriginPool::start(FastCall& call, std::string_view wire, bool is_head) {
  ASSERT(call.pool_ == nullptr);
  call.wire_ = wire;
  call.is_head_ = is_head;
  call.retried_ = false;
  call.pool_ = this;
  timeouts_.answer.arm(call, std::chrono::steady_clock::now());
  place(call, false);
}

void OriginPool::place(FastCall& call, bool fresh_only) {
  if (!fresh_only && !idle_.empty()) {
    OriginConnection& connection = *idle_.back();
    idle_.pop_back();
    return connection.send(call);
  }
  if (open_ < settings_.connections_max) {
    ++open_;
    connections_.push_back(std::make_unique<OriginConnection>(*this, loop_));
    return connections_.back()->open(call);
  }
  if (waiting_.size() < settings_.queue_max) return waiting_.push_back(&call);
  fail(call, FastFailure::overloaded);
}

void OriginPool::dequeue(FastCall& call) {
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &call));
}

void OriginPool::fail(FastCall& call, FastFailure failure) {
  call.pool_ = nullptr;
  call.disarm();
  call.handler_->on_fast_failure(failure);
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
  while (!waiting_.empty() && (!idle_.empty() || open_ < settings_.connections_max)) {
    FastCall& call = *waiting_.front();
    waiting_.pop_front();
    place(call, false);
  }
}

void FastCall::cancel() {
  if (pool_ == nullptr) return;
  OriginPool& pool = *std::exchange(pool_, nullptr);
  disarm();
  if (connection_ != nullptr) {
    std::exchange(connection_, nullptr)->abandon();
  } else {
    pool.dequeue(*this);
  }
}

void FastCall::on_timeout() {
  cancel();
  handler_->on_fast_failure(FastFailure::timed_out);
}

}  // namespace prophecy::replica_client
