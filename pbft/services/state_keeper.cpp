#include "pbft/services/state_keeper.hpp"

#include <utility>

#include <boost/asio/post.hpp>

#include "base/assert.hpp"
#include "base/io/thread.hpp"

namespace prophecy::pbft {

StateKeeper::StateKeeper(boost::asio::io_context& loop, std::unique_ptr<ServiceState> state)
    : loop_(loop), state_(std::move(state)), pipe_(std::make_shared<PartPipe>(loop)) {}

StateKeeper::~StateKeeper() {
  stop();
}

Result<> StateKeeper::open() {
  if (auto started = start(); !started) return started;
  return state_->open();
}

Result<> StateKeeper::start() {
  if (thread_.joinable()) return {};
  return start_thread(thread_, [this] { work(); });
}

void StateKeeper::snapshot(PartStore& parts, Service::SnapshotDone done) {
  if (auto started = start(); !started) return refuse(done, started.error());
  pipe_->open(parts, &parts);
  run([this, done = std::move(done)] {
    auto root = state_->snapshot(*pipe_);
    answer([this, done, root = std::move(root)] {
      // Its parts would stay until the next start, and each attempt would leave others.
      if (!root) pipe_->release();
      done(root);
    });
  });
}

void StateKeeper::restore(const PartStore& parts, const Digest& root, Service::RestoreDone done) {
  if (auto started = start(); !started) return refuse(done, started.error());
  pipe_->open(parts, nullptr);
  run([this, root, done = std::move(done)] {
    auto restored = state_->restore(*pipe_, root);
    answer([done, restored = std::move(restored)] { done(restored); });
  });
}

void StateKeeper::run(std::function<void()> job) {
  ASSERT(!guard_);
  guard_.emplace(loop_.get_executor());
  const std::lock_guard lock(mutex_);
  job_ = std::move(job);
  changed_.notify_all();
}

template <class Done>
void StateKeeper::refuse(const Done& done, const Error& error) {
  ASSERT(!guard_);
  guard_.emplace(loop_.get_executor());
  answer([done, error] { done(error); });
}

void StateKeeper::work() {
  for (;;) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || job_; });
      if (stopping_) return;
      job = std::exchange(job_, {});
    }
    job();
  }
}

void StateKeeper::answer(std::function<void()> answer) {
  boost::asio::post(loop_, [this, pipe = pipe_, answer = std::move(answer)] {
    if (pipe->closed()) return;  // stopped, and perhaps gone
    guard_.reset();
    answer();
  });
}

void StateKeeper::stop() {
  pipe_->close();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  guard_.reset();
}

}  // namespace prophecy::pbft
