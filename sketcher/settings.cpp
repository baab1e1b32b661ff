#include "sketcher/settings.hpp"

#include <algorithm>
#include <thread>

#include "history_table/history_table.hpp"
#include "pbft/core/key_exchange.hpp"
#include "pbft/wire/limits.hpp"
#include "sketcher/counters.hpp"

namespace prophecy::sketcher {
namespace {

const std::vector<std::string> kModes = {"prophecy", "pbft", "pbft-ro"};

constexpr std::size_t kKiB = 1 << 10;
constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kGiB = 1 << 30;
// A whole request travels as one operation. An authority, out of the target or the header, may
// stand in it three times.
constexpr std::size_t kTargetBytesMax = 64 * kKiB;
constexpr std::size_t kHeaderBytesMax = 128 * kKiB;
constexpr std::size_t kHeaderCountMax = 4096;
constexpr std::size_t kBodyBytesMax = 128 * kMiB;
static_assert(kBodyBytesMax + 3 * (kTargetBytesMax + kHeaderBytesMax) + 4 * kHeaderCountMax +
                  4 * kKiB <=
              pbft::kOperationBytesMax);
constexpr std::uint32_t kVoteFaultsMax = (kReplicasMax - 1) / 2;
constexpr Duration kShort = milliseconds(10);
constexpr Duration kLong = std::chrono::hours(1);

void read_sketcher(ConfigSection section, Settings& settings) {
  const std::uint64_t cores =
      std::clamp(std::thread::hardware_concurrency(), 1U, static_cast<unsigned>(kWorkersMax));
  settings.workers = static_cast<std::uint32_t>(section.number("workers", 1, kWorkersMax, cores));
  settings.mode = static_cast<Mode>(section.choice("mode", kModes, 0));
  settings.listen = section.endpoints("listen");
  if (settings.listen.empty()) section.mistake("listen", "expected at least one ADDRESS:PORT");
  settings.hosts = section.texts("hosts", std::vector<std::string>{});
  for (std::string& host : settings.hosts) {
    if (host.empty()) section.mistake("hosts", "expected no empty name");
    std::transform(host.begin(), host.end(), host.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  settings.admin_socket = section.path("admin");
  if (section.has("metrics")) settings.metrics = section.endpoint("metrics");
  if (section.has("divergence_log")) settings.divergence_log = section.path("divergence_log");
}

// What the group file says of another one.
void read_vote_group(ConfigSection root, ConfigSection& section, GroupSettings& group) {
  group.faults = static_cast<std::uint32_t>(section.number("faults", 1, kVoteFaultsMax, 1));
  group.takes_writes = section.choice("writes", {"refuse", "all"}, 0) == 1;
  group.profile = sketch::Profile::from_config(root.section("canonical"));
}

void read_group(ConfigSection root, GroupSettings& group) {
  ConfigSection section = root.section("group");
  group.kind = static_cast<GroupKind>(section.choice("kind", {"pbft", "vote"}, 0));
  group.queue_max = section.number("queue_max", 1, 1'000'000, 1024);
  if (group.kind == GroupKind::vote) return read_vote_group(root, section, group);
  group.file = section.path("file");
  group.client_id = static_cast<NodeId>(
      section.number("client_id", kFirstClientId, kLastClientId, kFirstClientId));
  group.key_file = section.path("key_file");
  group.sessions = static_cast<std::uint32_t>(section.number("sessions", 1, 1024, 64));
  group.deadline = section.duration("deadline", kShort, kLong, seconds(10));
  group.key_refresh_interval = section.duration("key_refresh_interval", pbft::kKeyRefreshMin,
                                                pbft::kKeyRefreshMax, seconds(600));
  group.tentative_execution = section.choice("execute_when", {"committed", "prepared"}, 0) == 1;
}

void read_limits(ConfigSection section, LimitSettings& limits) {
  limits.connections_max = section.number("connections_max", 1, 1'000'000, 10'000);
  // No bound of its own unless asked for: behind a load balancer all clients have one address.
  limits.connections_per_address_max = section.number(
      "connections_per_address_max", 1, limits.connections_max, limits.connections_max);
  limits.request.target_bytes_max = section.bytes("target", 64, kTargetBytesMax, 8 * kKiB);
  limits.request.header_bytes_max = section.bytes("header", 256, kHeaderBytesMax, 32 * kKiB);
  limits.request.header_count_max = section.number("header_count", 1, kHeaderCountMax, 128);
  limits.request.body_bytes_max = section.bytes("body", 0, kBodyBytesMax, 16 * kMiB);
  limits.answer = limits.request;
  limits.answer.body_bytes_max = section.bytes("answer", kKiB, kGiB, 16 * kMiB);
}

void read_timeouts(ConfigSection section, TimeoutSettings& timeouts) {
  timeouts.header = section.duration("header", kShort, kLong, seconds(10));
  timeouts.body = section.duration("body", kShort, kLong, seconds(30));
  timeouts.idle = section.duration("idle", kShort, kLong, seconds(60));
  timeouts.send = section.duration("send", kShort, kLong, seconds(30));
  timeouts.connect = section.duration("connect", kShort, kLong, seconds(1));
  timeouts.answer = section.duration("answer", kShort, kLong, seconds(5));
  timeouts.drain = section.duration("drain", kShort, kLong, seconds(10));
}

// What an address on this machine may also be written as.
Endpoint plain(Endpoint endpoint) {
  constexpr std::string_view kMapped = "::ffff:";
  if (endpoint.address.starts_with(kMapped)) endpoint.address.erase(0, kMapped.size());
  if (endpoint.address == "0.0.0.0") endpoint.address = "127.0.0.1";
  if (endpoint.address == "::") endpoint.address = "::1";
  return endpoint;
}

bool is_loopback(const Endpoint& endpoint) {
  return endpoint.address.starts_with("127.") || endpoint.address == "::1";
}

bool is_any_address(const Endpoint& endpoint) {
  return endpoint.address == "0.0.0.0" || endpoint.address == "::";
}

// Whether a connection to `target` would come out at the listener. What other addresses the machine
// has is not asked: a configuration may be checked elsewhere.
bool reaches(const Endpoint& target, const Endpoint& listener) {
  const bool target_is_v6 = target.address.find(':') != std::string::npos;
  const bool listener_is_v6 = listener.address.find(':') != std::string::npos;
  if (target.port != listener.port || target.port == 0 || target_is_v6 != listener_is_v6) {
    return false;
  }
  return target.address == listener.address || (is_any_address(listener) && is_loopback(target)) ||
         (is_any_address(target) && is_loopback(listener));
}

// Two replicas of one origin would be one vote counted twice, and a sketcher in front of itself a
// loop.
void check_origin_address(ConfigSection& origin, const Endpoint& address,
                          const Settings& settings) {
  const auto same =
      std::find_if(settings.origins.begin(), settings.origins.end(),
                   [&](const OriginAddress& o) { return plain(o.address) == plain(address); });
  if (same != settings.origins.end()) {
    origin.mistake("address", "expected an address of its own, got that of replica " +
                                  std::to_string(same->replica));
  }
  std::vector<Endpoint> listeners = settings.listen;
  if (settings.metrics) listeners.push_back(*settings.metrics);
  for (const Endpoint& listener : listeners) {
    if (!reaches(plain(address), listener)) continue;
    origin.mistake("address", "expected an origin's address, got one where this sketcher listens");
    break;
  }
}

void read_origins(ConfigSection root, Settings& settings) {
  ConfigSection section = root.section("origins");
  settings.origin_connections_max = section.number("connections_max", 1, 65'536, 256);
  settings.origin_pipeline_max = section.number("pipeline_max", 1, 64, 1);
  settings.timeouts.origin_idle = section.duration("idle", kShort, kLong, seconds(4));
  for (ConfigSection& origin : root.sections("origin")) {
    OriginAddress address;
    address.replica = static_cast<NodeId>(origin.number("replica", 0, kReplicasMax - 1));
    address.address = origin.endpoint("address");
    if (!address.address.address.empty()) check_origin_address(origin, address.address, settings);
    settings.origins.push_back(address);
  }
  std::sort(settings.origins.begin(), settings.origins.end(),
            [](const auto& a, const auto& b) { return a.replica < b.replica; });
  for (std::size_t i = 0; i < settings.origins.size(); ++i) {
    if (settings.origins[i].replica == i) continue;
    root.mistake("origin",
                 "expected one [[origin]] for each replica from 0 on, and no two for one");
    break;
  }
  if (settings.origins.empty()) root.mistake("origin", "missing; expected one for each replica");
  const std::size_t votes_needed = 2 * std::size_t{settings.group.faults} + 1;
  if (settings.group.kind == GroupKind::vote && settings.origins.size() < votes_needed) {
    root.mistake("origin", "expected at least " + std::to_string(votes_needed) +
                               " of them, 2 * faults + 1, got " +
                               std::to_string(settings.origins.size()));
  }
}

}  // namespace

std::string_view to_string(Mode mode) {
  return kModes[static_cast<std::size_t>(mode)];
}

Result<Settings> load_settings(const std::filesystem::path& path) {
  auto file = ConfigFile::load(path);
  if (!file) return file.error();
  Settings settings;
  ConfigSection root = file->root();
  read_sketcher(root.section("sketcher"), settings);
  settings.log = read_log_settings(root.section("log"));
  read_group(root, settings.group);
  if (settings.group.kind == GroupKind::vote && settings.mode != Mode::prophecy) {
    root.section("sketcher").mistake("mode", "expected \"prophecy\" with a group of kind vote");
  }
  if (settings.workers * settings.group.sessions > pbft::kSessionsMax) {
    root.section("group").mistake("sessions", "expected workers * sessions to be at most " +
                                                  std::to_string(pbft::kSessionsMax));
  }
  ConfigSection sketch = root.section("sketch");
  settings.sketch_key_file = sketch.path("key_file");
  settings.digest = static_cast<sketch::DigestKind>(sketch.choice("digest", {"sha1", "sha256"}, 0));
  settings.table_bytes =
      root.section("table").bytes("size", HistoryTable::kBytesMin, 1024 * kGiB, 64 * kMiB);
  read_limits(root.section("limits"), settings.limits);
  read_timeouts(root.section("timeouts"), settings.timeouts);
  read_origins(root, settings);
  settings.fail_fast_reads = root.section("test").fraction("fail_fast_reads", 0.0);
  if (auto finished = file->finish(); !finished) return finished.error();
  return settings;
}

}  // namespace prophecy::sketcher
