// What the deterministic objects hand back: values that the shell around them carries out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/byte_source.hpp"
#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "pbft/wire/agreed_input.hpp"
#include "pbft/wire/frame.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

struct Outgoing {
  NodeId to = 0;
  std::uint32_t session = 0;  // of a client: several processes share a client's id; else 0
  Frame frame;
  // The frame promises nothing (a part, a question, another's request): it need not wait for writes
  // that this call and earlier ones have made.
  bool is_free = false;
};

// The shell runs it on the service and answers with Replica::on_executed(id, ...). Executions are
// to take effect in the order in which they were handed out; reads between two writes may run at
// the same time and finish in any order.
struct Execution {
  std::uint64_t id = 0;    // increasing
  Sigma sigma = 0;         // 0 for a read outside the order (PBFT's read-only optimisation)
  bool read_only = false;  // outside the order
  bool tentative = false;  // ordered only if nothing comes in between
  // The operation is a view into the storage, which stays unchanged for as long as it is held.
  std::shared_ptr<const Bytes> storage;
  ByteView operation;
  // Of an ordered one; its time is never before that of the one before, its seed is its own.
  AgreedInput input;
  // All of an operation that is too large for memory, of which `operation` is the beginning; else
  // null. To be read until the execution is answered.
  ByteSourcePtr whole;
  // Not empty: a write is not executed, and answered with this (core/execution/epoch_fence.hpp). A
  // read is executed.
  Bytes refusal = {};
};

enum class ExecutionStatus : std::uint8_t {
  done,
  // No vote: the service could not answer (a read on an origin that is down), or cannot vouch for
  // its answer (to a write that it had to repeat). An ordered operation counts as executed.
  unavailable,
  // A write that may not have taken effect, or not completely: the state of the service is not to
  // be relied on until it has been restored. No vote either.
  lost,
  // A write without a usable answer, which has ended by now, wherever it has got: the result is
  // what all replicas answer that find their states equal. Nothing behind it is begun until
  // ReplicaActions::resume, and a snapshot before it is of the state that the write has left.
  uncertain,
};

// The service is to be made what this checkpoint says; answered with Replica::on_restored(). No
// execution is under way, and none is handed out before the answer.
struct Restore {
  std::uint64_t sequence = 0;
  Digest service{};  // the root of its parts, which are all held
};

// A promise that has to outlast a crash, as a key and its value. Writes of one call are made
// together, in their order, and are on the disk before any frame of that call is sent that is not
// free.
struct DurableWrite {
  Bytes key;
  Frame value;  // null: the key is no more
};

// All that this pinned root leads to is to be put on the disk; Replica::on_parts_durable() answers.
struct DurableParts {
  std::uint64_t id = 0;  // increasing
  Digest root{};
};

struct ReplicaActions {
  std::vector<DurableWrite> writes;
  std::vector<Outgoing> sends;
  std::vector<Execution> executions;
  // The state of the service behind this sequence number is wanted: all executions up to it have
  // finished, and none is handed out before the answer, Replica::on_snapshot().
  std::optional<std::uint64_t> snapshot;
  // The present state of a service that has lost its own is wanted, whatever it is; answered like a
  // snapshot.
  bool look = false;
  // Before the next execution: the present state is the one to go on from, as if it had been
  // restored.
  bool adopt = false;
  std::optional<Restore> restore;
  // Behind a write that was answered as uncertain: true: the service goes on; false: what waits is
  // dropped, and a restore follows.
  std::optional<bool> resume;
  // The parts that were kept so far are to be put on the disk, after all writes until now;
  // Replica::on_parts_flushed() answers.
  bool flush_parts = false;
  // Of request bodies, which nothing is said about before. They wait for no writes.
  std::vector<DurableParts> durable_parts;

  // Of the frames from the `first` on, each as often as it is sent.
  [[nodiscard]] std::size_t sent_bytes(std::size_t first = 0) const {
    std::size_t bytes = 0;
    for (std::size_t i = first; i < sends.size(); ++i)
      bytes += sends[i].frame->size();
    return bytes;
  }
  [[nodiscard]] bool empty() const {
    return writes.empty() && sends.empty() && executions.empty() && !snapshot && !restore &&
           !resume && !look && !adopt && !flush_parts && durable_parts.empty();
  }
  void clear() {
    writes.clear();
    sends.clear();
    executions.clear();
    snapshot.reset();
    look = false;
    adopt = false;
    restore.reset();
    resume.reset();
    flush_parts = false;
    durable_parts.clear();
  }
};

}  // namespace prophecy::pbft
