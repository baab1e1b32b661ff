#include "sketcher/config/timeout_settings.hpp"

#include <algorithm>

#include "sketcher/config/setting_bounds.hpp"
#include "sketcher/config/spool_settings.hpp"

namespace prophecy::sketcher {

TimeoutSettings read_timeouts(ConfigSection section, std::uint64_t body_bytes_max) {
  TimeoutSettings timeouts;
  timeouts.header =
      section.duration({"header",
                        "Time from the first byte of a request to the end of its header; then "
                        "408. A new connection without a byte is closed after this time; a TLS "
                        "handshake that takes longer as well."},
                       kDurationMin, kDurationMax, seconds(10));
  timeouts.body =
      section.duration({"body", "Time for each 4 KiB of a body, or the rest of it; then 408."},
                       kDurationMin, kDurationMax, seconds(30));
  // What is at least as fast as [spool] has it by default has its time.
  const Duration slow_body = seconds(body_bytes_max / kSpoolRateMin);
  timeouts.body_total = section.duration(
      Key{"body_total", "Time for a whole body; then 408 (`body-takes-too-long`)."}.otherwise(
          "`body` of `[limits]` at 64KiB a second, at least 1h"),
      kDurationMin, 24 * 30 * kDurationMax, std::max(kDurationMax, slow_body));
  timeouts.idle = section.duration({"idle",
                                    "Time between two requests of a connection, and without a "
                                    "byte of a tunnel after one side has ended its sending."},
                                   kDurationMin, kDurationMax, seconds(60));
  timeouts.send = section.duration(
      {"send",
       "Time for a client to take 4 KiB of an answer, the bytes in its socket included, and for "
       "either side of a tunnel to take the rest when the other one is broken."},
      kDurationMin, kDurationMax, seconds(30));
  timeouts.connect = section.duration({"connect", "Time to connect to an origin."}, kDurationMin,
                                      kDurationMax, seconds(1));
  timeouts.answer = section.duration(
      {"answer",
       "Time for a fast read; then the read is replicated. Time for a vote; then it counts as "
       "none. A large vote has it for each block, as long as it may decide a read with a waiting "
       "client, and at most for `total` and once more. With each 8 MiB of a body in a file that "
       "an origin takes, its time begins anew; in a group of kind `vote` its vote counts as none "
       "after `total` and a second for each 4 MiB of the body."},
      kDurationMin, kDurationMax, seconds(5));
  timeouts.tunnel = section.duration(
      {"tunnel",
       "Time without a byte in either direction of a tunnel; then it is closed. When one side "
       "has ended its sending, it is `idle`, if that is less. When one side is broken, that is, "
       "reset, or ended inside TLS without a close_notify, the other one gets the bytes sent "
       "before, and then the tunnel ends. Its origin has `connect` to be connected, and `answer` "
       "to answer."},
      kDurationMin, 24 * kDurationMax, kDurationMax);
  timeouts.stream = section.duration(
      {"stream",
       "On a route in mode `\"stream\"`, time for an origin to begin its answer, and between two "
       "pieces of it; then the answer ends, cut off, or 504. It has no other end: not `answer`, "
       "and "
       "not `total`."},
      kDurationMin, 24 * kDurationMax, kDurationMax);
  timeouts.total =
      section.duration({"total",
                        "Time for the whole of one read; then it is answered 504. Also bounds "
                        "votes on writes with large bodies, see `answer`."},
                       kDurationMin, kDurationMax, seconds(30));
  timeouts.drain = section.duration({"drain", "Time for requests in flight after `SIGTERM`."},
                                    kDurationMin, kDurationMax, seconds(10));
  return timeouts;
}

}  // namespace prophecy::sketcher
