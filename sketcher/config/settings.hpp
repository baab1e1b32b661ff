// The sketcher's configuration, read once by the master before anything is started.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "base/account.hpp"
#include "base/config/config.hpp"
#include "base/endpoint.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "sketch/sketch.hpp"
#include "sketcher/config/compression_settings.hpp"
#include "sketcher/config/forwarding_settings.hpp"
#include "sketcher/config/group_settings.hpp"
#include "sketcher/config/limit_settings.hpp"
#include "sketcher/config/listener_settings.hpp"
#include "sketcher/config/ring_settings.hpp"
#include "sketcher/config/route_settings.hpp"
#include "sketcher/config/spool_settings.hpp"
#include "sketcher/config/timeout_settings.hpp"

namespace prophecy::sketcher {

// The bound of `workers`.
constexpr std::size_t kWorkersMax = 64;

struct Settings {
  std::uint32_t workers = 1;
  std::vector<ListenerSettings> listeners;
  std::filesystem::path admin_socket;
  std::filesystem::path state_file;  // of what operators switch
  std::optional<RingSettings> ring;
  std::optional<Endpoint> metrics;
  std::optional<std::filesystem::path> divergence_log;
  std::uint64_t divergence_log_bytes_max = 0;
  std::optional<std::filesystem::path> access_log;
  std::optional<Account> account;     // that children of a master run by root go on as
  Duration certificates_looked_at{};  // so often; zero: never
  std::optional<std::filesystem::path> acme_challenges;  // folder
  bool core_dumps = false;
  LogSettings log;
  sketch::Forwarding forwarding;
  std::vector<GroupSettings> groups;
  std::vector<RouteSettings> routes;
  std::filesystem::path sketch_key_file;
  sketch::DigestKind digest = sketch::DigestKind::sha1;
  std::size_t table_bytes = 0;
  std::optional<std::filesystem::path> table_file;  // that the table outlives the processes in
  std::size_t block_store_bytes = 0;
  double not_found_share = 0;      // of the table
  std::size_t activity_bytes = 0;  // of all workers
  CompressionLimits compression;
  LimitSettings limits;
  SpoolSettings spool;
  TimeoutSettings timeouts;
  std::size_t origin_connections_max = 0;
  std::size_t origin_pipeline_max = 0;
  std::size_t origin_streams_max = 0;  // likewise
  std::size_t origin_tunnels_max = 0;  // beside these connections
  double fail_fast_reads = 0;          // [test]
};

// A configuration that may have mistakes, and to whose mistakes others can be added.
struct SettingsFile {
  ConfigFile file;
  Settings settings;
};
[[nodiscard]] Result<SettingsFile> read_settings(const std::filesystem::path& path);
// The error lists every mistake, one a line, with file, line and column.
[[nodiscard]] Result<> finish(SettingsFile& settings);

// Both.
[[nodiscard]] Result<Settings> load_settings(const std::filesystem::path& path);

// The configuration in effect, with all defaults, as TOML.
[[nodiscard]] Result<std::string> dump_settings(const std::filesystem::path& path);
// Every setting there is; see ConfigFile::describe().
[[nodiscard]] std::string describe_settings();

}  // namespace prophecy::sketcher
