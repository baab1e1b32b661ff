// The disk of a simulated replica: its journal, and the parts of its snapshots. What is written
// takes its time to last; a crash before that may keep it, or lose it, in the order of writing.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/journal.hpp"
#include "pbft/core/state/memory_part_store.hpp"
#include "simulation/random.hpp"

namespace prophecy::simulation {

class Disk {
 public:
  Disk() : parts_(std::make_unique<pbft::MemoryPartStore>()) {}

  // In the order of writing; lasts from now on.
  void commit(const std::vector<pbft::DurableWrite>& writes);
  // Not yet: a crash decides.
  void hand_in(const std::vector<pbft::DurableWrite>& writes) { pending_.push_back(writes); }
  void pending_lasts();  // the first that was handed in
  // What the part store holds now lasts.
  void flush_parts() { flushed_ = parts_->all(); }
  // The journal names a state that a restart begins from.
  [[nodiscard]] bool has_state() const { return records_.contains(Bytes{'k'}); }

  // The process ends, or the power. Of what was handed in and does not last yet, the first so many
  // writes are there afterwards; parts that were neither flushed nor pinned only if the machine
  // goes on.
  void crash(Random& random, bool power_loss);
  void lose_everything();

  // It is not the one that the group began with, and nothing has been written to it yet.
  [[nodiscard]] bool is_lost() const { return lost_ && records_.empty(); }
  [[nodiscard]] pbft::StoredRecords records() const;
  // Sequence numbers of which something is recorded.
  [[nodiscard]] std::uint64_t recorded_numbers() const;
  // Of the running process.
  [[nodiscard]] pbft::MemoryPartStore& parts() { return *parts_; }

 private:
  using Parts = std::map<pbft::Digest, Bytes>;

  std::map<Bytes, Bytes> records_;
  std::vector<std::vector<pbft::DurableWrite>> pending_;
  std::unique_ptr<pbft::MemoryPartStore> parts_;
  Parts flushed_;
  bool lost_ = false;
};

}  // namespace prophecy::simulation
