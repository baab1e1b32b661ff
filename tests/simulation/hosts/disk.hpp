// `Disk` is the disk of a simulated replica: the journal of its promises, and the files of its part
// store, which is the real one (pbft/storage/file_part_store.hpp).
//
// What is handed in takes its time. The end of a process loses what only the process had: parts in
// its memory, and commits that the disk does not have yet. A loss of power loses files besides that
// were not synced, or leaves them empty. Both strike in the middle of a flush.
//
// A disk may stall, so that nothing ends meanwhile, and files may rot: be changed, be gone, or be
// unreadable until they are written again. (A journal that rots is found out at the start, and set
// aside with the whole folder: a lost disk.)
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/journal.hpp"
#include "pbft/storage/file_part_store.hpp"
#include "simulation/hosts/scheduler.hpp"
#include "simulation/random.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

class Disk {
 public:
  Disk(const Scenario& scenario, NodeId replica, Scheduler& scheduler);
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  ~Disk();

  // A process begins.
  void open();
  // In the order of writing; `done` is called when they last.
  void commit(std::vector<pbft::DurableWrite> writes, std::function<void()> done);
  // The writes of an event have been handed in: files of parts that it forgot go behind them.
  void end_event();
  // Of the running process.
  [[nodiscard]] pbft::FilePartStore& parts() { return *parts_; }
  // The process ends, or the power. Of the commits that are under way the first so many last.
  void crash(bool power_loss);
  void lose_everything();
  // This share of its files.
  void rot(std::uint64_t percent);

  [[nodiscard]] bool rots() const { return rots_; }

  // It is not the one that the group began with, and nothing has been written to it yet.
  [[nodiscard]] bool is_lost() const { return lost_ && records_.empty(); }
  // The journal names a state that a restart begins from.
  [[nodiscard]] bool has_state() const { return records_.contains(Bytes{'k'}); }
  [[nodiscard]] pbft::StoredRecords records() const;
  // Sequence numbers of which something is recorded.
  [[nodiscard]] std::uint64_t recorded_numbers() const;
  // While no process runs: what the journal promises to have, and the files do not; empty when
  // there is nothing. Nothing is asked of one that rots.
  [[nodiscard]] std::string missing(std::uint32_t replicas) const;

 private:
  struct File {
    Bytes content;
    bool is_synced = false;
    bool is_unreadable = false;
  };
  class Files;
  class Writer;

  [[nodiscard]] bool holds_all(const pbft::Digest& root) const;
  void commit_lasts();
  // What takes so long when nothing is wrong.
  [[nodiscard]] TimePoint end_of(Duration usual) const;

  const Scenario& scenario_;
  NodeId replica_;
  Scheduler& scheduler_;
  Random random_;
  std::map<Bytes, Bytes> records_;
  std::vector<std::vector<pbft::DurableWrite>> pending_;
  TimePoint last_commit_{};
  std::map<pbft::Digest, File> files_;
  std::unique_ptr<pbft::FilePartStore> parts_;
  Writer* writer_ = nullptr;       // of the running process
  std::uint64_t forgotten_ = 0;    // files of it
  std::uint64_t process_ = 0;      // what an earlier one began, ends for nobody
  std::uint64_t writes_left_ = 0;  // while it dies
  bool is_dying_ = false;
  bool lost_ = false;
  bool rots_ = false;
};

}  // namespace prophecy::simulation
