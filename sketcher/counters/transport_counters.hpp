// What is counted of connections, whatever they carry. Part of a worker's counters.
#pragma once

#include <array>

#include "base/counter.hpp"
#include "base/metric.hpp"
#include "http/http2/server_connection.hpp"

namespace prophecy::sketcher {

struct TlsCounters {
  Counter handshakes;
  Counter resumed;  // of those
  Counter failed;   // broken rules, wrong certificates; not those that just went away
};
[[nodiscard]] inline std::uint64_t full_handshakes(const TlsCounters& tls, std::size_t /*number*/) {
  return tls.handshakes.get() - tls.resumed.get();
}
inline constexpr Metric kHandshakesMetric =
    counter_metric("prophecy_tls_handshakes_total", "handshakes",
                   "TLS handshakes of clients by how they ended.")
        .by("result");
inline constexpr auto kTlsTable = metric_table<TlsCounters>(
    "worker", "transport.tls",
    {metric_row<&TlsCounters::handshakes>("handshakes", kNoMetric),
     MetricRow<TlsCounters>{"", kHandshakesMetric, "full", "A new session.", full_handshakes},
     metric_row<&TlsCounters::resumed>("resumed", kHandshakesMetric, "resumed",
                                       "The client resumed a session."),
     metric_row<&TlsCounters::failed>(
         "failed", kHandshakesMetric, "failed",
         "Broken rules and wrong certificates, without clients that just left.")});

struct Http2Counters {
  Counter connections;
  Counter broken_off;                              // answers that the client did not take
  std::array<Counter, http::kHttp2EndCount> ends;  // of connections, by Http2End
};
inline constexpr auto kHttp2Table = metric_table<Http2Counters>(
    "worker", "transport.http2",
    {metric_row<&Http2Counters::connections>(
         "connections", counter_metric("prophecy_http2_connections_total", "connections",
                                       "Clients' connections that spoke HTTP/2.")),
     metric_row<&Http2Counters::broken_off>(
         "broken_off", counter_metric("prophecy_http2_broken_off_total", "answers",
                                      "Answers ended early because the client did not read them.")),
     metric_rows_by<&Http2Counters::ends, http::Http2End>(
         "ends", counter_metric("prophecy_http2_ends_total", "connections",
                                "HTTP/2 connections by why they were ended.")
                     .by("reason",
                         "`none`: by the client; `drained`: idle, or the sketcher stopped; "
                         "`violation` of the protocol; `resets`: too many cancelled requests; "
                         "`frames`: too many frames that carry nothing; "
                         "`fields` beyond all limits."))});

}  // namespace prophecy::sketcher
