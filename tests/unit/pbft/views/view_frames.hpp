// View-change and new-view messages as the others of the group send them.
#pragma once

#include <utility>
#include <vector>

#include "pbft/group.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft::test {

inline ReplicaSettings with_small_log() {
  ReplicaSettings settings;
  settings.checkpoint_bytes = 1000;
  settings.log_bytes_max = 2000;
  return settings;
}

inline Frame view_change(NodeId from, std::uint64_t view, std::vector<BatchRecord> prepared = {},
                         std::vector<BatchRecord> pre_prepared = {}) {
  ViewChangeMessage message;
  message.view = view;
  message.prepared = std::move(prepared);
  message.pre_prepared = std::move(pre_prepared);
  return encode_view_change(message, ring(from));
}

inline Frame new_view(NodeId from, std::uint64_t view, const std::vector<Frame>& view_changes) {
  std::vector<ByteView> frames;
  frames.reserve(view_changes.size());
  for (const Frame& frame : view_changes)
    frames.emplace_back(*frame);
  return encode_new_view(view, frames, ring(from));
}

}  // namespace prophecy::pbft::test
