// `DrainWatch` tells when a member that drains has handed over what others want: it holds nothing
// any more, and nobody has asked it for anything for a while since then.
#pragma once

#include <algorithm>
#include <optional>

#include "dht/core/boot_time.hpp"

namespace prophecy::sketcher {

class DrainWatch {
 public:
  // `quiet`: within it, those who take over begin to ask.
  explicit DrainWatch(dht::Span quiet) : quiet_(quiet) {}

  void on_ask(dht::BootTime now) { last_ask_ = now; }
  // Whether the member holds nothing any more.
  void note(bool is_drained, dht::BootTime now) {
    if (!is_drained) drained_.reset();
    if (is_drained && !drained_) drained_ = now;
  }
  // `to_give`: partitions that somebody may ask for.
  [[nodiscard]] bool is_over(std::size_t to_give, dht::BootTime now) const {
    if (!drained_) return false;
    return to_give == 0 || now - std::max(*drained_, last_ask_) > quiet_;
  }

 private:
  dht::Span quiet_;
  std::optional<dht::BootTime> drained_;
  dht::BootTime last_ask_{};
};

}  // namespace prophecy::sketcher
