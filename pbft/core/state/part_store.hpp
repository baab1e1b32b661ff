// Where a replica keeps the parts (pbft/wire/part.hpp) of its snapshots: by their digest, so that
// what two snapshots have in common lies there once, and damage is found by reading.
//
// A part is kept for as long as a pinned root leads to it. One that was kept and that no root leads
// to yet stays until the store is swept, or somebody who has it as well lets it go: who fills the
// store, and has not come to the root, pins what is there so far.
// Children are kept before the part that names them. Pins do not outlast the process: at its start
// it pins the roots that it remembers elsewhere, and sweeps what is left over.
//
// Nothing waits for the disk but reading: what is to outlast the process is put there by the shell,
// when it is asked to (ReplicaActions::flush_parts, durable_parts).
//
// Single-threaded.
#pragma once

#include <functional>
#include <optional>

#include "pbft/wire/part.hpp"

namespace prophecy::pbft {

class PartStore {
 public:
  virtual ~PartStore() = default;

  [[nodiscard]] virtual bool holds(const Digest& digest) const = 0;
  // A pinned root leads to it, so that all below it is here as well, if the disk has kept it.
  [[nodiscard]] virtual bool is_pinned(const Digest& digest) const = 0;
  // Nothing when it is not here, or is not what it was: its digest is checked.
  [[nodiscard]] virtual std::optional<Bytes> read(const Digest& digest) const = 0;
  // So many parts were found damaged, or could not be read, so far: a tree that was whole before
  // may be so no more, though its root is held.
  [[nodiscard]] virtual std::uint64_t losses() const { return 0; }
  // Requires an encoded part and its digest. False when it cannot be kept (the disk is full).
  [[nodiscard]] virtual bool keep(const Digest& digest, ByteView part) = 0;
  // Likewise, for one of so many that they should not wait in memory until they are pinned. False
  // as well while too many wait to be written: it can be kept a while later.
  [[nodiscard]] virtual bool keep_written(const Digest& digest, ByteView part) {
    return keep(digest, part);
  }
  // So much waits to be written that the filling of the store should wait, too. `then` is called
  // when there is no backlog any more; at once where there is none.
  [[nodiscard]] virtual bool has_backlog() const { return false; }
  virtual void after_backlog(const std::function<void()>& then) { then(); }
  // Nobody wants it any more. Stays if a pinned root leads to it.
  virtual void discard(const Digest& digest) = 0;
  // Everything below the root stays from now on, the root itself included. Pins of one root are
  // counted. False when a part below it is missing or no part, or when the tree is too high;
  // nothing is pinned then.
  [[nodiscard]] virtual bool pin(const Digest& root) = 0;
  // Requires a pinned root. What no other pinned root leads to goes.
  virtual void unpin(const Digest& root) = 0;
  // Likewise, but what no other pinned root leads to stays, as what was kept and never pinned.
  virtual void let_go(const Digest& root) = 0;
};

}  // namespace prophecy::pbft
