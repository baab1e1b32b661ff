// View-change and new-view messages (TOCS 2002, sections 4.5.1 and 4.5.2): signed, because they
// have to convince replicas that they do not come to directly.
//
// Decoded, they view into their frame, and say nothing about who sent it.
#pragma once

#include <optional>
#include <vector>

#include "pbft/auth/key_ring.hpp"
#include "pbft/wire/frame.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

// A batch that was pre-prepared or prepared at a number, in the newest view in which it was.
struct BatchRecord {
  std::uint64_t sequence = 0;
  std::uint64_t view = 0;
  Digest batch{};

  friend bool operator==(const BatchRecord&, const BatchRecord&) = default;
};

struct ViewChangeMessage {
  NodeId replica = 0;
  std::uint64_t incarnation = 0;          // rises when its sender has lost its memory
  std::uint64_t view = 0;                 // the one that is asked for
  std::uint64_t stable = 0;               // the last stable checkpoint; 0: none
  std::vector<ByteView> certificate;      // 2f+1 signed checkpoint frames; none at 0
  std::vector<BatchRecord> prepared;      // P: at most one a number, rising
  std::vector<BatchRecord> pre_prepared;  // Q: numbers rising, a few batches each
  ByteView content;
  ByteView signature;
};

struct NewViewMessage {
  NodeId primary = 0;
  std::uint64_t view = 0;
  std::vector<ByteView> view_changes;  // whole frames, of 2f+1 replicas or more
  ByteView content;
  ByteView signature;
};

// Uses all fields but `replica`, `content` and `signature`.
[[nodiscard]] Frame encode_view_change(const ViewChangeMessage& message, const KeyRing& keys);
[[nodiscard]] Frame encode_new_view(std::uint64_t view, const std::vector<ByteView>& view_changes,
                                    const KeyRing& keys);

// Records of a decoded view-change are in order and within the window behind `stable`, and older
// than the view that is asked for.
[[nodiscard]] std::optional<ViewChangeMessage> decode_view_change(ByteView frame,
                                                                  std::uint32_t replicas);
[[nodiscard]] std::optional<NewViewMessage> decode_new_view(ByteView frame, std::uint32_t replicas);

}  // namespace prophecy::pbft
