// Runs the snapshots and restores of a ServiceState on a thread of its own, one at a time, and
// answers on the event loop.
//
// Single-threaded for its owner. The io_context must not run any more once it is destroyed.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "pbft/services/service.hpp"
#include "pbft/services/state/service_state.hpp"

namespace prophecy::pbft {

class StateKeeper {
 public:
  StateKeeper(boost::asio::io_context& loop, std::unique_ptr<ServiceState> state);
  ~StateKeeper();

  // Starts the thread, and opens the state. Where that is not done, the first snapshot or restore
  // does the former.
  [[nodiscard]] Result<> open();
  // Require that no other is on its way.
  void snapshot(PartStore& parts, Service::SnapshotDone done);
  void restore(const PartStore& parts, const Digest& root, Service::RestoreDone done);
  // Requires that none is on its way.
  [[nodiscard]] std::uint64_t fill_percent() const { return state_->fill_percent(); }
  // Ends what runs; waits for the thread. Nothing is answered any more.
  void stop();

 private:
  using WorkGuard = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;

  [[nodiscard]] Result<> start();
  void run(std::function<void()> job);
  template <class Done>
  void refuse(const Done& done, const Error& error);
  void work();
  void answer(std::function<void()> answer);

  boost::asio::io_context& loop_;
  std::unique_ptr<ServiceState> state_;
  std::shared_ptr<PartPipe> pipe_;
  std::optional<WorkGuard> guard_;  // while a job is on its way
  std::mutex mutex_;                // of what follows
  std::condition_variable changed_;
  std::function<void()> job_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace prophecy::pbft
