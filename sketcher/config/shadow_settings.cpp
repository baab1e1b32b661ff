#include "sketcher/config/shadow_settings.hpp"

#include "sketcher/config/setting_bounds.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::size_t kKiB = 1 << 10;
constexpr std::size_t kMiB = 1 << 20;

}  // namespace

ShadowSettings read_shadow(ConfigSection& section) {
  ShadowSettings shadow;
  shadow.share = section.fraction("share", 0.1);
  shadow.connections_max = section.number("connections_max", 1, 64, 4);
  shadow.queue_max = section.number("queue_max", 0, 1024, 16);
  shadow.body_bytes_max = section.bytes("body", kKiB, 64 * kMiB, kMiB);
  shadow.timeout = section.duration("timeout", kDurationMin, kDurationMax, seconds(5));
  return shadow;
}

}  // namespace prophecy::sketcher
