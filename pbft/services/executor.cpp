#include "pbft/services/executor.hpp"

#include <iterator>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {

namespace {

// Of the results of reads that wait for the end of a write.
constexpr std::size_t kHeldBytesMax = std::size_t{16} << 20;

template <class T>
void move_behind(std::vector<T>& from, std::vector<T>& out) {
  out.insert(out.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

}  // namespace

Executor::Executor(Service& service, const ExecutorSettings& settings,
                   std::function<void()> on_finished)
    : service_(service), settings_(settings), on_finished_(std::move(on_finished)) {}

void Executor::submit(Execution execution) {
  if (!execution.read_only) {
    ++counters_.ordered;
    return enqueue(std::move(execution));
  }
  const bool outermost = !std::exchange(inside_, true);
  submit_unordered(execution);
  if (outermost) inside_ = false;
}

void Executor::submit_snapshot(std::uint64_t id, PartStore& parts) {
  if (!is_uncertain_) return enqueue(Snapshot{id, &parts});
  const bool outermost = !std::exchange(inside_, true);
  begin(Snapshot{id, &parts});
  if (outermost) inside_ = false;
}

void Executor::submit_look(std::uint64_t id, PartStore& parts) {
  ASSERT(exclusive_ == Exclusive::none && waiting_.empty());
  const bool outermost = !std::exchange(inside_, true);
  begin_snapshot({id, &parts});
  if (outermost) inside_ = false;
}

void Executor::adopt() {
  ASSERT(exclusive_ == Exclusive::none && waiting_.empty() && reads_running_ == 0);
  is_uncertain_ = false;
  state_ = State::held;
  service_.adopt();
}

void Executor::resume(bool goes_on) {
  is_uncertain_ = false;
  const bool outermost = !std::exchange(inside_, true);
  if (!goes_on) {
    give_up_waiting();
    state_ = State::lost;
  }
  if (outermost) {
    begin_ready();
    inside_ = false;
  }
}

void Executor::submit_restore(std::uint64_t id, const PartStore& parts, const Digest& root) {
  const bool outermost = !std::exchange(inside_, true);
  give_up_waiting();
  is_uncertain_ = false;
  state_ = State::to_be_replaced;
  waiting_.push_back(Restore{id, &parts, root});
  // A snapshot or a restore that runs is waited for; what it makes of the state is replaced.
  if (exclusive_ == Exclusive::write || reads_running_ + unordered_running_ > 0) {
    service_.give_up();
  }
  if (outermost) {
    begin_ready();
    inside_ = false;
  }
}

void Executor::enqueue(Waiting waiting) {
  const bool outermost = !std::exchange(inside_, true);
  waiting_.push_back(std::move(waiting));
  if (outermost) {
    begin_ready();
    inside_ = false;
  }
}

void Executor::give_up_waiting() {
  for (const Waiting& waiting : std::exchange(waiting_, {})) {
    if (const auto* execution = std::get_if<Execution>(&waiting)) {
      refuse_without_state(execution->id);
    } else if (const auto* snapshot = std::get_if<Snapshot>(&waiting)) {
      finished_states_.emplace_back(FinishedSnapshot{
          snapshot->id, Error{ErrorKind::unavailable, "the state is being replaced"}});
    } else {
      finished_states_.emplace_back(
          FinishedRestore{std::get<Restore>(waiting).id,
                          Error{ErrorKind::unavailable, "another restore has taken its place"}});
    }
  }
}

void Executor::submit_unordered(const Execution& execution) {
  ++counters_.unordered;
  if (!service_.is_read(execution.operation)) {
    ++counters_.refused_unordered_write;
  } else if (state_ != State::held) {
    ++counters_.refused_without_state;
  } else if (unordered_running_ + held_reads_.size() >= settings_.unordered_reads_max) {
    ++counters_.refused_overload;
  } else {
    begin(execution, Kind::unordered_read);
    return;
  }
  refuse(execution.id);
}

void Executor::refuse(std::uint64_t id) {
  finished_.push_back({id, ExecutionStatus::unavailable, {}});
}

void Executor::refuse_without_state(std::uint64_t id) {
  ++counters_.refused_without_state;
  refuse(id);
}

bool Executor::may_begin(const Waiting& waiting) const {
  if (exclusive_ != Exclusive::none || is_uncertain_) return false;
  if (const auto* execution = std::get_if<Execution>(&waiting)) {
    const bool is_read = service_.is_read(execution->operation);
    return is_read ? reads_running_ < settings_.reads_in_flight_max : reads_running_ == 0;
  }
  if (std::holds_alternative<Snapshot>(waiting)) return reads_running_ == 0;
  return reads_running_ + unordered_running_ == 0;
}

void Executor::begin_ready() {
  while (!waiting_.empty() && may_begin(waiting_.front())) {
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    if (const auto* execution = std::get_if<Execution>(&next)) {
      const bool is_read = service_.is_read(execution->operation);
      begin(*execution, is_read ? Kind::ordered_read : Kind::ordered_write);
    } else if (const auto* snapshot = std::get_if<Snapshot>(&next)) {
      begin(*snapshot);
    } else {
      begin(std::get<Restore>(next));
    }
  }
}

void Executor::begin(const Execution& execution, Kind kind) {
  if (state_ == State::lost) return refuse_without_state(execution.id);
  if (kind == Kind::ordered_write && !execution.refusal.empty()) {
    ++counters_.refused_by_epoch;
    finished_.push_back({execution.id, ExecutionStatus::done, execution.refusal});
    return;
  }
  switch (kind) {
    case Kind::ordered_read:
      ++reads_running_;
      break;
    case Kind::ordered_write:
      exclusive_ = Exclusive::write;
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

void Executor::begin(const Snapshot& snapshot) {
  if (state_ == State::lost) {
    finished_states_.emplace_back(FinishedSnapshot{
        snapshot.id, Error{ErrorKind::unavailable, "the state is lost: its restore has failed"}});
    return;
  }
  begin_snapshot(snapshot);
}

void Executor::begin_snapshot(const Snapshot& snapshot) {
  exclusive_ = Exclusive::snapshot;
  service_.snapshot(*snapshot.parts, [this, id = snapshot.id](Result<Digest> root) {
    finish_snapshot(id, std::move(root));
  });
}

void Executor::begin(const Restore& restore) {
  exclusive_ = Exclusive::restore;
  service_.restore(*restore.parts, restore.root, [this, id = restore.id](Result<> restored) {
    finish_restore(id, std::move(restored));
  });
}

void Executor::finish(std::uint64_t id, Kind kind, ExecutionStatus status, Bytes result) {
  switch (kind) {
    case Kind::ordered_read:
      ASSERT(reads_running_ > 0);
      --reads_running_;
      break;
    case Kind::ordered_write:
      end_exclusive(Exclusive::write);
      is_uncertain_ = status == ExecutionStatus::uncertain && state_ == State::held;
      break;
    case Kind::unordered_read:
      ASSERT(unordered_running_ > 0);
      --unordered_running_;
      if (exclusive_ == Exclusive::write && service_.may_undo()) {
        hold_read(id, status, std::move(result));
        return go_on();
      }
      break;
  }
  finished_.push_back({id, status, std::move(result)});
  if (kind == Kind::ordered_write) release_reads(status == ExecutionStatus::done);
  go_on();
}

void Executor::hold_read(std::uint64_t id, ExecutionStatus status, Bytes result) {
  if (held_bytes_ + result.size() > kHeldBytesMax) return refuse(id);
  held_bytes_ += result.size();
  held_reads_.push_back({id, status, std::move(result)});
}

// Behind the write, which tells the core whether anything can be relied on.
void Executor::release_reads(bool has_seen_rightly) {
  held_bytes_ = 0;
  if (has_seen_rightly) return move_behind(held_reads_, finished_);
  for (const Finished& read : std::exchange(held_reads_, {}))
    refuse(read.id);
}

void Executor::finish_snapshot(std::uint64_t id, Result<Digest> root) {
  end_exclusive(Exclusive::snapshot);
  finished_states_.emplace_back(FinishedSnapshot{id, std::move(root)});
  go_on();
}

void Executor::finish_restore(std::uint64_t id, Result<> restored) {
  end_exclusive(Exclusive::restore);
  const bool another_waits = !waiting_.empty() && std::holds_alternative<Restore>(waiting_.front());
  if (!another_waits) state_ = restored.has_value() ? State::held : State::lost;
  finished_states_.emplace_back(FinishedRestore{id, std::move(restored)});
  go_on();
}

void Executor::end_exclusive(Exclusive what) {
  ASSERT(exclusive_ == what);
  exclusive_ = Exclusive::none;
}

void Executor::go_on() {
  if (inside_) return;
  inside_ = true;
  begin_ready();
  inside_ = false;
  on_finished_();
}

void Executor::take(std::vector<Finished>& out) {
  move_behind(finished_, out);
}

void Executor::take_states(std::vector<FinishedState>& out) {
  move_behind(finished_states_, out);
}

}  // namespace prophecy::pbft
