// `GroupCore` is all that decides the reads of one worker from one replica group; `WorkerReads` is
// what all groups of the worker share. Deterministic; single-threaded.
#pragma once

#include <memory>
#include <vector>

#include "sketcher/core/policy/router.hpp"
#include "sketcher/core/read/accusations.hpp"
#include "sketcher/core/read/block_lists.hpp"
#include "sketcher/core/read/read_group.hpp"
#include "sketcher/core/read/shared_reads.hpp"

namespace prophecy::sketcher {

struct GroupCore {
  explicit GroupCore(const ReadGroupParts& parts)
      : group(parts), accusations(group), shared(group, accusations, actions) {}

  ReadGroup group;
  GroupActions actions;  // carried out after each event, before the event's ReadActions
  Accusations accusations;
  SharedReads shared;
};

// Which requests a route asks its group's origins for.
struct AskedOrigins {
  GroupCore* group = nullptr;
  RoutePattern pattern{};  // the prefix is that which origins know
};

struct WorkerReads {
  std::vector<AskedOrigins> routes;
  LargeCounters& large;
  double forced_share = 0;  // of valid fast answers that are made to fail, for measurements
  std::size_t answer_bytes_max = 0;  // of an unverified answer that is held as a whole
  std::size_t target_bytes_max = 0;  // of a URI that a write's answer names
  BlockLists block_lists{};
};

}  // namespace prophecy::sketcher
