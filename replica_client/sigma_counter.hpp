// Numbers the requests to a group that has no order of its own. One object for all processes of a
// sketcher, in shared memory; lock-free, safe when a process is killed. In one order with the write
// floors (history_table/write_floors.hpp), which need that.
#pragma once

#include <atomic>

#include "history_table/history_entry.hpp"

namespace prophecy::replica_client {

class SigmaCounter {
 public:
  // The newest that was drawn.
  [[nodiscard]] Sigma newest() const { return last_.load(std::memory_order_seq_cst); }
  // Greater than all that were drawn before.
  [[nodiscard]] Sigma next() { return last_.fetch_add(1, std::memory_order_seq_cst) + 1; }

  // Whatever is drawn from now on is greater than `target`. False, and nothing has changed, if more
  // than `expected_max` were drawn.
  [[nodiscard]] bool skip_to(Sigma target, Sigma expected_max) {
    Sigma last = newest();
    while (last <= expected_max) {
      if (last_.compare_exchange_weak(last, target, std::memory_order_seq_cst)) return true;
    }
    return false;
  }

 private:
  std::atomic<Sigma> last_{0};
};

}  // namespace prophecy::replica_client
