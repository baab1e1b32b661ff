#include "bench/load/pbft_load_command.hpp"

#include <iostream>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "bench/load/pbft_load.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

struct PbftOptions {
  std::string group_file;
  std::string key_file;
  NodeId client_id = kFirstClientId;
  bool read_only = false;
  double warm_up_seconds = 1;
  double seconds = 5;
  PbftLoadSettings load;
};

int complain(const Error& error, int status) {
  std::cerr << "prophecy-bench: " << error.message << '\n';
  return status;
}

Duration duration_of(double count) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(count));
}

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double micros_of(Duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

Json report_json(const PbftLoadReport& report) {
  return {
      {"event", "done"},
      {"seconds", seconds_of(report.measured)},
      {"agreed", report.agreed},
      {"failed", report.failed},
      {"wrong_results", report.wrong_results},
      {"fell_back", report.fell_back},
      {"retransmissions", report.retransmissions},
      {"operations_per_second", static_cast<double>(report.agreed) / seconds_of(report.measured)},
      {"latency_us",
       {{"mean", micros_of(report.latency.mean())},
        {"p50", micros_of(report.latency.quantile(0.5))},
        {"p90", micros_of(report.latency.quantile(0.9))},
        {"p99", micros_of(report.latency.quantile(0.99))},
        {"p999", micros_of(report.latency.quantile(0.999))},
        {"max", micros_of(report.latency.max())}}},
      {"cpu_seconds", {{"user", seconds_of(report.user)}, {"system", seconds_of(report.system)}}}};
}

// One line of JSON an event, at once: whoever reads it wants to look at the replicas then.
void print(const Json& event) {
  std::cout << event.dump() << std::endl;
}

int run_pbft(const PbftOptions& options) {
  const auto group = pbft::load_group_file(options.group_file);
  if (!group) return complain(group.error(), 2);
  PbftLoadSettings settings = options.load;
  if (settings.connections > settings.clients) {
    return complain({ErrorKind::invalid, "--connections: more than there are clients"}, 2);
  }
  std::vector<pbft::KeyRing> keys;
  for (std::uint32_t i = 0; i < settings.connections; ++i) {
    auto ring = pbft::load_key_ring(*group, options.client_id, options.key_file);
    if (!ring) return complain(ring.error(), 2);
    keys.push_back(std::move(*ring));
  }
  auto links = pbft::load_link_tls(*group, options.client_id, options.key_file);
  if (!links) return complain(links.error(), 2);
  settings.links = std::move(*links);
  settings.kind = options.read_only ? pbft::CallKind::read_only : pbft::CallKind::ordered;
  settings.warm_up = duration_of(options.warm_up_seconds);
  settings.duration = duration_of(options.seconds);
  settings.first_timestamp = static_cast<std::uint64_t>(
      std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
  boost::asio::io_context io(1);  // this thread only
  int status = 1;
  PbftLoad load(io, settings, *group, keys,
                {.on_measuring =
                     [] {
                       print({{"event", "measuring"}});
                     },
                 .on_done =
                     [&](const PbftLoadReport& report) {
                       print(report_json(report));
                       status = report.agreed > 0 ? 0 : 1;
                       if (status != 0) {
                         complain({ErrorKind::unavailable, "no call was agreed on in time"}, 1);
                       }
                     },
                 .on_failed = [](const Error& error) { complain(error, 1); }});
  load.start();
  io.run();
  return status;
}

}  // namespace

void add_pbft_load_command(Command program) {
  auto options = std::make_shared<PbftOptions>();
  const Command command = program.add_command(
      "pbft", "Calls replicas with a service for measurements, each client one call at a time");
  command.add("--group", options->group_file, "The group file").required();
  command.add("--key-file", options->key_file, "The client's private keys").required();
  command.add("--client-id", options->client_id, "The client's id in the group file")
      .between(kFirstClientId, kLastClientId)
      .shows_default();
  command.add("--clients", options->load.clients, "Calls in flight, a session each")
      .between(1u, pbft::kSessionsMax)
      .shows_default();
  command
      .add("--connections", options->load.connections,
           "Connections to each replica that the clients share")
      .between(1u, 64u)
      .shows_default();
  command.flag("--read-only", options->read_only, "Outside the order, in place of ordered");
  command.flag("--tentative", options->load.tentative,
               "For replicas that execute what is prepared");
  command
      .add("--operation-bytes", options->load.operation_bytes,
           "Size of an operation; a read's has one byte at least")
      .between(std::size_t{0}, pbft::kOperationBytesMax)
      .shows_default();
  command
      .add("--result-bytes", options->load.result_bytes,
           "Size that a result has to have; the replicas' configuration decides on it")
      .between(std::size_t{0}, pbft::kResultBytesMax)
      .shows_default();
  command.add("--warm-up", options->warm_up_seconds, "Seconds before measuring")
      .within(0.0, 3600.0)
      .shows_default();
  command.add("--seconds", options->seconds, "Seconds to measure")
      .within(0.01, 86400.0)
      .shows_default();
  command
      .add("--operations", options->load.operations_max,
           "Ends once so many calls are agreed, if that is earlier")
      .between(1, UINT64_MAX);
  command.on_run([options] { return run_pbft(*options); });
}

}  // namespace prophecy::tools
