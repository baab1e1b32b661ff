// `Process` runs turns one after the other, like a process with one event loop. It may be stopped
// between two turns, and in the midst of one between two steps: there, what other processes do in
// shared memory falls in between. It may be killed at any time.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "simulation/hosts/scheduler.hpp"
#include "simulation/random.hpp"

namespace prophecy::ring {

using simulation::Random;
using simulation::Scheduler;

class Process {
 public:
  using Work = std::function<void()>;

  Process(Scheduler& scheduler, Random& random) : scheduler_(scheduler), random_(random) {}
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // How likely it is to be stopped between two steps, in a hundred, and for how long at most.
  void set_stumbles(std::uint64_t percent, Duration most, Work on_stumble) {
    stumble_percent_ = percent;
    stumble_most_ = most;
    on_stumble_ = std::move(on_stumble);
  }

  void post(Work turn) {
    inbox_.push_back(std::move(turn));
    pump();
  }
  void post_after(Duration delay, Work turn) {
    scheduler_.after(delay, guard([this, turn = std::move(turn)] { post(turn); }));
  }
  // The rest of the turn that is running.
  void run_steps(std::vector<Work> steps) {
    steps_.insert(steps_.end(), std::make_move_iterator(steps.begin()),
                  std::make_move_iterator(steps.end()));
  }
  // As a step: those that are left are not taken.
  void skip_steps() { steps_.clear(); }

  void stop_until(TimePoint time) { stopped_until_ = std::max(stopped_until_, time); }
  // Whatever has stopped it is over, and it stumbles no more.
  void resume() {
    stopped_until_ = scheduler_.now();
    is_hurried_ = true;
    ++wake_;
    is_planned_ = false;
    if (is_in_turn_) return plan([this] { go_on(); });
    pump();
  }
  // Once it has passed a turn since now: at once, unless it is in the midst of one.
  void after_turn(Work then) {
    if (!is_in_turn_) return then();
    after_turn_.push_back(std::move(then));
  }

 private:
  // What is planned ends with the process.
  Work guard(Work work) {
    return [alive = std::weak_ptr<bool>(alive_), work = std::move(work)] {
      if (!alive.expired()) work();
    };
  }
  // At the end of what it is stopped by; what was planned before is not done.
  void plan(Work work) {
    scheduler_.at(stopped_until_, guard([this, wake = ++wake_, work = std::move(work)] {
                    if (wake == wake_) work();
                  }));
  }
  void pump() {
    if (is_in_turn_ || is_planned_ || inbox_.empty()) return;
    is_planned_ = true;
    plan([this] { begin_turn(); });
  }
  void begin_turn() {
    is_planned_ = false;
    if (scheduler_.now() < stopped_until_) return pump();
    is_in_turn_ = true;
    Work turn = std::move(inbox_.front());
    inbox_.pop_front();
    turn();
    next_step();
  }
  void next_step() {
    if (steps_.empty()) return end_turn();
    if (!is_hurried_ && random_.chance(stumble_percent_)) {
      const auto pause = static_cast<std::uint64_t>(stumble_most_.count());
      stop_until(scheduler_.now() + Duration(random_.below(pause)));
      on_stumble_();
    }
    go_on();
  }
  void go_on() {
    if (scheduler_.now() >= stopped_until_) return take_step();
    plan([this] { go_on(); });
  }
  void take_step() {
    Work step = std::move(steps_.front());
    steps_.pop_front();
    step();
    next_step();
  }
  void end_turn() {
    is_in_turn_ = false;
    for (const Work& then : std::exchange(after_turn_, {}))
      then();
    pump();
  }

  Scheduler& scheduler_;
  Random& random_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::deque<Work> inbox_;
  std::deque<Work> steps_;
  std::vector<Work> after_turn_;
  TimePoint stopped_until_{};
  bool is_in_turn_ = false;
  bool is_planned_ = false;
  bool is_hurried_ = false;
  std::uint64_t wake_ = 0;
  std::uint64_t stumble_percent_ = 0;
  Duration stumble_most_{1};
  Work on_stumble_;
};

}  // namespace prophecy::ring
