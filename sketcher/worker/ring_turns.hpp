// `RingTurns` is a worker's answer to the ring's process (shared/worker_turns.hpp): it passes a
// turn when it is woken up, and has the groups order the requests that are barriers.
//
// With several groups, each orders one, so that none carries out what a former owner asks for late.
// A barrier then waits for kGroupWait at most: a group that is down must not take the sites of the
// others with it. Its own request stays under way, and whatever else it orders for this member
// names the same view.
//
// Single-threaded, on the worker's loop. Its loop must not run any more once it is destroyed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "dht/core/permissions.hpp"
#include "replica_client/group.hpp"
#include "sketcher/core/read/sigma_order.hpp"
#include "sketcher/shared/worker_turns.hpp"

namespace prophecy::sketcher {

class RingTurns {
 public:
  // The ring's process asks another worker after two seconds.
  static constexpr Duration kGroupWait = seconds(1);

  // A group that has an order. It outlives this.
  struct OrderedGroup {
    std::string name;
    replica_client::ReplicaGroup* group = nullptr;
    SigmaOrder* order = nullptr;
  };
  // `is_only`: there is no other group, of whatever kind; its number is that of the barrier.
  // Otherwise that is 1 if each of them has ordered its request, and 0 if one may not have. `wake`
  // is the worker's event descriptor. `on_words` is called when partitions may have become ours.
  RingTurns(boost::asio::io_context& loop, const WorkerTurns& turns,
            const dht::Permissions& permissions, std::uint32_t worker, UniqueFd wake,
            std::vector<OrderedGroup> groups, bool is_only, std::function<void()> on_words,
            Logger& log);

  // Once the groups have started.
  void start();

 private:
  // A group's part in barriers.
  struct Call final : replica_client::ReplicatedHandler {
    Call(RingTurns& turns, OrderedGroup asked) : owner(turns), group(std::move(asked)) {}
    void on_replicated_answer(replica_client::ReplicatedAnswer answer) override;
    void on_replicated_failure(replica_client::ReplicatedFailure failure) override;

    RingTurns& owner;
    OrderedGroup group;
    std::uint64_t id = 0;  // 0: none is under way
    SigmaOrder::Submitted submitted;
    std::uint64_t logged_view = 0;  // whose refusal was logged
  };

  void wait();
  void on_wake();
  void ask_groups(std::uint64_t ticket);
  void ask(Call& call);
  // The barrier has to be asked for again.
  void fail();
  void pass_group(bool has_ordered);
  void end_barrier(std::optional<Sigma> number);
  void log_refusal(const Call& call, replica_client::ReplicatedFailure failure);

  WorkerTurns turns_;
  dht::Permissions permissions_;
  const std::uint32_t worker_;
  boost::asio::posix::stream_descriptor wake_;
  const bool is_only_;
  std::function<void()> on_words_;
  Logger& log_;
  std::deque<Call> calls_;
  boost::asio::steady_timer timer_;
  std::uint64_t ticket_ = 0;  // of the barrier that was asked for last
  std::uint64_t view_ = 0;    // of its requests
  std::size_t awaited_ = 0;   // groups; 0: it has ended
  Sigma number_ = 0;
  bool have_all_ordered_ = false;  // of those that have been passed
};

}  // namespace prophecy::sketcher
