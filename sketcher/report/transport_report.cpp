#include "sketcher/report/transport_report.hpp"

#include <nlohmann/json.hpp>

namespace prophecy::sketcher {
namespace {

template <class Pick>
std::uint64_t sum(const SharedState& shared, Pick pick) {
  std::uint64_t total = 0;
  for (std::uint32_t worker = 0; worker < shared.shape().workers; ++worker)
    total += pick(shared.worker(worker)).get();
  return total;
}

}  // namespace

nlohmann::ordered_json transport_json(const SharedState& shared) {
  using Counters = const WorkerCounters&;
  nlohmann::ordered_json ends = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < http::kHttp2EndCount; ++i) {
    ends[std::string(http::to_string(static_cast<http::Http2End>(i)))] =
        sum(shared, [i](Counters counters) -> const Counter& { return counters.http2.ends[i]; });
  }
  const auto tls = [&shared](Counter TlsCounters::*member) {
    return sum(shared, [member](Counters c) -> const Counter& { return c.tls.*member; });
  };
  const auto http2 = [&shared](Counter Http2Counters::*member) {
    return sum(shared, [member](Counters c) -> const Counter& { return c.http2.*member; });
  };
  return {{"tls",
           {{"handshakes", tls(&TlsCounters::handshakes)},
            {"resumed", tls(&TlsCounters::resumed)},
            {"failed", tls(&TlsCounters::failed)}}},
          {"http2",
           {{"connections", http2(&Http2Counters::connections)},
            {"broken_off", http2(&Http2Counters::broken_off)},
            {"ends", ends}}}};
}

void add_transport(http::Exposition& out, const std::string& worker,
                   const WorkerCounters& counters) {
  const auto handshakes = [&](const char* result, std::uint64_t count) {
    out.counter("prophecy_tls_handshakes_total", "TLS handshakes by how they ended.",
                {{"worker", worker}, {"result", result}}, count);
  };
  const std::uint64_t resumed = counters.tls.resumed.get();
  handshakes("full", counters.tls.handshakes.get() - resumed);
  handshakes("resumed", resumed);
  handshakes("failed", counters.tls.failed.get());
  out.counter("prophecy_http2_connections_total", "Clients' connections that spoke HTTP/2.",
              {{"worker", worker}}, counters.http2.connections.get());
  out.counter("prophecy_http2_broken_off_total",
              "Answers broken off because the client did not take them.", {{"worker", worker}},
              counters.http2.broken_off.get());
  for (std::size_t i = 0; i < http::kHttp2EndCount; ++i) {
    const auto end = static_cast<http::Http2End>(i);
    out.counter("prophecy_http2_ends_total", "HTTP/2 connections by why they were ended.",
                {{"worker", worker}, {"reason", std::string(http::to_string(end))}},
                counters.http2.ends[i].get());
  }
}

}  // namespace prophecy::sketcher
