#include "pbft/replica/replica_config.hpp"

#include <algorithm>

#include <unistd.h>

#include "base/config.hpp"
#include "pbft/core/key_exchange.hpp"
#include "pbft/wire/limits.hpp"
#include "transport/tls_client_settings.hpp"

namespace prophecy::pbft {

namespace {

// What an answer's head may add to its body in the encoded result.
constexpr std::size_t kAnswerHeadBytesMax = 512 << 10;
constexpr std::size_t kAnswerBytesMax = kResultBytesMax - kAnswerHeadBytesMax;
constexpr std::size_t kAnswerBytesDefault = 16 << 20;
static_assert(kAnswerBytesDefault <= kAnswerBytesMax);

// How far the others may go ahead of a replica that is slow for a while, before it needs more than
// their logs to catch up: some seconds of small batches. As many are retained as find room beside
// the window in a ring of twice its length, which is made as a whole when the replica starts.
constexpr std::uint64_t kWindowBatches = 8192;
constexpr std::uint64_t kRetainedBatches = kWindowBatches - 1;

// What a request has beside its body.
constexpr std::uint64_t kRequestHeadBytesMax = std::uint64_t{1} << 20;
constexpr std::uint64_t kBodyInMemoryBytesMax = std::uint64_t{128} << 20;
constexpr std::uint64_t kBodyBytesDefault = std::uint64_t{1} << 30;

constexpr Duration kTimeToleranceMax = std::chrono::hours(24);

void read_replica(ConfigSection section, ReplicaConfig& config) {
  config.id = static_cast<NodeId>(section.number("id", 0, kReplicasMax - 1));
  config.group_file = section.path("group");
  config.key_file = section.path("key_file");
  config.core_dumps = section.flag("core_dumps", false);
  if (section.has("listen")) config.listen = section.endpoint("listen");
  if (section.has("admin")) config.admin = section.path("admin");
  if (section.has("metrics")) config.metrics = section.endpoint("metrics");
  config.key_refresh_interval = section.duration("key_refresh_interval", kKeyRefreshMin,
                                                 kKeyRefreshMax, config.key_refresh_interval);
  config.core.agreed_time_tolerance =
      section.duration("agreed_time_tolerance", milliseconds(100), kTimeToleranceMax, seconds(5));
  config.core.view_change_timeout =
      section.duration("view_change_timeout", milliseconds(100),
                       config.core.view_change_timeout_max, config.core.view_change_timeout);
  config.core.tentative_execution =
      section.choice("execute_when", {"committed", "prepared"}, 0) == 1;
}

void read_http(ConfigSection& section, http::OriginSettings& origin, OriginTimes& times) {
  origin.address = section.endpoint("origin");
  origin.connections_max = section.number("connections_max", 1, 4096, 64);
  origin.send_proxy =
      static_cast<http::ProxyAnnouncement>(section.choice("send_proxy", {"off", "v1", "v2"}, 0));
  origin.queue_max = SIZE_MAX;  // the core bounds what runs at a time
  times.connect = section.duration("connect_timeout", milliseconds(1), seconds(60), seconds(1));
  times.answer = section.duration("answer_timeout", milliseconds(10), seconds(600), seconds(10));
  times.idle = section.duration("idle_timeout", milliseconds(10), seconds(600), seconds(4));
  origin.answer_limits.header_bytes_max = kAnswerHeadBytesMax / 4;
  origin.answer_limits.header_count_max = 1024;
  origin.answer_limits.body_bytes_max =
      section.bytes("answer_bytes_max", 1, kAnswerBytesMax, kAnswerBytesDefault);
}

constexpr std::uint64_t kStateBytesMax = std::uint64_t{1} << 40;

std::vector<std::string> read_patterns(ConfigSection& section, std::string_view key) {
  std::vector<std::string> patterns = section.texts(key, std::vector<std::string>());
  for (const std::string& pattern : patterns) {
    if (pattern.empty() || pattern.front() == '/') {
      section.mistake(key, "expected patterns of names, or of paths below state_folder");
    }
  }
  return patterns;
}

void read_state_folder(ConfigSection& section, FolderSettings& settings) {
  settings.folder = section.path("state_folder");
  settings.exclude = read_patterns(section, "state_exclude");
  settings.covered_times = read_patterns(section, "state_times");
  settings.bytes_max =
      section.bytes("state_bytes_max", 1, kStateBytesMax, FolderSettings{}.bytes_max);
  settings.files_max =
      section.number("state_files_max", 1, 100'000'000, FolderSettings{}.files_max);
  if (settings.folder.empty()) return;  // said already
  std::error_code ignored;
  if (!std::filesystem::is_directory(settings.folder, ignored)) {
    section.mistake("state_folder", settings.folder.string() + " is not a folder");
  } else if (::access(settings.folder.c_str(), R_OK | W_OK | X_OK) != 0) {
    section.mistake("state_folder",
                    settings.folder.string() + ": this user may not read and write there");
  }
}

std::vector<std::string> read_command(ConfigSection& section, std::string_view key) {
  std::vector<std::string> command = section.texts(key);
  if (command.empty() || !std::filesystem::path(command.front()).is_absolute()) {
    section.mistake(key, "expected a list: the absolute path of a program, and its arguments");
  } else if (::access(command.front().c_str(), X_OK) != 0) {
    section.mistake(key, command.front() + " is no program that this user may run");
  }
  return command;
}

void read_state_command(ConfigSection& section, CommandSettings& settings) {
  settings.dump = read_command(section, "state_dump");
  settings.load = read_command(section, "state_load");
  settings.timeout =
      section.duration("state_timeout", milliseconds(100), seconds(3600), settings.timeout);
  settings.bytes_max = section.bytes("state_bytes_max", 1, kStateBytesMax, settings.bytes_max);
  settings.verify = section.flag("state_verify", settings.verify);
}

void read_state(ConfigSection& section, StateSettings& state) {
  state.kind =
      static_cast<StateKind>(section.choice("state", {"stateless", "directory", "command"}, 0));
  if (state.kind == StateKind::directory) read_state_folder(section, state.folder);
  if (state.kind == StateKind::command) read_state_command(section, state.command);
}

void read_service(ConfigSection section, ServiceConfig& service) {
  service.kind = static_cast<ServiceKind>(section.choice("kind", {"http", "null", "simulated"}));
  if (service.kind == ServiceKind::http) {
    read_http(section, service.origin, service.times);
    if (section.has("tls")) service.origin_tls = transport::read_tls_client(section.section("tls"));
    read_state(section, service.state);
  } else if (service.kind == ServiceKind::null) {
    service.answer_bytes = section.bytes("answer_bytes", 0, kAnswerBytesMax, 0);
  } else {
    service.busy = section.duration("busy", microseconds(0), seconds(10));
    service.answer_bytes = section.bytes("answer_bytes", 0, kAnswerBytesMax);
  }
}

// Equal to `folder`, or below it; links are followed, as far as the paths exist.
bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder) {
  std::error_code ignored;
  const auto whole = std::filesystem::weakly_canonical(path, ignored);
  const auto above = std::filesystem::weakly_canonical(folder, ignored);
  return std::mismatch(above.begin(), above.end(), whole.begin(), whole.end()).first == above.end();
}

// A restore removes what is no part of the state, and a snapshot reads all that is.
void check_apart(ConfigSection service, const ReplicaConfig& config) {
  const std::filesystem::path& state = config.service.state.folder.folder;
  if (config.service.state.kind != StateKind::directory || state.empty()) return;
  if (is_within("/", state)) {
    return service.mistake("state_folder", "expected a folder of the origin's own, and not /");
  }
  const auto check = [&](std::string_view what, const std::filesystem::path& own) {
    if (!own.empty() && is_within(own, state)) {
      service.mistake("state_folder", "expected a folder without this replica's " +
                                          std::string(what) + ", " + own.string());
    }
  };
  check("group file", config.group_file);
  check("key file", config.key_file);
  if (config.admin) check("admin socket", *config.admin);
  if (!config.storage) return;
  check("storage", config.storage->folder);
  if (!config.storage->folder.empty() && is_within(state, config.storage->folder)) {
    service.mistake("state_folder", "expected a folder outside of this replica's storage, " +
                                        config.storage->folder.string());
  }
}

StoreSettings read_storage(ConfigSection section) {
  StoreSettings storage;
  storage.folder = section.path("folder");
  storage.sync = static_cast<SyncPolicy>(section.choice("sync", {"always", "os"}, 0));
  return storage;
}

// Without a disk they lie in memory.
void read_bodies(ConfigSection section, ReplicaConfig& config) {
  const std::uint64_t body_bytes_max =
      config.storage ? kOperationBytesMax - kRequestHeadBytesMax : kBodyInMemoryBytesMax;
  config.core.body_bytes_max =
      kRequestHeadBytesMax + section.bytes("body_bytes_max", 1 << 20, body_bytes_max,
                                           std::min(body_bytes_max, kBodyBytesDefault));
}

Result<ReplicaConfig> read(Result<ConfigFile> file) {
  if (!file) return file.error();
  ReplicaConfig config;
  ConfigSection root = file->root();
  read_replica(root.section("replica"), config);
  config.log = read_log_settings(root.section("log"));
  if (!root.has("service")) root.mistake("service", "expected a table, [service]");
  read_service(root.section("service"), config.service);
  // What nothing can take back must not be done before it is agreed on.
  if (config.core.tentative_execution && config.service.kind == ServiceKind::http &&
      config.service.state.kind == StateKind::stateless) {
    root.section("replica").mistake(
        "execute_when",
        "expected \"committed\", or an origin whose state can be restored: "
        "service.state \"directory\" or \"command\"");
  }
  if (root.has("storage")) {
    config.storage = read_storage(root.section("storage"));
    config.service.state.command.lock = config.storage->folder / "state_load.lock";
  }
  check_apart(root.section("service"), config);
  read_bodies(root.section("replica"), config);
  if (auto checked = file->finish(); !checked) return checked.error();
  return config;
}

}  // namespace

Result<ReplicaConfig> load_replica_config(const std::filesystem::path& path) {
  return read(ConfigFile::load(path));
}

Result<ReplicaConfig> parse_replica_config(std::string_view text, std::string name) {
  return read(ConfigFile::parse(text, std::move(name)));
}

Result<ReplicaIdentity> load_replica_identity(const std::filesystem::path& path) {
  auto config = load_replica_config(path);
  if (!config) return config.error();
  auto group = load_group_file(config->group_file);
  if (!group) return group.error();
  if (config->id >= group->replicas.size()) {
    return Error{ErrorKind::invalid, path.string() +
                                         ": replica.id: " + config->group_file.string() +
                                         " has no replica " + std::to_string(config->id)};
  }
  config->core.faults = group->faults;
  config->core.window = kWindowBatches;
  config->core.retained_batches = kRetainedBatches;
  if (auto checked = check(config->core); !checked) return checked.error();
  auto keys = load_key_ring(*group, config->id, config->key_file);
  if (!keys) return keys.error();
  ReplicaIdentity identity{std::move(*config), std::move(*group), std::move(*keys), nullptr};
  if (identity.config.service.origin_tls) {
    auto client = transport::TlsClient::load(*identity.config.service.origin_tls);
    if (!client) return client.error();
    identity.origin_tls = std::move(*client);
    identity.config.service.origin.tls = identity.origin_tls.get();
  }
  return identity;
}

}  // namespace prophecy::pbft
