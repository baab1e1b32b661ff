// `ContentShelf` moves contents of batches from memory to the part store, and reads them back.
//
// A replica that reports a batch as pre-prepared (in the set Q of its view-change messages) has to
// be able to hand out its content: a new view may begin with it on this replica's word. So content
// is never dropped, however much of it a faulty primary leaves behind, but put here.
//
// What lies here is lost with the process. The journal has it, too, for the next start.
#pragma once

#include <optional>

#include "pbft/core/state/part_store.hpp"
#include "pbft/wire/frame.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

class ContentShelf {
 public:
  explicit ContentShelf(PartStore& parts) : parts_(parts) {}

  // Yields the name under which it lies here; nothing when there is no room for it.
  [[nodiscard]] std::optional<Digest> put(const Bytes& content);
  // Requires a name that was put here. Null when the disk has lost it.
  [[nodiscard]] Frame read(const Digest& name) const;
  // As often as it was put here.
  void drop(const Digest& name) { parts_.unpin(name); }

 private:
  PartStore& parts_;
};

}  // namespace prophecy::pbft
