// [[group.shadow]]: an origin that gets copies of reads and is compared, no more.
#pragma once

#include "base/clock.hpp"
#include "base/config/config.hpp"
#include "sketcher/config/origin_address.hpp"

namespace prophecy::sketcher {

constexpr std::size_t kShadowsMax = 8;  // of one group

struct ShadowSettings {
  OriginAddress origin;
  double share = 0;  // of verified reads, that are copied
  // Of each worker:
  std::size_t connections_max = 0;
  std::size_t queue_max = 0;  // copies that wait for a connection
  std::size_t body_bytes_max = 0;
  Duration timeout{};
};

// All but the origin.
[[nodiscard]] ShadowSettings read_shadow(ConfigSection& section);

}  // namespace prophecy::sketcher
