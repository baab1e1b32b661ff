// `RingTurns` is a worker's answer to the ring's process (shared/worker_turns.hpp): it passes a
// turn when it is woken up, and has the group order the requests that are barriers.
//
// Single-threaded, on the worker's loop. Its loop must not run any more once it is destroyed.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "dht/core/permissions.hpp"
#include "replica_client/group.hpp"
#include "sketcher/core/read/sigma_order.hpp"
#include "sketcher/shared/worker_turns.hpp"

namespace prophecy::sketcher {

class RingTurns final : private replica_client::ReplicatedHandler {
 public:
  // The group, whose order that is, outlives it. `wake` is the worker's event descriptor.
  RingTurns(boost::asio::io_context& loop, const WorkerTurns& turns,
            const dht::Permissions& permissions, std::uint32_t worker, UniqueFd wake,
            replica_client::ReplicaGroup& group, SigmaOrder& order, Logger& log);

  // Once the group has started.
  void start();

 private:
  void wait();
  void on_wake();
  void ask_group(std::uint64_t ticket);
  void on_replicated_answer(replica_client::ReplicatedAnswer answer) override;
  void on_replicated_failure(replica_client::ReplicatedFailure failure) override;

  WorkerTurns turns_;
  dht::Permissions permissions_;
  const std::uint32_t worker_;
  boost::asio::posix::stream_descriptor wake_;
  replica_client::ReplicaGroup& group_;
  SigmaOrder& order_;
  Logger& log_;
  std::uint64_t ticket_ = 0;        // of the barrier that was asked for last
  std::uint64_t call_ = 0;          // 0: none is under way
  std::uint64_t view_ = 0;          // of that call
  std::uint64_t refused_view_ = 0;  // that was logged
  SigmaOrder::Submitted submitted_;
};

}  // namespace prophecy::sketcher
