#include "pbft/services/executor.hpp"

#include <iterator>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {

Executor::Executor(Service& service, const ExecutorSettings& settings,
                   std::function<void()> on_finished)
    : service_(service), settings_(settings), on_finished_(std::move(on_finished)) {}

void Executor::submit(Execution execution) {
  const bool outermost = !std::exchange(inside_, true);
  if (execution.read_only) {
    submit_unordered(execution);
  } else {
    ++counters_.ordered;
    waiting_.push_back(std::move(execution));
    if (outermost) begin_ready();
  }
  if (outermost) inside_ = false;
}

void Executor::submit_unordered(const Execution& execution) {
  ++counters_.unordered;
  if (!service_.is_read(execution.operation)) {
    ++counters_.refused_unordered_write;
  } else if (unordered_running_ >= settings_.unordered_reads_max) {
    ++counters_.refused_overload;
  } else {
    begin(execution, Kind::unordered_read);
    return;
  }
  finished_.push_back({execution.id, ExecutionStatus::unavailable, {}});
}

void Executor::begin_ready() {
  while (!waiting_.empty() && !write_running_) {
    const bool is_read = service_.is_read(waiting_.front().operation);
    if (is_read ? reads_running_ >= settings_.reads_in_flight_max : reads_running_ > 0) return;
    const Execution execution = std::move(waiting_.front());
    waiting_.pop_front();
    begin(execution, is_read ? Kind::ordered_read : Kind::ordered_write);
  }
}

void Executor::begin(const Execution& execution, Kind kind) {
  switch (kind) {
    case Kind::ordered_read:
      ++reads_running_;
      break;
    case Kind::ordered_write:
      write_running_ = true;
      break;
    case Kind::unordered_read:
      ++unordered_running_;
      break;
  }
  const std::uint64_t id = execution.id;
  // One capture per kind: an id and a pointer fit into a std::function without an allocation.
  const auto done = [&]() -> Service::Done {
    switch (kind) {
      case Kind::ordered_read:
        return [this, id](ExecutionStatus status, Bytes result) {
          finish(id, Kind::ordered_read, status, std::move(result));
        };
      case Kind::ordered_write:
        return [this, id](ExecutionStatus status, Bytes result) {
          finish(id, Kind::ordered_write, status, std::move(result));
        };
      case Kind::unordered_read:
        return [this, id](ExecutionStatus status, Bytes result) {
          finish(id, Kind::unordered_read, status, std::move(result));
        };
    }
    UNREACHABLE();
  };
  service_.execute(execution, done());
}

void Executor::finish(std::uint64_t id, Kind kind, ExecutionStatus status, Bytes result) {
  switch (kind) {
    case Kind::ordered_read:
      ASSERT(reads_running_ > 0);
      --reads_running_;
      break;
    case Kind::ordered_write:
      ASSERT(write_running_);
      write_running_ = false;
      break;
    case Kind::unordered_read:
      ASSERT(unordered_running_ > 0);
      --unordered_running_;
      break;
  }
  finished_.push_back({id, status, std::move(result)});
  if (inside_) return;
  inside_ = true;
  begin_ready();
  inside_ = false;
  on_finished_();
}

void Executor::take(std::vector<Finished>& out) {
  out.insert(out.end(), std::make_move_iterator(finished_.begin()),
             std::make_move_iterator(finished_.end()));
  finished_.clear();
}

}  // namespace prophecy::pbft
