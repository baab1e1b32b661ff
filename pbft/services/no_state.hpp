// The state of a service that has none, or none of the group's: one part without content, whose
// root is the same everywhere.
#pragma once

#include "pbft/services/service.hpp"

namespace prophecy::pbft {

[[nodiscard]] inline Digest no_state_root() {
  return sha256(encode_part({}, {}));
}

inline void snapshot_no_state(PartStore& parts, const Service::SnapshotDone& done) {
  const Digest root = no_state_root();
  if (!parts.keep(root, encode_part({}, {}))) {
    return done(Error{ErrorKind::io, "the snapshot cannot be kept"});
  }
  done(root);
}

inline void restore_no_state(const Digest& root, const Service::RestoreDone& done) {
  if (root != no_state_root()) {
    return done(Error{ErrorKind::invalid,
                      "the group's snapshot holds a state, and this service is one without"});
  }
  done({});
}

}  // namespace prophecy::pbft
