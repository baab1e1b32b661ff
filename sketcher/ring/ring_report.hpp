// What the ring's process tells operators: members, shares, the view, leases, and what is waited
// for. `prophecyctl ring` shows it.
#pragma once

#include <string>

#include "dht/core/ring.hpp"
#include "sketcher/config/ring_settings.hpp"

namespace prophecy::sketcher {

struct RingReportSources {
  const dht::Ring& ring;
  const RingSettings& settings;
  const dht::Permissions& permissions;
  std::size_t fetching = 0;     // partitions whose entries are asked for
  bool is_handed_over = false;  // we have drained, and nobody asks for anything any more
  dht::BootTime now{};
};

// One JSON object.
[[nodiscard]] std::string ring_report(const RingReportSources& sources);

}  // namespace prophecy::sketcher
