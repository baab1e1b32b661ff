#include "sketcher/config/spool_settings.hpp"

#include <algorithm>

#include "base/unnamed_file.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::uint64_t kKiB = 1 << 10;
constexpr std::uint64_t kGiB = 1 << 30;

}  // namespace

SpoolSettings read_spool(ConfigSection section, std::uint64_t body_bytes_max) {
  SpoolSettings settings;
  settings.from_bytes = section.bytes("from", 16 * kKiB, 16 * kKiB * kKiB, 256 * kKiB);
  settings.folder = section.has("folder") ? section.path("folder") : "/var/tmp";
  // One body of the largest size finds room, whatever the limit.
  settings.bytes_max =
      section.bytes("size", body_bytes_max, 1024 * 1024 * kGiB, std::max(4 * kGiB, body_bytes_max));
  settings.bytes_per_second_min = section.bytes("rate_min", 1, kGiB, kSpoolRateMin);
  return settings;
}

Result<> check(const SpoolSettings& settings) {
  auto file = make_unnamed_file(settings.folder);
  if (!file) return file.error();
  return {};
}

}  // namespace prophecy::sketcher
