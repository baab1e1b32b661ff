// What the deterministic objects hand back: values that the shell around them carries out.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "pbft/wire/agreed_input.hpp"
#include "pbft/wire/frame.hpp"

namespace prophecy::pbft {

struct Outgoing {
  NodeId to = 0;
  std::uint32_t session = 0;  // of a client: several processes share a client's id; else 0
  Frame frame;
};

// The shell runs it on the service and answers with Replica::on_executed(id, ...). Executions are
// to take effect in the order in which they were handed out; reads between two writes may run at
// the same time and finish in any order.
struct Execution {
  std::uint64_t id = 0;    // increasing
  Sigma sigma = 0;         // 0 for a read outside the order (PBFT's read-only optimisation)
  bool read_only = false;  // outside the order
  // The operation is a view into the storage, which stays unchanged for as long as it is held.
  std::shared_ptr<const Bytes> storage;
  ByteView operation;
  // Of an ordered one; its time is never before that of the one before, its seed is its own.
  AgreedInput input;
};

enum class ExecutionStatus : std::uint8_t {
  done,
  // No vote: the service could not answer (a read on an origin that is down), or cannot vouch for
  // its answer (to a write that it had to repeat). An ordered operation counts as executed.
  unavailable,
};

// A promise that has to outlast a crash, as a key and its value. Writes of one call are made
// together, in their order, and are on the disk before any frame of that call is sent.
struct DurableWrite {
  Bytes key;
  Frame value;  // null: the key is no more
};

struct ReplicaActions {
  std::vector<DurableWrite> writes;
  std::vector<Outgoing> sends;
  std::vector<Execution> executions;
  void clear() {
    writes.clear();
    sends.clear();
    executions.clear();
  }
};

}  // namespace prophecy::pbft
