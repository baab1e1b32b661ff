// One client of a run, and its users: they submit calls, some lose patience.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "pbft/client/client.hpp"
#include "simulation/checker.hpp"
#include "simulation/hosts/node_clock.hpp"
#include "simulation/hosts/scheduler.hpp"
#include "simulation/random.hpp"

namespace prophecy::simulation {

class ClientHost {
 public:
  using Send = std::function<void(NodeId from, const pbft::Outgoing& outgoing, Duration delay)>;

  ClientHost(const Scenario& scenario, const pbft::KeyRing& keys, Scheduler& scheduler,
             Checker& checker, Send send);

  void start();
  void on_frame(ByteView frame);
  // Its process ends and is started again, with those of a later group file.
  void take_keys(const pbft::KeyRing& keys);
  // Nothing more to submit, and every call is answered or cancelled.
  [[nodiscard]] bool finished() const { return submitted_ == planned_ && open_.empty(); }
  [[nodiscard]] std::size_t open_calls() const { return open_.size(); }
  [[nodiscard]] std::uint64_t agreed() const { return agreed_; }

 private:
  [[nodiscard]] TimePoint now() const { return clock_.shown_at(scheduler_.now()); }
  [[nodiscard]] std::unique_ptr<pbft::Client> new_process(Duration clock_is_off) const;
  void restart(Duration clock_is_off);
  void plan(const Ingredient& calls);
  void submit(Call call, Duration patience, Duration cancelled_after);
  void carry_out(pbft::ClientActions& actions);
  void arm();

  const Scenario& scenario_;
  NodeId self_;
  Scheduler& scheduler_;
  Checker& checker_;
  Send send_;
  NodeClock clock_;
  const pbft::KeyRing* keys_;
  std::unique_ptr<pbft::Client> client_;
  std::uint32_t process_ = 0;
  std::uint64_t agreed_ = 0;
  bool was_set_back_ = false;
  // Calls that may end without an answer, as the clock was set back.
  std::uint32_t may_fail_ = 0;
  std::map<pbft::CallId, Call> open_;
  std::uint32_t planned_ = 0;
  std::uint32_t submitted_ = 0;
  TimePoint armed_for_ = TimePoint::max();  // of the scheduler
};

}  // namespace prophecy::simulation
