// For tests of what comes after a crash: a group that makes a checkpoint of every batch.
#pragma once

#include "pbft/group.hpp"

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

}  // namespace prophecy::pbft::test
