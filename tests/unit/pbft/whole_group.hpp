// Four replicas and the network between them, in virtual time: each frame takes 50 us, however
// large. Their services, clients and disks are the test's, or answer at once.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "pbft/group.hpp"

namespace prophecy::pbft::test {

class WholeGroup {
 public:
  // Gets what is sent to clients.
  using Client = std::function<void(NodeId from, const Outgoing& outgoing)>;

  explicit WholeGroup(const ReplicaSettings& settings = {}) {
    for (NodeId node = 0; node < kReplicas; ++node)
      subjects_.push_back(std::make_unique<Subject>(node, settings));
    for (NodeId node = 0; node < kReplicas; ++node) {
      carry_out(node);
      at(now_, [this, node] { tick(node); });
    }
  }

  void on_client(Client client) { client_ = std::move(client); }
  // What is true of is lost on its way to that replica.
  void lose(std::function<bool(NodeId to, ByteView frame)> is_lost) {
    is_lost_ = std::move(is_lost);
  }
  // When a replica that is to do something now does it; later, where its machine is halted.
  void halt(std::function<TimePoint(NodeId node, TimePoint now)> runs_at) {
    runs_at_ = std::move(runs_at);
  }
  // As a node outside the group, or another replica, has sent it.
  void send(NodeId to, Frame frame) {
    if (is_lost_ && is_lost_(to, *opened(frame))) return;
    at(runs_at(to, now_ + kDelay), [this, to, frame = std::move(frame)] {
      subjects_[to]->now = now_;
      subjects_[to]->replica.on_frame(*frame, now_, subjects_[to]->actions);
      carry_out(to);
    });
  }
  void at(TimePoint time, std::function<void()> event) { events_.emplace(time, std::move(event)); }
  // True when it has come to `done` by then.
  bool run_until(
      TimePoint end, const std::function<bool()>& done = [] { return false; }) {
    while (!done() && !events_.empty() && events_.begin()->first <= end) {
      auto next = events_.extract(events_.begin());
      now_ = next.key();
      next.mapped()();
    }
    if (!done()) now_ = end;
    return done();
  }
  [[nodiscard]] TimePoint now() const { return now_; }
  [[nodiscard]] const Replica& replica(NodeId node) const { return subjects_[node]->replica; }
  [[nodiscard]] std::uint64_t executed(NodeId node) const { return executed_[node]; }
  [[nodiscard]] bool all_executed(std::uint64_t operations) const {
    return std::all_of(executed_.begin(), executed_.end(),
                       [&](std::uint64_t one) { return one >= operations; });
  }
  [[nodiscard]] std::uint64_t view_changes() const {
    std::uint64_t sum = 0;
    for (const auto& subject : subjects_)
      sum += subject->replica.counters().view_changes_started;
    return sum;
  }

 private:
  static constexpr Duration kDelay = microseconds(50);

  void carry_out(NodeId node) {
    Subject& subject = *subjects_[node];
    subject.now = now_;
    while (true) {
      subject.answer_unopened();
      const std::vector<Execution> executions = std::exchange(subject.actions.executions, {});
      for (Outgoing& outgoing : std::exchange(subject.actions.sends, {})) {
        if (is_client(outgoing.to)) {
          if (client_) client_(node, outgoing);
        } else {
          send(outgoing.to, outgoing.frame);
        }
      }
      if (executions.empty()) break;
      for (const Execution& execution : executions) {
        ++executed_[node];
        subject.replica.on_executed(execution.id, ExecutionStatus::done, to_bytes("done"), now_,
                                    subject.actions);
      }
    }
    const TimePoint next = subject.replica.next_timer();
    if (next == TimePoint::max() || next >= armed_[node]) return;
    armed_[node] = next;
    at(runs_at(node, std::max(next, now_)), [this, node] { tick(node); });
  }
  [[nodiscard]] TimePoint runs_at(NodeId node, TimePoint time) const {
    return runs_at_ ? runs_at_(node, time) : time;
  }
  void tick(NodeId node) {
    armed_[node] = TimePoint::max();
    subjects_[node]->replica.on_tick(now_, subjects_[node]->actions);
    carry_out(node);
  }

  TimePoint now_{};
  std::multimap<TimePoint, std::function<void()>> events_;
  std::vector<std::unique_ptr<Subject>> subjects_;
  std::array<TimePoint, kReplicas> armed_{TimePoint::max(), TimePoint::max(), TimePoint::max(),
                                          TimePoint::max()};
  std::array<std::uint64_t, kReplicas> executed_{};
  Client client_;
  std::function<bool(NodeId, ByteView)> is_lost_;
  std::function<TimePoint(NodeId, TimePoint)> runs_at_;
};

}  // namespace prophecy::pbft::test
