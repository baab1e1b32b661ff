// Which batches are proven to be executed by a quorum, so that the log may forget them.
//
// A replica states, after every interval, two digests. `order` is chained over all batches so
// far: 2f+1 equal ones make the checkpoint stable. `results` covers what the service answered in
// the last interval; it makes a service that went astray visible, and decides nothing: answers of
// unmodified origins may differ honestly, and must not be able to stop the group.
//
// Claims are signed. Those that made a checkpoint stable are its certificate: they prove it to a
// replica that was not there.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "pbft/core/actions.hpp"
#include "pbft/core/quorum.hpp"
#include "pbft/wire/frame.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

struct CheckpointClaim {
  std::uint64_t sequence = 0;
  Digest order{};
  Digest results{};
};

class Checkpoints {
 public:
  enum class Outcome : std::uint8_t { added, stable, duplicate, conflicting, old };

  explicit Checkpoints(const QuorumRule& quorum);

  // A claim whose signature was verified, with the frame that makes it; this replica's own too.
  Outcome record(NodeId replica, const CheckpointClaim& claim, Frame frame);
  // A checkpoint that others have proven: 2f+1 claims with this order, whose signatures were
  // verified. Ignored unless it is newer than the stable one.
  void adopt(const CheckpointClaim& claim, std::vector<Frame> certificate);
  // Keeps the own claim's frame for peers that lack it.
  void keep_own(const CheckpointClaim& claim, Frame frame);

  // The last stable one; sequence 0 at the start.
  [[nodiscard]] const CheckpointClaim& stable() const { return stable_; }
  // The 2f+1 frames that made it stable, in the order of their replicas' ids; empty at sequence 0.
  // All state the same `order`, which is what they prove; their `results` may differ.
  [[nodiscard]] const std::vector<Frame>& certificate() const { return certificate_; }
  // True when the own claim at the stable sequence number exists and has another order.
  [[nodiscard]] bool diverged() const;
  // True when f+1 others got equal results there, and this replica others.
  [[nodiscard]] bool results_diverged() const;
  // The last own claim, 0 before the first.
  [[nodiscard]] std::uint64_t last_own() const {
    return own_.empty() ? 0 : own_.back().claim.sequence;
  }
  // Appends the own frames above `sequence`.
  void frames_above(std::uint64_t sequence, std::vector<Frame>& out) const;

 private:
  // So many claims of one replica are remembered. Correct replicas cannot be further apart than
  // the window, and of the checkpoints within it a later one serves as well.
  static constexpr std::size_t kClaimsKept = 16;

  struct SignedClaim {
    CheckpointClaim claim;
    Frame frame;
  };

  [[nodiscard]] static const SignedClaim* find(const std::vector<SignedClaim>& claims,
                                               std::uint64_t sequence);
  // The frames of all that state this order at this sequence number.
  [[nodiscard]] std::vector<Frame> equal_to(const CheckpointClaim& claim) const;
  [[nodiscard]] const CheckpointClaim* own_at(std::uint64_t sequence) const;

  QuorumRule quorum_;
  std::vector<std::vector<SignedClaim>> claims_;  // by replica, rising
  std::deque<SignedClaim> own_;                   // rising
  CheckpointClaim stable_;
  std::vector<Frame> certificate_;
};

}  // namespace prophecy::pbft
