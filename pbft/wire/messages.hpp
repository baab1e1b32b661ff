// The messages of the protocol as they lie in a frame: decoded, these structures view into it and
// are valid for as long as it is. docs/protocol.md has them as a table.
//
// Every message is frame header, fields, then a MAC part, or a signature in a checkpoint. `content`
// is what is authenticated, where that is one run of bytes; content_digest() hashes what the MAC is
// over where it is not.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "base/ids.hpp"
#include "pbft/wire/agreed_input.hpp"
#include "pbft/wire/frame_header.hpp"

namespace prophecy::pbft {

using Digest = Sha256::Digest;

// An operation that travels apart from its request (pbft/wire/body.hpp).
struct BodyName {
  std::uint64_t size = 0;
  Digest root{};

  friend auto operator<=>(const BodyName&, const BodyName&) = default;
};

struct RequestMessage {
  NodeId client = 0;
  std::uint32_t session = 0;
  std::uint64_t timestamp = 0;   // rises within a session
  bool read_only = false;        // to be executed outside the order
  NodeId replier = 0;            // sends the result itself; the others send its digest
  ByteView operation;            // or, by digest, its encoded name
  std::optional<BodyName> body;  // of an operation that is ordered by digest
  std::uint64_t epoch = 0;       // in which its client has made it; 0: none
  ByteView content;
  ByteView authenticator;
  ByteView signature;  // over the content; empty unless the client sends the request once more
};

struct PrePrepareMessage {
  NodeId primary = 0;
  std::uint64_t view = 0;
  std::uint64_t sequence = 0;
  AgreedInput input;
  ByteView head;           // the fixed fields, authenticated together with the batch's digest
  ByteView authenticator;  // the requests between them carry their clients' own MACs
  std::vector<RequestMessage> requests;
  std::uint64_t overhead = 0;  // of the frame: its bytes beside the operations
};

// A prepare, a commit or a decision, whose view says nothing.
struct VoteMessage {
  NodeId replica = 0;
  std::uint64_t view = 0;
  std::uint64_t sequence = 0;
  Digest batch{};
  ByteView content;
  ByteView authenticator;
};

// Nothing is done about it. That it is authentic tells a replica's shell where the replies to
// these sessions go, before the replica has seen a request from the client itself.
struct HelloMessage {
  NodeId client = 0;
  std::uint32_t first_session = 0;
  ByteView content;
  ByteView tag;
};

enum class ReplyStatus : std::uint8_t {
  done = 0,
  unavailable = 1,
  stale = 2,  // the session has gone on: the request is not executed any more
};

struct ReplyMessage {
  NodeId replica = 0;
  std::uint64_t view = 0;
  NodeId client = 0;
  std::uint32_t session = 0;
  std::uint64_t timestamp = 0;
  std::uint64_t sigma = 0;  // 0 for a read outside the order; stale: the session's last timestamp
  ReplyStatus status = ReplyStatus::done;
  bool tentative = false;  // prepared in that view, and not known to be committed
  Digest result_digest{};
  bool full = false;
  ByteView result;  // when full; covered by the MAC through its digest only
  ByteView content;
  ByteView tag;
};

struct CheckpointMessage {
  NodeId replica = 0;
  std::uint64_t incarnation = 0;  // in which the replica says it
  std::uint64_t sequence = 0;
  Digest order{};    // all batches up to the sequence number, and what was executed for whom
  Digest replies{};  // the last reply of each session
  Digest service{};  // the service's state. Zero in either: the replica makes no statement
  ByteView content;
  ByteView signature;  // it has to convince replicas that were not there
};

// What a replica has of one batch: bits in a Status.
constexpr std::uint8_t kHasPrePrepare = 1;
constexpr std::uint8_t kHasPrepared = 2;
constexpr std::uint8_t kHasCommitted = 4;

struct StatusMessage {
  NodeId replica = 0;
  std::uint64_t view = 0;
  std::uint64_t counter = 0;         // rises with every Status of this replica
  bool changing_view = false;        // the view is asked for, and has not begun
  std::uint64_t silent_until = 0;    // a stable checkpoint here has to come before it votes again
  std::uint64_t first_retained = 0;  // older batches can no longer be had from it
  std::uint64_t last_ordered = 0;
  std::uint64_t last_stable = 0;
  std::uint64_t settled = 0;            // up to it nothing is missing, in the current view either
  std::span<const std::uint8_t> slots;  // bits for settled+1, +2, ...
  ByteView content;
  ByteView authenticator;
};

struct ForwardMessage {
  NodeId replica = 0;
  ByteView request;  // a whole request frame, authenticated by its client alone
};

// Of the operation itself, wherever it is.
[[nodiscard]] inline std::uint64_t operation_bytes(const RequestMessage& request) {
  return request.body ? request.body->size : request.operation.size();
}

[[nodiscard]] Digest content_digest(const PrePrepareMessage& message, const Digest& batch);
// Of a batch, which all that has to do with agreement names it by.
[[nodiscard]] Digest batch_digest(const PrePrepareMessage& message);

}  // namespace prophecy::pbft
