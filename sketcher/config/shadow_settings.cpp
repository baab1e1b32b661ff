#include "sketcher/config/shadow_settings.hpp"

#include "sketcher/config/setting_bounds.hpp"
#include "sketcher/config/units.hpp"

namespace prophecy::sketcher {

ShadowSettings read_shadow(ConfigSection& section) {
  ShadowSettings shadow;
  shadow.share = section.fraction({"share", "Share of verified reads, drawn at random."}, 0.1);
  shadow.connections_max =
      section.number({"connections_max", "Connections of each worker."}, 1, 64, 4);
  shadow.queue_max = section.number(
      {"queue_max",
       "Copies that wait for a connection, for each worker. Beyond that, reads are not copied."},
      0, 1024, 16);
  shadow.body_bytes_max =
      section.bytes({"body", "Reads with larger answers are not copied."}, kKiB, 64 * kMiB, kMiB);
  shadow.timeout =
      section.duration({"timeout",
                        "Time for an answer. After a failure the shadow gets no copies for 1 s, "
                        "and for up to 30 s while it goes on failing."},
                       kDurationMin, kDurationMax, seconds(5));
  return shadow;
}

}  // namespace prophecy::sketcher
