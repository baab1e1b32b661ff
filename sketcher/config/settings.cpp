#include "sketcher/config/settings.hpp"

#include <algorithm>
#include <thread>

#include "history_table/history_table.hpp"
#include "pbft/wire/limits.hpp"
#include "sketcher/config/setting_bounds.hpp"
#include "sketcher/core/read/divergence.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::size_t kKiB = 1 << 10;
constexpr std::size_t kMiB = 1 << 20;
constexpr std::size_t kGiB = 1 << 30;
// A whole request travels as one operation. An authority, out of the target or the header, may
// stand in it three times.
constexpr std::size_t kTargetBytesMax = 64 * kKiB;
constexpr std::size_t kHeaderBytesMax = 128 * kKiB;
constexpr std::size_t kHeaderCountMax = 4096;
constexpr std::size_t kBodyBytesMax = 16 * kGiB;
static_assert(kBodyBytesMax + 3 * (kTargetBytesMax + kHeaderBytesMax) + 4 * kHeaderCountMax +
                  4 * kKiB <=
              pbft::kOperationBytesMax);

std::optional<Account> read_account(ConfigSection& section) {
  if (!section.has("user")) {
    if (section.has("group")) section.mistake("group", "expected user as well");
    return std::nullopt;
  }
  std::optional<std::string> group;
  if (section.has("group")) group = section.text("group");
  auto account = find_account(section.text("user"), group);
  if (account) return std::move(*account);
  section.mistake("user", account.error().message);
  return std::nullopt;
}

void read_sketcher(ConfigSection section, Settings& settings) {
  const std::uint64_t cores =
      std::clamp(std::thread::hardware_concurrency(), 1U, static_cast<unsigned>(kWorkersMax));
  settings.workers = static_cast<std::uint32_t>(section.number("workers", 1, kWorkersMax, cores));
  settings.account = read_account(section);
  settings.core_dumps = section.flag("core_dumps", false);
  settings.admin_socket = section.path("admin");
  settings.state_file = settings.admin_socket.string() + ".state";
  if (section.has("state_file")) settings.state_file = section.path("state_file");
  if (section.has("metrics")) settings.metrics = section.endpoint("metrics");
  if (section.has("divergence_log")) settings.divergence_log = section.path("divergence_log");
  settings.divergence_log_bytes_max =
      section.bytes("divergence_log_bytes_max", kEventBytesMax + kKiB, 1024 * kGiB, kGiB);
}

void read_limits(ConfigSection section, LimitSettings& limits) {
  limits.connections_max = section.number("connections_max", 1, 1'000'000, 10'000);
  // No bound of its own unless asked for: behind a load balancer all clients have one address.
  limits.connections_per_address_max = section.number(
      "connections_per_address_max", 1, limits.connections_max, limits.connections_max);
  limits.ipv6_prefix_bits = static_cast<unsigned>(section.number("ipv6_prefix", 48, 128, 64));
  limits.request.target_bytes_max = section.bytes("target", 64, kTargetBytesMax, 8 * kKiB);
  limits.request.header_bytes_max = section.bytes("header", 256, kHeaderBytesMax, 32 * kKiB);
  limits.request.header_count_max = section.number("header_count", 1, kHeaderCountMax, 128);
  limits.request.body_bytes_max = section.bytes("body", 0, kBodyBytesMax, 16 * kMiB);
  limits.answer = limits.request;
  limits.answer.body_bytes_max = section.bytes("answer", kKiB, kGiB, 16 * kMiB);
  limits.untaken_bytes_max = section.bytes("untaken", kMiB, 1024 * kGiB, 512 * kMiB);
  const std::uint64_t answer_bytes = limits.answer.body_bytes_max;
  limits.coming_bytes_max =
      section.bytes("answers_coming", std::max<std::uint64_t>(kMiB, 2 * answer_bytes), 1024 * kGiB,
                    std::max(256 * kMiB, 4 * answer_bytes));
  limits.arriving_bytes_max = section.bytes("arriving", kMiB, 1024 * kGiB, 256 * kMiB);
}

void read_timeouts(ConfigSection section, std::uint64_t body_bytes_max, TimeoutSettings& timeouts) {
  timeouts.header = section.duration("header", kDurationMin, kDurationMax, seconds(10));
  timeouts.body = section.duration("body", kDurationMin, kDurationMax, seconds(30));
  // What is at least as fast as [spool] has it by default has its time.
  const Duration slow_body = seconds(body_bytes_max / kSpoolRateMin);
  timeouts.body_total = section.duration("body_total", kDurationMin, 24 * 30 * kDurationMax,
                                         std::max(kDurationMax, slow_body));
  timeouts.idle = section.duration("idle", kDurationMin, kDurationMax, seconds(60));
  timeouts.send = section.duration("send", kDurationMin, kDurationMax, seconds(30));
  timeouts.connect = section.duration("connect", kDurationMin, kDurationMax, seconds(1));
  timeouts.answer = section.duration("answer", kDurationMin, kDurationMax, seconds(5));
  timeouts.tunnel = section.duration("tunnel", kDurationMin, 24 * kDurationMax, kDurationMax);
  timeouts.total = section.duration("total", kDurationMin, kDurationMax, seconds(30));
  timeouts.drain = section.duration("drain", kDurationMin, kDurationMax, seconds(10));
}

void read_origins(ConfigSection section, Settings& settings) {
  settings.origin_connections_max = section.number("connections_max", 1, 65'536, 256);
  settings.origin_pipeline_max = section.number("pipeline_max", 1, 64, 1);
  settings.origin_tunnels_max = section.number("tunnels_max", 1, 65'536, 256);
  settings.timeouts.origin_idle = section.duration("idle", kDurationMin, kDurationMax, seconds(4));
}

// Where this sketcher listens.
std::vector<Endpoint> own_addresses(const Settings& settings) {
  std::vector<Endpoint> own;
  for (const ListenerSettings& listener : settings.listeners)
    own.push_back(listener.address);
  if (settings.metrics) own.push_back(*settings.metrics);
  return own;
}

}  // namespace

Result<Settings> load_settings(const std::filesystem::path& path) {
  auto file = ConfigFile::load(path);
  if (!file) return file.error();
  Settings settings;
  ConfigSection root = file->root();
  read_sketcher(root.section("sketcher"), settings);
  settings.log = read_log_settings(root.section("log"));
  settings.forwarding = read_forwarding(root.section("forwarding"));
  settings.listeners = read_listeners(root);
  settings.groups = read_groups(root, settings.workers, own_addresses(settings));
  settings.routes = read_routes(root, settings.groups);
  ConfigSection sketch = root.section("sketch");
  settings.sketch_key_file = sketch.path("key_file");
  // In the order of DigestKind.
  settings.digest = static_cast<sketch::DigestKind>(sketch.choice(
      "digest", {"sha1", "sha256", "gmac"}, static_cast<std::size_t>(settings.digest)));
  ConfigSection table = root.section("table");
  settings.table_bytes = table.bytes("size", HistoryTable::kBytesMin, 1024 * kGiB, 64 * kMiB);
  if (table.has("file")) settings.table_file = table.path("file");
  settings.block_store_bytes =
      table.bytes("blocks", BlockStore::kBytesMin, BlockStore::kBytesMax, 16 * kMiB);
  settings.not_found_share = table.fraction("not_found_share", HistoryTable::kLimitedShare);
  settings.activity_bytes = table.bytes("activity", kMiB, 64 * kMiB, 4 * kMiB);
  read_limits(root.section("limits"), settings.limits);
  settings.spool = read_spool(root.section("spool"), settings.limits.request.body_bytes_max);
  read_timeouts(root.section("timeouts"), settings.limits.request.body_bytes_max,
                settings.timeouts);
  read_origins(root.section("origins"), settings);
  settings.fail_fast_reads = root.section("test").fraction("fail_fast_reads", 0.0);
  if (auto finished = file->finish(); !finished) return finished.error();
  return settings;
}

}  // namespace prophecy::sketcher
