// Bounds and times of the frame transport, and what it counts. Frames travel on TCP as a 32-bit
// little-endian length and that many bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.hpp"
#include "base/metric.hpp"
#include "pbft/links/link_tls.hpp"

namespace prophecy::pbft {

struct TransportSettings {
  std::size_t frame_bytes_max = 0;  // required; a longer one ends its connection

  std::shared_ptr<const LinkTls> tls = nullptr;  // null: frames travel in plain text

  // Unsent frames of one connection; beyond either bound the oldest is dropped and counted,
  // since the protocol sends again whatever matters.
  std::size_t queue_bytes_max = 64 << 20;
  std::size_t queue_frames_max = 1 << 16;

  // Accepted connections that no member has proven to be its own, and the bytes of incomplete
  // frames that they hold together. Beyond either, the oldest of them is closed, so that strangers
  // can crowd out only each other. These places are apart from all others: a replica whose link has
  // ended comes back however many connections clients have.
  std::size_t unproven_connections_max = 128;
  std::size_t unproven_bytes_max = 128 << 20;

  // Accepted connections that clients have proven, together. Beyond it, the client that has most
  // loses one, so that each has a place as long as there are no more clients than places.
  std::size_t connections_max = 1024;
  // Accepted connections that one client has proven, or one replica. Beyond it, the member's own
  // newest but one is closed. A replica needs one, and another while the first is half open.
  std::size_t connections_per_client_max = 128;
  std::size_t connections_per_replica_max = 8;

  struct BytesLimit {
    std::size_t per_member;  // on all its connections; strangers together count as one
    std::size_t clients;     // of all clients; the one that has most gives way
  };
  // Unsent frames on accepted connections. Beyond it, the connection that holds most of them drops
  // its oldest, or is closed when that one is half sent.
  BytesLimit unsent_bytes{.per_member = 64 << 20, .clients = 512 << 20};
  // Incomplete frames on proven connections; two of the largest frames, at least, for each member.
  // Beyond it, the connection that holds most is closed. (Buffers are up to twice as large.)
  BytesLimit pending_bytes{.per_member = 64 << 20, .clients = 512 << 20};

  Duration connect_timeout = seconds(1);    // likewise for the handshake, on both sides
  Duration backoff_min = milliseconds(20);  // between attempts to connect; doubles
  Duration backoff_max = seconds(2);
  // A connection is closed when a frame stays incomplete for so long, or when unsent bytes wait and
  // the other side takes fewer than `stall_bytes` in that time.
  Duration stall_timeout = seconds(20);
  std::size_t stall_bytes = 64 << 10;
};

// Owned by a transport, read by whoever reports on it.
struct TransportCounters {
  std::uint64_t frames_sent = 0;
  std::uint64_t frames_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t dropped_queue_full = 0;     // outgoing frames that met a full queue
  std::uint64_t dropped_not_connected = 0;  // outgoing frames for a node that is away
  std::uint64_t dropped_unproven = 0;       // parts on links that their senders have not proven
  std::uint64_t accepted = 0;
  std::uint64_t closed_limit = 0;     // of the client that had most, when all had too many
  std::uint64_t closed_evicted = 0;   // the oldest unproven one, in favour of another
  std::uint64_t closed_crowded = 0;   // of a member with too many
  std::uint64_t closed_overfull = 0;  // of a member whose connections held too many bytes
  std::uint64_t closed_garbage = 0;   // a frame length out of bounds
  std::uint64_t closed_stalled = 0;   // stall_timeout, or a handshake without end
  std::uint64_t closed_insecure = 0;  // one side alone speaks TLS, or a key is not a member's

  TransportCounters& operator+=(const TransportCounters& other) {
    frames_sent += other.frames_sent;
    frames_received += other.frames_received;
    bytes_sent += other.bytes_sent;
    bytes_received += other.bytes_received;
    dropped_queue_full += other.dropped_queue_full;
    dropped_not_connected += other.dropped_not_connected;
    dropped_unproven += other.dropped_unproven;
    accepted += other.accepted;
    closed_limit += other.closed_limit;
    closed_evicted += other.closed_evicted;
    closed_crowded += other.closed_crowded;
    closed_overfull += other.closed_overfull;
    closed_garbage += other.closed_garbage;
    closed_stalled += other.closed_stalled;
    closed_insecure += other.closed_insecure;
    return *this;
  }
};
inline constexpr Metric kFramesMetric = counter_metric("prophecy_replica_transport_frames_total",
                                                       "messages", "Messages on all connections.")
                                            .by("direction");
inline constexpr Metric kBytesMetric =
    counter_metric("prophecy_replica_transport_bytes_total", "bytes", "Bytes on all connections.")
        .by("direction");
inline constexpr Metric kUnsentMetric =
    counter_metric("prophecy_replica_transport_unsent_total", "messages",
                   "Messages that were dropped unsent.")
        .by("reason");
inline constexpr Metric kClosedMetric =
    counter_metric("prophecy_replica_connections_closed_total", "connections",
                   "Connections closed by this replica, by reason.")
        .by("reason");
inline constexpr auto kTransportTable = metric_table<TransportCounters>(
    "", "transport",
    {metric_row<&TransportCounters::frames_sent>("frames_sent", kFramesMetric, "sent"),
     metric_row<&TransportCounters::frames_received>("frames_received", kFramesMetric, "received"),
     metric_row<&TransportCounters::bytes_sent>("bytes_sent", kBytesMetric, "sent"),
     metric_row<&TransportCounters::bytes_received>("bytes_received", kBytesMetric, "received"),
     metric_row<&TransportCounters::dropped_queue_full>(
         "dropped_queue_full", kUnsentMetric, "queue_full", "The queue to the node was full."),
     metric_row<&TransportCounters::dropped_not_connected>("dropped_not_connected", kUnsentMetric,
                                                           "not_connected", "The node was away."),
     metric_row<&TransportCounters::dropped_unproven>(
         "dropped_unproven",
         counter_metric("prophecy_replica_transport_unproven_parts_total", "messages",
                        "Parts that came on connections which their senders had not proven to be "
                        "their own, or on links that this replica had opened.")),
     metric_row<&TransportCounters::accepted>(
         "accepted", counter_metric("prophecy_replica_connections_total", "connections",
                                    "Accepted connections.")),
     metric_row<&TransportCounters::closed_limit>("closed_limit", kClosedMetric, "limit",
                                                  "Clients had too many connections; the client "
                                                  "with most lost one."),
     metric_row<&TransportCounters::closed_evicted>(
         "closed_evicted", kClosedMetric, "evicted",
         "The oldest unproven one, in favour of another."),
     metric_row<&TransportCounters::closed_crowded>("closed_crowded", kClosedMetric, "crowded",
                                                    "The member had too many connections."),
     metric_row<&TransportCounters::closed_overfull>(
         "closed_overfull", kClosedMetric, "overfull",
         "The member's connections, or all clients', held too many bytes."),
     metric_row<&TransportCounters::closed_garbage>("closed_garbage", kClosedMetric, "garbage",
                                                    "A frame length out of bounds."),
     metric_row<&TransportCounters::closed_stalled>(
         "closed_stalled", kClosedMetric, "stalled",
         "The other side took too little in 20 s, left a frame incomplete for as long, or did not "
         "finish the TLS handshake."),
     metric_row<&TransportCounters::closed_insecure>(
         "closed_insecure", kClosedMetric, "insecure",
         "One side alone encrypts links, or a key is not the one in the group file.")});
[[nodiscard]] inline std::uint64_t unsent_frames(const TransportCounters& sent,
                                                 std::size_t /*number*/) {
  return sent.dropped_queue_full + sent.dropped_not_connected;
}
// Of what is sent to one other replica.
inline constexpr auto kPeerTransportTable = metric_table<TransportCounters>(
    "peer, address", "peers[]",
    {metric_row<&TransportCounters::bytes_sent>(
         "bytes_sent", counter_metric("prophecy_replica_peer_sent_bytes_total", "bytes",
                                      "Bytes sent to the peer.")),
     MetricRow<TransportCounters>{"unsent",
                                  counter_metric("prophecy_replica_peer_unsent_total", "messages",
                                                 "Messages to the peer that were dropped unsent."),
                                  "", "", unsent_frames}});
inline constexpr Metric kConnectionsMetric =
    gauge_metric("prophecy_replica_connections", "connections",
                 "Accepted connections that are open.")
        .about("The status has it as `transport.inbound`.");

}  // namespace prophecy::pbft
