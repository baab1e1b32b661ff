// How a replica gets what it lacks: parts of a checkpoint's state or of a request's body, by their
// digests; and, when
// it has lost its memory, the way back into the group without contradicting what it once said.
//
// Decoded, they view into their frame, and say nothing about who sent it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pbft/auth/key_ring.hpp"
#include "pbft/wire/frame.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

constexpr std::size_t kPartsAskedMax = 64;  // in one frame

struct FetchPartsMessage {
  NodeId replica = 0;
  std::uint64_t sequence = 0;  // the checkpoint that they belong to; 0: a request's body
  std::vector<Digest> parts;
  ByteView content;
  ByteView authenticator;  // to a client, a tag
};

// One part; proves itself by its digest, which was asked for.
struct PartMessage {
  NodeId replica = 0;
  ByteView part;
};

// "I remember nothing of what I said before this incarnation." Signed: it goes on record.
struct RejoinMessage {
  NodeId replica = 0;
  std::uint64_t incarnation = 0;
  ByteView content;
  ByteView signature;
};

// The answer: from now on the sender takes no view-change message of the rejoining replica's
// earlier incarnations, and these are the bounds of what that replica can have said.
struct PledgeMessage {
  NodeId replica = 0;
  NodeId to = 0;
  std::uint64_t incarnation = 0;  // the newest that the sender has heard of
  bool fresh = false;             // the sender itself has never said anything
  std::uint64_t view = 0;
  std::uint64_t checkpoint = 0;  // its own newest one
  ByteView content;
  ByteView authenticator;
};

// Of an ordered write to which a service gave no usable answer.
struct UncertainWrite {
  std::uint64_t sigma = 0;
  Digest batch{};  // which batch that is, at its number
  Digest state{};  // the root of what the write has left; zero: it could not be told

  friend bool operator==(const UncertainWrite&, const UncertainWrite&) = default;
};

struct UncertainFlags {
  bool asks = false;              // the sender still compares, and wants to know others' states
  bool wants_checkpoint = false;  // it votes on no results before the next one
};

struct UncertainMessage {
  NodeId replica = 0;
  UncertainWrite write;
  bool asks = false;
  bool wants_checkpoint = false;
  ByteView content;
  ByteView authenticator;
};

// For operators who have a group adopt the present state of its services.
struct PresentState {
  // The state may hold the effects of batches up to here; agrees: these are to count as executed.
  std::uint64_t reach = 0;
  Digest state{};          // zero: not looked at
  bool asks = false;       // for the receiver's
  bool has_state = false;  // the sender has a state of its own
  bool agrees = false;     // its operator has the state adopted
};

struct PresentMessage {
  NodeId replica = 0;
  PresentState present;
  ByteView content;
  ByteView authenticator;
};

[[nodiscard]] Frame encode_fetch_parts(std::uint64_t sequence, std::span<const Digest> parts,
                                       const KeyRing& keys);
// To a client, with the one tag that it can check.
[[nodiscard]] Frame encode_fetch_parts_of(NodeId client, std::uint32_t session,
                                          std::span<const Digest> parts, const KeyRing& keys);
[[nodiscard]] Frame encode_part_message(ByteView part, const KeyRing& keys);
[[nodiscard]] Frame encode_rejoin(std::uint64_t incarnation, const KeyRing& keys);
// Uses all fields but `replica`, `content` and `authenticator`.
[[nodiscard]] Frame encode_pledge(const PledgeMessage& message, const KeyRing& keys);
[[nodiscard]] Frame encode_uncertain(const UncertainWrite& write, const UncertainFlags& flags,
                                     const KeyRing& keys);
[[nodiscard]] Frame encode_present(const PresentState& present, const KeyRing& keys);

[[nodiscard]] std::optional<FetchPartsMessage> decode_fetch_parts(ByteView frame,
                                                                  std::uint32_t replicas);
// As a client gets it.
[[nodiscard]] std::optional<FetchPartsMessage> decode_fetch_parts(ByteView frame);
[[nodiscard]] std::optional<PartMessage> decode_part_message(ByteView frame);
[[nodiscard]] std::optional<RejoinMessage> decode_rejoin(ByteView frame);
[[nodiscard]] std::optional<PledgeMessage> decode_pledge(ByteView frame, std::uint32_t replicas);
[[nodiscard]] std::optional<UncertainMessage> decode_uncertain(ByteView frame,
                                                               std::uint32_t replicas);
[[nodiscard]] std::optional<PresentMessage> decode_present(ByteView frame, std::uint32_t replicas);

}  // namespace prophecy::pbft
