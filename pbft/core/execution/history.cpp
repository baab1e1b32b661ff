#include "pbft/core/execution/history.hpp"

namespace prophecy::pbft {

bool History::append(const Slot& slot) {
  Sha256 chain;
  chain.update(digest_);
  chain.update(slot.batch);
  digest_ = chain.finish();
  ++batches_since_;
  bytes_since_ += slot.operation_bytes;
  if (batches_since_ < interval_ && bytes_since_ < bytes_) return false;
  batches_since_ = 0;
  bytes_since_ = 0;
  return true;
}

void History::reset(const Digest& digest) {
  digest_ = digest;
  batches_since_ = 0;
  bytes_since_ = 0;
}

}  // namespace prophecy::pbft
