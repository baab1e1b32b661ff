// The three phases of the normal case: pre-prepare, prepare, commit.
#pragma once

#include <cstdint>

#include "pbft/core/checkpoints.hpp"
#include "pbft/core/client_table.hpp"
#include "pbft/core/context.hpp"
#include "pbft/core/log.hpp"
#include "pbft/core/request_queue.hpp"

namespace prophecy::pbft {

class Agreement {
 public:
  Agreement(Context& context, Log& log, ClientTable& clients, const Checkpoints& checkpoints)
      : context_(context), log_(log), clients_(clients), checkpoints_(checkpoints) {}

  // True when the primary may propose one more batch now.
  [[nodiscard]] bool may_propose() const;
  // Requires may_propose().
  void propose(RequestQueue::Batch batch, ReplicaActions& out);

  // Each is true when the frame was authentic.
  bool on_pre_prepare(ByteView frame, ReplicaActions& out);
  bool on_vote(MessageType type, ByteView frame, ReplicaActions& out);

  // The highest sequence number that is taken up now.
  [[nodiscard]] std::uint64_t high_water_mark() const;

 private:
  [[nodiscard]] bool admits(const PrePrepareMessage& head);
  // True when every request comes from its client, as far as this replica can know.
  [[nodiscard]] bool vouched_for(const PrePrepareMessage& message, const Digest& batch,
                                 const std::vector<Digest>& digests);
  void accept(Slot& slot, Frame frame, std::vector<BatchRequest> requests, const Digest& batch);
  void advance(Slot& slot, ReplicaActions& out);

  Context& context_;
  Log& log_;
  ClientTable& clients_;
  const Checkpoints& checkpoints_;
};

}  // namespace prophecy::pbft
