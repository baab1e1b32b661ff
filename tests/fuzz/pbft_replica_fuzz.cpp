// A replica under arbitrary frames. The input is a script (script.hpp): each step is a frame, time
// that passes, a result of the service, or a restart. Nothing may trip an assertion, what is kept
// has to stay bounded, and whatever it has written down it can read again.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "open_keys.hpp"
#include "pbft/core/replica.hpp"
#include "pbft/core/state/memory_part_store.hpp"
#include "script.hpp"

namespace {

using namespace prophecy;
using namespace prophecy::pbft;
using namespace prophecy::pbft::fuzz;

void require(bool condition) {
  if (!condition) std::abort();
}

ReplicaSettings settings() {
  ReplicaSettings settings;
  settings.batch_requests_max = 2;
  settings.checkpoint_interval = 4;
  settings.window = 16;
  settings.retained_batches = 8;
  return settings;
}

// Proposals lie on both sides of what it tolerates.
struct StoppedClock final : InputSource {
  std::uint64_t wall_time() override { return 0; }
  Seed fresh_seed() override { return {}; }
};

// A replica with a service of a constant state, and a disk that is there at once.
class Subject {
 public:
  Subject(NodeId self, ReplicaStart::Memory memory) : self_(self) { start(memory); }

  void restart() {
    executing_.clear();
    start(ReplicaStart::Memory::whole);
  }
  void step(Script& script) {
    const std::uint64_t step = script.below(12);
    if (step == 0) {
      now_ += milliseconds(script.byte() * std::int64_t{10});
      replica_->on_tick(now_, actions_);
    } else if (step == 1 && !executing_.empty()) {
      finish(script.byte());
    } else if (step == 2) {
      replica_->on_service_state(script.below(2) == 1, now_, actions_);
    } else if (step == 3 && script.below(8) == 0) {
      restart();
    } else {
      // As one read brings them.
      const std::uint64_t several = script.below(4);
      for (std::uint64_t i = 0; i <= several; ++i)
        replica_->take_frame(*script.frame(self_), now_, actions_);
      replica_->propose_waiting(now_, actions_);
    }
    carry_out();
    require(replica_->status().log_batches <= 128);
  }

 private:
  void start(ReplicaStart::Memory memory) {
    ReplicaStart begin;
    begin.memory = memory;
    begin.records.assign(disk_.begin(), disk_.end());
    begin.wall_clock = 1;
    replica_.reset();  // before what it pins is pinned by another
    parts_ = with_content_of(parts_);
    replica_ = std::make_unique<Replica>(settings(), open_ring(self_), *parts_, inputs_);
    require(replica_->start(begin, now_, actions_));
    carry_out();
  }
  static std::unique_ptr<MemoryPartStore> with_content_of(
      const std::unique_ptr<MemoryPartStore>& before) {
    auto parts = std::make_unique<MemoryPartStore>();
    if (before == nullptr) return parts;
    for (const auto& [digest, part] : before->all())
      require(parts->keep(digest, part));
    return parts;
  }
  void finish(std::uint8_t how) {
    const std::uint64_t id = executing_.back();
    executing_.pop_back();
    const auto status = how % 16 == 0  ? ExecutionStatus::lost
                        : how % 7 == 0 ? ExecutionStatus::unavailable
                                       : ExecutionStatus::done;
    replica_->on_executed(id, status, Bytes(how), now_, actions_);
  }
  void carry_out() {
    for (;;) {
      const ReplicaActions asked = std::exchange(actions_, {});
      for (const DurableWrite& write : asked.writes) {
        if (write.value == nullptr) {
          disk_.erase(write.key);
        } else {
          disk_[write.key] = *write.value;
        }
      }
      for (const Execution& execution : asked.executions)
        executing_.push_back(execution.id);
      if (!asked.snapshot && !asked.restore && !asked.flush_parts && asked.durable_parts.empty()) {
        return;
      }
      if (asked.snapshot) {
        const Bytes part = encode_part({}, as_bytes("state"));
        require(parts_->keep(sha256(part), part));
        replica_->on_snapshot(sha256(part), now_, actions_);
      }
      if (asked.restore) replica_->on_restored(true, now_, actions_);
      if (asked.flush_parts) replica_->on_parts_flushed(true, now_, actions_);
      for (const DurableParts& parts : asked.durable_parts)
        replica_->on_parts_durable(parts.id, true, now_, actions_);
    }
  }

  NodeId self_;
  StoppedClock inputs_;
  std::unique_ptr<MemoryPartStore> parts_;
  std::map<Bytes, Bytes> disk_;
  TimePoint now_{};
  ReplicaActions actions_;
  std::vector<std::uint64_t> executing_;
  std::unique_ptr<Replica> replica_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Script script(ByteView(data, size));
  const std::uint64_t choice = script.below(6);
  const bool lost = choice >= 4;
  Subject subject(static_cast<NodeId>(choice % 2),
                  lost ? ReplicaStart::Memory::lost : ReplicaStart::Memory::whole);
  while (!script.is_over())
    subject.step(script);
  return 0;
}
