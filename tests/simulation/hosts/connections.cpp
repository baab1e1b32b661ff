#include "simulation/hosts/connections.hpp"

#include <algorithm>
#include <utility>

namespace prophecy::simulation {

Connections::Connections(Scheduler& scheduler, Deliver deliver, Drop drop)
    : scheduler_(scheduler), deliver_(std::move(deliver)), drop_(std::move(drop)) {}

void Connections::send(NodeId from, NodeId to, const pbft::Frame& frame, const Limits& limits,
                       Duration delay) {
  Connection& connection = connections_[{from, to}];
  connection.queue.push_back({frame, limits.bytes_per_ms, delay});
  connection.bytes_queued += frame->size();
  const auto longest_us = std::chrono::duration_cast<microseconds>(limits.longest_queue).count();
  const std::uint64_t room = limits.bytes_per_ms * static_cast<std::uint64_t>(longest_us) / 1000;
  while (connection.bytes_queued > room && connection.queue.size() > 1) {
    drop_(from, to, connection.queue.front().frame);
    connection.bytes_queued -= connection.queue.front().frame->size();
    connection.queue.pop_front();
  }
  if (!connection.is_sending) send_next({from, to});
}

void Connections::send_next(Ends ends) {
  Connection& connection = connections_[ends];
  connection.is_sending = !connection.queue.empty();
  if (!connection.is_sending) return;
  const Waiting next = std::move(connection.queue.front());
  connection.queue.pop_front();
  connection.bytes_queued -= next.frame->size();
  const Duration takes = microseconds(next.frame->size() * 1000 / next.bytes_per_ms);
  connection.last_arrival =
      std::max(connection.last_arrival, scheduler_.now() + takes + next.delay);
  const std::uint64_t breaks = connection.breaks;
  const auto unless_broken = [this, ends, breaks](auto event) {
    return [this, ends, breaks, event] {
      if (connections_[ends].breaks == breaks) event();
    };
  };
  scheduler_.at(connection.last_arrival,
                unless_broken([this, ends, frame = next.frame] { deliver_(ends.second, frame); }));
  scheduler_.after(takes, unless_broken([this, ends] { send_next(ends); }));
}

void Connections::break_off(NodeId from, NodeId to) {
  Connection& connection = connections_[{from, to}];
  const std::uint64_t breaks = connection.breaks + 1;
  connection = {};
  connection.breaks = breaks;
}

void Connections::break_off_all(NodeId node) {
  for (const auto& [ends, connection] : connections_) {
    if (ends.first == node || ends.second == node) break_off(ends.first, ends.second);
  }
}

}  // namespace prophecy::simulation
