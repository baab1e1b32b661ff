#include "sketcher/config/limit_settings.hpp"

#include <algorithm>

#include "pbft/wire/limits.hpp"
#include "sketcher/config/units.hpp"

namespace prophecy::sketcher {
namespace {

// A whole request travels as one operation. An authority, out of the target or the header, may
// stand in it three times.
constexpr std::size_t kTargetBytesMax = 64 * kKiB;
constexpr std::size_t kHeaderBytesMax = 128 * kKiB;
constexpr std::size_t kHeaderCountMax = 4096;
constexpr std::size_t kBodyBytesMax = 16 * kGiB;
static_assert(kBodyBytesMax + 3 * (kTargetBytesMax + kHeaderBytesMax) + 4 * kHeaderCountMax +
                  4 * kKiB <=
              pbft::kOperationBytesMax);

}  // namespace

LimitSettings read_limits(ConfigSection section) {
  LimitSettings limits;
  limits.connections_max = section.number(
      {"connections_max",
       "Client connections, for each worker. With more than seven eighths of them open, idle ones "
       "are closed, the longest idle first: those that wait for their next request, for the "
       "client's first bytes or the next ones of its handshake for longer than a second, or for "
       "the client to take the end of its answer. None is closed while a request of it is under "
       "way. The limit on open files is raised as far as the system allows; if a worker may need "
       "more, the event `too-few-descriptors` warns at the start. Where not even one connection to "
       "each origin is possible, the sketcher does not start."},
      1, 1'000'000, 10'000);
  // No bound of its own unless asked for: behind a load balancer all clients have one address.
  limits.connections_per_address_max = section.number(
      Key{"connections_per_address_max",
          "Connections of one client; a further one is closed at once. A client is an "
          "address of IPv4, or a network of IPv6. Keep the default behind a load "
          "balancer, whose address all clients share."}
          .otherwise("`connections_max`")
          .within("1 to `connections_max`"),
      1, limits.connections_max, limits.connections_max);
  limits.ipv6_prefix_bits = static_cast<unsigned>(
      section.number({"ipv6_prefix",
                      "Prefix length of the IPv6 networks that count as one client each, here and "
                      "for `slow_path_per_client_second`: one subscriber has at least a /64, and "
                      "often a /56 or a /48."},
                     48, 128, 64));
  limits.request.target_bytes_max =
      section.bytes({"target", "Length of a request's target; a longer one is answered 414."}, 64,
                    kTargetBytesMax, 8 * kKiB);
  limits.request.header_bytes_max = section.bytes(
      {"header",
       "Length of a request's header, names and values together; a longer one is answered 431."},
      256, kHeaderBytesMax, 32 * kKiB);
  limits.request.header_count_max = section.number(
      {"header_count",
       "Fields of a header; more are answered 431. Bounds the answers of origins, too."},
      1, kHeaderCountMax, 128);
  limits.request.body_bytes_max = section.bytes(
      {"body",
       "Length of a request's body; a longer one is answered 413. Agents have their own limit, "
       "beyond which they order nothing: `body_bytes_max` in prophecy-replica(8). A body larger "
       "than `from` in `[spool]` lies in a file, not in memory."},
      0, kBodyBytesMax, 16 * kMiB);
  limits.answer = limits.request;
  limits.answer.header_bytes_max = section.bytes(
      Key{"answer_header",
          "Length of an origin's header in a fast read, or a vote, names and values together; a "
          "longer one counts as a failure of its origin (`too-large`)."}
          .otherwise("`header`"),
      256, kHeaderBytesMax, limits.request.header_bytes_max);
  limits.answer.body_bytes_max = section.bytes(
      {"answer",
       "Length of an origin's body in a fast read, or a vote, that is held as a whole. Keep it at "
       "or above `whole_answer` of the group: an answer larger than this and not larger than that "
       "is not served. On a route that is off, a larger one whose length the origin declares is "
       "streamed; any other counts as a failure of its origin (`too-large`)."},
      kKiB, kGiB, 16 * kMiB);
  limits.untaken_bytes_max = section.bytes(
      {"untaken",
       "Memory, for each worker, for answers that clients have not read yet, and for bytes in "
       "tunnels that either side has not read. Beyond it, the clients that have read nothing for a "
       "second and have most bytes held are cut off, before their `send` is over; or, if all "
       "clients read something, those that did so longest ago."},
      kMiB, 1024 * kGiB, 512 * kMiB);
  const std::uint64_t answer_bytes = limits.answer.body_bytes_max;
  limits.coming_bytes_max = section.bytes(
      Key{"answers_coming",
          "Memory, for each worker, for answers of more than 128 KiB while they are "
          "read from origins. Beyond it the answer with most bytes held for longest is "
          "dropped: its read ends `shed`, which does not count against its origin, and "
          "the group is asked, or the client is answered 503 (`overloaded`)."}
          .otherwise("256MiB, or 4 times `answer` if that is more")
          .within("twice `answer` to 1024GiB"),
      std::max<std::uint64_t>(kMiB, 2 * answer_bytes), 1024 * kGiB,
      std::max(256 * kMiB, 4 * answer_bytes));
  limits.arriving_bytes_max = section.bytes(
      {"arriving",
       "Memory, for each worker, for requests that have not arrived completely: header fields, and "
       "bodies up to `from` in `[spool]`. Beyond it, requests end likewise with 408, before their "
       "`header` or `body` is over. Requests that wait for others of the same client may take half "
       "of it; then they are answered 503 (`too-much-arriving`), or over HTTP/1 dropped: the "
       "connection ends after the answer before them. Requests that wait for their answers may "
       "hold as much again. Beyond it, each connection has 16 KiB of them at a time, or one, and "
       "its others wait."},
      kMiB, 1024 * kGiB, 256 * kMiB);
  return limits;
}

}  // namespace prophecy::sketcher
