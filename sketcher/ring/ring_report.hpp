// What the ring's process tells operators: members, shares, the view, leases, and what is waited
// for. `prophecyctl ring` shows it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "dht/core/ring.hpp"
#include "sketcher/config/ring_settings.hpp"

namespace prophecy::sketcher {

constexpr std::size_t kRingReportBytesMax = 128 << 10;
// Further ones are counted.
constexpr std::size_t kProblemsMax = 16;
constexpr std::size_t kProblemBytesMax = 512;

struct RingReportSources {
  const dht::Ring& ring;
  std::string_view settings_problem;  // of the node of what operators set; empty: none
  const RingSettings& settings;
  std::span<const std::size_t> shares;  // partitions, by the view's members
  const dht::Permissions& permissions;
  std::size_t fetching = 0;     // partitions whose entries are asked for
  bool is_handed_over = false;  // we have drained, and nobody asks for anything any more
  dht::BootTime now{};
};

// Of a view: how many partitions each of its members has.
[[nodiscard]] std::vector<std::size_t> shares_of(const dht::View& view, std::size_t partitions);

// One JSON object of less than kRingReportBytesMax bytes.
[[nodiscard]] std::string ring_report(const RingReportSources& sources);

// What such an object tells of a drain: nobody asks us for anything any more, or nobody can. Null
// tells nothing.
[[nodiscard]] bool shows_drained(const nlohmann::json& report);

}  // namespace prophecy::sketcher
