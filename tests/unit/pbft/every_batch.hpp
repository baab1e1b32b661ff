// For tests of what comes after a crash: a group that makes a checkpoint of every batch.
#pragma once

#include "pbft/group.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {

inline ReplicaSettings every_batch() {
  ReplicaSettings settings;
  settings.checkpoint_interval = 1;
  settings.window = 4;
  return settings;
}

inline Frame sent_by(const Subject& subject, MessageType type) {
  for (const Outgoing& outgoing : subject.actions.sends) {
    if (peek_header(*outgoing.frame)->type == type) return outgoing.frame;
  }
  return nullptr;
}

// The checkpoint message that it has just sent.
inline CheckpointMessage own_claim(const Subject& subject) {
  const Frame frame = sent_by(subject, MessageType::checkpoint);
  REQUIRE(frame != nullptr);
  return *decode_checkpoint(*frame);
}

// Another replica's, with this state of the service.
inline Frame checkpoint(NodeId from, const CheckpointMessage& claim, const Digest& service) {
  return encode_checkpoint(claim.sequence, claim.order, claim.replies, service, ring(from));
}

// Replica 1 executes one batch, and says so.
inline CheckpointMessage execute_one(Subject& backup, const Frame& frame = request(1)) {
  backup.order(1, {frame});
  REQUIRE(backup.actions.executions.size() == 1);
  backup.executed(backup.actions.executions[0].id, "result");
  return own_claim(backup);
}

}  // namespace prophecy::pbft::test
