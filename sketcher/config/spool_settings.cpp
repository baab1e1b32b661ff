#include "sketcher/config/spool_settings.hpp"

#include <algorithm>

#include "base/unnamed_file.hpp"
#include "sketcher/config/units.hpp"

namespace prophecy::sketcher {

SpoolSettings read_spool(ConfigSection section, std::uint64_t body_bytes_max) {
  SpoolSettings settings;
  settings.from_bytes = section.bytes({"from", "A larger body goes to a file."}, 16 * kKiB,
                                      16 * kKiB * kKiB, 256 * kKiB);
  settings.folder = section.path(
      {"folder", "Their folder; this user has to be allowed to write there."}, "/var/tmp");
  // One body of the largest size finds room, whatever the limit.
  settings.bytes_max = section.bytes(
      Key{"size",
          "Size of the files of all workers together. A body that finds no room, or "
          "that would be one of more than 1024 in files at a worker, is answered 503 "
          "with the reason `spool-full`. It is answered 507 (`spool-disk-full`) if the "
          "disk is full, and 503 (`spool-failed`) if no file can be made."}
          .otherwise("4GiB, or `body` of `[limits]` if that is more")
          .within("`body` of `[limits]` to 1048576GiB"),
      body_bytes_max, 1024 * 1024 * kGiB, std::max(4 * kGiB, body_bytes_max));
  settings.bytes_per_second_min =
      section.bytes({"rate_min",
                     "Rate in bytes a second. When more than seven eighths of `size`, or of the "
                     "files, are taken, bodies that have arrived more slowly since they began end "
                     "with 408 (`body-too-slow`), the slowest first, until there is room again; "
                     "none within its first five seconds."},
                    1, kGiB, kSpoolRateMin);
  return settings;
}

Result<> check(const SpoolSettings& settings) {
  auto file = make_unnamed_file(settings.folder);
  if (!file) return file.error();
  return {};
}

}  // namespace prophecy::sketcher
