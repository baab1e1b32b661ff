#include "pbft/replica/replica_config.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <unistd.h>

#include "base/config/shared_settings.hpp"
#include "base/file.hpp"
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
// their logs to catch up: some seconds of small batches. In large groups, as far as their
// view-change messages allow. As many are retained as find room beside the window in a ring of
// this length, which is made as a whole when the replica starts.
constexpr std::uint64_t kWindowBatchesMax = 8192;
constexpr std::uint64_t kRingBatches = 2 * kWindowBatchesMax;

// What a request has beside its body.
constexpr std::uint64_t kRequestHeadBytesMax = std::uint64_t{1} << 20;
constexpr std::uint64_t kBodyInMemoryBytesMax = std::uint64_t{128} << 20;
constexpr std::uint64_t kBodyBytesDefault = std::uint64_t{1} << 30;

constexpr Duration kTimeToleranceMax = std::chrono::hours(24);

void read_replica(ConfigSection section, ReplicaConfig& config) {
  config.id = static_cast<NodeId>(
      section.number({"id", "This replica's number in the group file."}, 0, kReplicasMax - 1));
  config.group_file = section.path({"group", "The group file."});
  config.key_file = section.path({"key_file", "Its private keys, mode 0600."});
  config.core_dumps = section.flag({"core_dumps",
                                    "Whether a crash may leave a core file, and whether a debugger "
                                    "of the same user may attach. A core file holds the keys."},
                                   false);
  if (section.has("listen"))
    config.listen = section.endpoint(
        Key{"listen", "Address to accept sketchers and other agents on."}.otherwise(
            "its address in the group file"));
  if (section.has("admin"))
    config.admin =
        section.socket_path(Key{"admin",
                                "Unix socket for prophecyctl(1). A stale socket is replaced; any "
                                "other file there is an error."}
                                .otherwise("none"));
  if (section.has("metrics"))
    config.metrics = section.endpoint(
        Key{"metrics",
            "Address that answers `GET /metrics` for Prometheus. There is no access "
            "control: keep it on the loopback, or on a network of operators. With "
            "port 0 the system chooses one, which `prophecyctl status` shows."}
            .otherwise("none"));
  config.key_refresh_interval = section.duration(
      {"key_refresh_interval",
       "Time between new session keys. Previous keys are accepted for as long again."},
      kKeyRefreshMin, kKeyRefreshMax, config.key_refresh_interval);
  config.core.agreed_time_tolerance = section.duration(
      {"agreed_time_tolerance",
       "Largest difference between the time in the primary's proposal and this machine's clock. "
       "Proposals beyond it are rejected, counted as `time_refused` and logged as `clocks-differ`. "
       "An agent whose clock differs by more than that from the others' counts as faulty: keep "
       "clocks with NTP."},
      milliseconds(100), kTimeToleranceMax, seconds(5));
  config.core.view_change_timeout = section.duration(
      {"view_change_timeout",
       "A request that is known here and not ordered within this time makes this agent ask for "
       "another primary. The time doubles with each view that orders nothing, up to 30 s. Set it "
       "well above a round trip between agents plus a write to their disks, stalls included: "
       "replacing a correct primary does no harm, but requests wait meanwhile. A silent primary, "
       "or "
       "one whose machine is dead, is detected no sooner than this. One whose process has ended is "
       "replaced without it: its connections end, and its machine refuses others (logged as "
       "`peer-gone`)."},
      milliseconds(100), config.core.view_change_timeout_max, config.core.view_change_timeout);
  config.core.tentative_execution =
      section.choice(
          {"execute_when",
           "With `prepared`, requests are executed, and answered, one message delay before they "
           "are committed. If they then are not, which takes a failing primary, the origin is "
           "restored to the last checkpoint, and the later batches are executed again. Choose it "
           "only where a restored state undoes everything that an origin does."},
          {"committed", "prepared"}, 0) == 1;
}

void read_http(ConfigSection& section, http::OriginSettings& origin, OriginTimes& times) {
  origin.address = section.endpoint({"origin", "Address of the HTTP server."});
  if (origin.address.port == 0) section.mistake("origin", "expected a port other than 0");
  origin.connections_max = section.number(
      {"connections_max",
       "Connections to it. The limit on open files is raised as far as the system allows; if the "
       "agent may need more, the event `too-few-descriptors` warns at the start. With too few for "
       "its store and its peers it does not start."},
      1, 4096, 64);
  origin.send_proxy = static_cast<http::ProxyAnnouncement>(
      section.choice({"send_proxy",
                      "`\"v1\"` or `\"v2\"`: connections to it begin with a PROXY header, which "
                      "names the two ends of the connection itself."},
                     {"off", "v1", "v2"}, 0));
  origin.queue_max = SIZE_MAX;  // the core bounds what runs at a time
  times.connect = section.duration({"connect_timeout", "Time to connect to it."}, milliseconds(1),
                                   seconds(60), seconds(1));
  times.answer = section.duration({"answer_timeout",
                                   "Time for its answer. With each 8 MiB that it takes of a "
                                   "request outside memory, the time begins anew."},
                                  milliseconds(10), seconds(600), seconds(10));
  times.idle = section.duration({"idle_timeout", "Unused connections are closed after this time."},
                                milliseconds(10), seconds(600), seconds(4));
  origin.answer_limits.header_bytes_max = kAnswerHeadBytesMax / 4;
  origin.answer_limits.header_count_max = 1024;
  origin.answer_limits.body_bytes_max = section.bytes(
      {"answer_bytes_max",
       "Length of its body, where it is held as a whole. A larger answer to a GET than the group's "
       "`whole_answer` is hashed in blocks while it arrives; each block has the time of an answer, "
       "and the whole 120 seconds. Its header is bounded by 128 KiB and 1024 fields."},
      1, kAnswerBytesMax, kAnswerBytesDefault);
}

constexpr std::uint64_t kStateBytesMax = std::uint64_t{1} << 40;

std::vector<std::string> read_patterns(ConfigSection& section, const Key& key) {
  std::vector<std::string> patterns = section.texts(key, std::vector<std::string>());
  for (const std::string& pattern : patterns) {
    if (pattern.empty() || pattern.front() == '/') {
      section.mistake(key.name, pattern,
                      "expected patterns of names, or of paths below state_folder");
    }
  }
  return patterns;
}

void read_state_folder(ConfigSection& section, FolderSettings& settings) {
  settings.folder = section.path(
      {"state_folder",
       "The folder. It has to exist, and this user has to be able to read and write it."});
  settings.exclude = read_patterns(
      section, {"state_exclude",
                "Patterns, as in fnmatch(3), of the paths in it that are not part of the state. A "
                "pattern without a slash is compared with the last name of a path, one with a "
                "slash with the path below the folder; `*` matches slashes too."});
  settings.covered_times = read_patterns(
      section,
      {"state_times", "Patterns of files whose modification times are part of the state."});
  settings.bytes_max = section.bytes(
      {"state_bytes_max",
       "Most bytes in its files. Beyond it, requests that write are answered 507, except DELETE."},
      1, kStateBytesMax, FolderSettings{}.bytes_max);
  settings.bytes_beyond = kStateBytesBeyond;
  settings.files_beyond = kStateFilesBeyond;
  settings.files_max =
      section.number({"state_files_max", "Most files, folders and links in it; likewise."}, 1,
                     100'000'000, FolderSettings{}.files_max);
  if (settings.folder.empty()) return;  // said already
  std::error_code ignored;
  if (!std::filesystem::is_directory(settings.folder, ignored)) {
    section.mistake("state_folder", "expected a folder");
  } else if (::access(settings.folder.c_str(), R_OK | W_OK | X_OK) != 0) {
    section.mistake("state_folder", "expected a folder that this user may read and write");
  }
}

std::vector<std::string> read_command(ConfigSection& section, const Key& key) {
  std::vector<std::string> command = section.texts(key);
  if (command.empty() || !std::filesystem::path(command.front()).is_absolute()) {
    section.mistake(key.name, "expected a list: the absolute path of a program, and its arguments");
  } else if (::access(command.front().c_str(), X_OK) != 0) {
    section.mistake(key.name, command.front(), "expected a program that this user may run");
  }
  return command;
}

void read_state_command(ConfigSection& section, CommandSettings& settings) {
  settings.dump = read_command(
      section, {"state_dump",
                "A list: the absolute path of a program, and its arguments. It writes the state to "
                "its standard output; equal states have to give equal bytes."});
  settings.load = read_command(
      section, {"state_load",
                "A list: the absolute path of a program, and its arguments. It replaces the state "
                "by its standard input, of `STATE_BYTES` bytes, a variable of its environment. A "
                "shorter input is that of an agent which has ended, and is not to be committed."});
  settings.timeout = section.duration(
      {"state_timeout", "`state_dump` and `state_load` are killed after this time."},
      milliseconds(100), seconds(3600), settings.timeout);
  settings.bytes_max = section.bytes(
      {"state_bytes_max",
       "Most bytes of the state. Beyond it, requests that write are answered 507, except DELETE."},
      1, kStateBytesMax, settings.bytes_max);
  settings.bytes_beyond = kStateBytesBeyond;
  settings.verify = section.flag(
      {"state_verify", "After each load, dump the state once more and compare."}, settings.verify);
}

void read_state(ConfigSection& section, StateSettings& state, OriginTimes& times) {
  state.kind = static_cast<StateKind>(section.choice(
      {"state",
       "The origin's state for snapshots and restores; alike at all replicas. `\"stateless\"`: "
       "nothing, the group does not keep the state; `\"directory\"`: the content of a folder; "
       "`\"command\"`: the output of a program. See STATE OF THE ORIGIN in prophecy-replica(8)."},
      {"stateless", "directory", "command"}, 0));
  if (auto kept = section.when(state.kind != StateKind::stateless,
                               "`state` is `\"directory\"` or `\"command\"`")) {
    times.write_settle = kept->duration(
        {"write_settle",
         "A write that got no answer within `answer_timeout` may still be carried out for so long "
         "after its last byte was sent. The agent waits as long before it begins, compares or "
         "restores "
         "anything. Set it above the origin's own limit on a request (`max_execution_time`, "
         "`ProxyTimeout`, a worker's time-out), and that limit below `answer_timeout`: then there "
         "is nothing to wait for."},
        milliseconds(0), seconds(3600), times.write_settle);
  }
  if (auto folder =
          section.when(state.kind == StateKind::directory, "`state` is `\"directory\"`")) {
    read_state_folder(*folder, state.folder);
  }
  if (auto command = section.when(state.kind == StateKind::command, "`state` is `\"command\"`")) {
    read_state_command(*command, state.command);
  }
}

void read_service(ConfigSection section, ServiceConfig& service) {
  service.kind = static_cast<ServiceKind>(section.choice(
      {"kind",
       "`\"http\"`: an origin; `\"null\"`: answers of a given size at once; `\"simulated\"`: "
       "answers of a given size after a given time. The last two are for measurements."},
      {"http", "null", "simulated"}));
  if (auto http = section.when(service.kind == ServiceKind::http, "`kind` is `\"http\"`")) {
    read_http(*http, service.origin, service.times);
    if (section.has("tls"))
      service.origin_tls = transport::read_tls_client(http->section(
          {"tls",
           "Optional: the connections are inside TLS, version 1.2 or later. An origin with another "
           "certificate gets no request, and counts as one that takes no connections."}));
    read_state(*http, service.state, service.times);
  }
  if (auto null = section.when(service.kind == ServiceKind::null, "`kind` is `\"null\"`")) {
    service.answer_bytes =
        null->bytes({"answer_bytes", "Size of an answer."}, 0, kAnswerBytesMax, 0);
  }
  if (auto simulated =
          section.when(service.kind == ServiceKind::simulated, "`kind` is `\"simulated\"`")) {
    service.busy = simulated->duration({"busy", "Processor time to spend on a request."},
                                       microseconds(0), seconds(10));
    service.answer_bytes =
        simulated->bytes({"answer_bytes", "Size of an answer."}, 0, kAnswerBytesMax);
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
void check_apart(ConfigSection service, const ReplicaConfig& config,
                 const std::filesystem::path& configuration) {
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
  check("configuration", configuration);
  if (const auto& tls = config.service.origin_tls) {
    check("origins' CA certificates", tls->ca);
    if (tls->certificate) check("certificate", tls->certificate->chain);
    if (tls->certificate) check("certificate's key", tls->certificate->key);
  }
  if (!config.storage) return;
  check("storage", config.storage->folder);
  if (!config.storage->folder.empty() && is_within(state, config.storage->folder)) {
    service.mistake("state_folder", "expected a folder outside of this replica's storage, " +
                                        config.storage->folder.string());
  }
}

StoreSettings read_storage(ConfigSection section) {
  StoreSettings storage;
  storage.folder = section.path(
      {"folder",
       "The store, mode 0700, made by `--init` once. An agent that finds nothing there, or a "
       "damaged store, which it moves to `folder.damaged-N`, logs `memory-lost` and rejoins its "
       "group: it votes on nothing until a checkpoint lies after every message that it can have "
       "sent. That needs no operator, but the agent is one of the f until then. A store of another "
       "group or replica, or of another life of the group (`founded` in the group file, see "
       "prophecyctl(1)), is rejected."});
  storage.sync = static_cast<SyncPolicy>(section.choice(
      {"sync",
       "`always`: a promise is on the disk before it is sent. `os`: the operating system has it, "
       "which outlasts the end of the process but not a loss of power."},
      {"always", "os"}, 0));
  return storage;
}

// Without a disk they lie in memory.
void read_bodies(ConfigSection section, ReplicaConfig& config) {
  const std::uint64_t body_bytes_max =
      config.storage ? kOperationBytesMax - kRequestHeadBytesMax : kBodyInMemoryBytesMax;
  config.core.body_bytes_max =
      kRequestHeadBytesMax +
      section.bytes(
          Key{"body_bytes_max",
              "A request with a larger body is not ordered; its client gets no answer from "
              "the group. It must be the same at all agents, and not below `body` in "
              "`[limits]` of prophecy-sketcher(8). Bodies lie on the disk; one of this size "
              "for each client may wait there to be ordered."}
              .otherwise("1GiB; 128MiB without `[storage]`")
              .within("1MiB to 16GiB; 128MiB without `[storage]`"),
          1 << 20, body_bytes_max, std::min(body_bytes_max, kBodyBytesDefault));
}

// `configuration`: the file that it is; empty for a mere text.
ReplicaConfig read(ConfigSection root, const std::filesystem::path& configuration) {
  ReplicaConfig config;
  read_replica(root.section("replica"), config);
  config.log = read_log_settings(root.section("log"));
  if (root.has("service")) {
    read_service(root.section("service"), config.service);
  } else {
    root.mistake("service", "expected a table, [service]");
  }
  // What nothing can take back must not be done before it is agreed on.
  if (root.has("service") && config.core.tentative_execution &&
      config.service.kind == ServiceKind::http &&
      config.service.state.kind == StateKind::stateless) {
    root.section("replica").mistake(
        "execute_when",
        "expected \"committed\", or an origin whose state can be restored: "
        "service.state \"directory\" or \"command\"");
  }
  if (root.has("storage")) {
    config.storage = read_storage(root.section(
        {"storage",
         "This replica's promises to its group, and the group's state, on the disk. Without this "
         "table nothing outlasts the process: a restarted agent rejoins as one that has lost its "
         "memory, and when more than f of a group are restarted at a time, acknowledged requests "
         "may be lost. A disk that fails a promise ends the agent, with `store-failed` in its log "
         "and exit status 1. Bodies of requests leave 256 MiB of the file system free for promises "
         "and states. A body that finds no room is dropped after 5 seconds, and counted in "
         "`prophecy_replica_parts_refused_total` and `prophecy_replica_bodies_given_up_total`; "
         "when more than f agents drop a request, its client gets no answer from the group. There "
         "should be room for two bodies of `body_bytes_max` for each client, for two states of the "
         "origin, and for 1 GiB besides. Do not restore a store from a copy: a rolled-back store "
         "cannot be detected, and contradicts the replica's later messages. An empty folder is "
         "safe."}));
    config.service.state.command.lock = config.storage->folder / "state_load.lock";
  }
  check_apart(root.section("service"), config, configuration);
  read_bodies(root.section("replica"), config);
  return config;
}

Result<> finish(ConfigFile& file) {
  return file.finish([](ConfigSection root) { static_cast<void>(read(std::move(root), {})); });
}

Result<ReplicaConfig> read(Result<ConfigFile> file, const std::filesystem::path& path) {
  if (!file) return file.error();
  ReplicaConfig config = read(file->root(), path);
  if (auto checked = finish(*file); !checked) return checked.error();
  return config;
}

// Mistakes in the file itself are added to `others`; one that cannot be read is one of `section`.
std::optional<GroupFile> load_group(ConfigSection section, const std::filesystem::path& path,
                                    std::string& others) {
  if (path.empty()) return std::nullopt;  // a mistake that has been noted
  auto text = read_file(path, ConfigFile::kBytesMax);
  if (!text) {
    section.mistake("group", text.error().message);
    return std::nullopt;
  }
  auto group = parse_group_file(*text, path.string());
  if (group) return std::move(*group);
  others = group.error().message;
  return std::nullopt;
}

std::optional<KeyRing> load_keys(ConfigSection section, const ReplicaConfig& config,
                                 const std::optional<GroupFile>& group) {
  if (!group) {
    if (!config.key_file.empty() && ::access(config.key_file.c_str(), R_OK) != 0)
      section.mistake("key_file", io_error(config.key_file.string()).message);
    return std::nullopt;
  }
  if (config.id >= group->replicas.size()) {
    section.mistake("id", "expected one of the " + std::to_string(group->replicas.size()) +
                              " replicas of " + config.group_file.string() + ", found " +
                              std::to_string(config.id));
    return std::nullopt;
  }
  if (config.key_file.empty()) return std::nullopt;
  auto keys = load_key_ring(*group, config.id, config.key_file);
  if (keys) return std::move(*keys);
  section.mistake("key_file", keys.error().message);
  return std::nullopt;
}

// Null for a plain origin.
std::unique_ptr<transport::TlsClient> load_origin_tls(ConfigSection service,
                                                      const ServiceConfig& config) {
  const auto& tls = config.origin_tls;
  if (!tls || tls->ca.empty() || tls->server_name.empty()) return nullptr;
  if (tls->certificate && (tls->certificate->chain.empty() || tls->certificate->key.empty()))
    return nullptr;
  auto client = transport::TlsClient::load(*tls);
  if (client) return std::move(*client);
  service.mistake("tls", client.error().message);
  return nullptr;
}

}  // namespace

Result<ReplicaConfig> load_replica_config(const std::filesystem::path& path) {
  return read(ConfigFile::load(path), path);
}

Result<ReplicaConfig> parse_replica_config(std::string_view text, std::string name) {
  return read(ConfigFile::parse(text, std::move(name)), {});
}

Result<std::string> dump_replica_config(const std::filesystem::path& path) {
  auto file = ConfigFile::load(path);
  if (!file) return file.error();
  static_cast<void>(read(file->root(), path));
  if (auto checked = finish(*file); !checked) return checked.error();
  return file->dump();
}

std::string describe_replica_config() {
  ConfigFile file = ConfigFile::schema();
  static_cast<void>(read(file.root(), {}));
  return file.describe();
}

Result<ReplicaIdentity> load_replica_identity(const std::filesystem::path& path) {
  auto file = ConfigFile::load(path);
  if (!file) return file.error();
  ConfigSection root = file->root();
  ReplicaConfig config = read(root, path);
  std::string others;  // lines about the group file
  auto group = load_group(root.section("replica"), config.group_file, others);
  auto keys = load_keys(root.section("replica"), config, group);
  auto tls = load_origin_tls(root.section("service"), config.service);
  auto finished = finish(*file);
  if (!finished || !others.empty()) {
    const std::string own = finished ? "" : finished.error().message;
    const char* between = own.empty() || others.empty() ? "" : "\n";
    return Error{ErrorKind::invalid, own + between + others};
  }
  config.core.faults = group->faults;
  config.core.window = std::bit_floor(std::min(kWindowBatchesMax, window_max(group->faults)));
  config.core.retained_batches = kRingBatches - config.core.window - 1;
  if (auto checked = check(config.core); !checked) return checked.error();
  auto links = load_link_tls(*group, config.id, config.key_file);
  if (!links) return links.error();
  ReplicaIdentity identity{std::move(config), std::move(*group), std::move(*keys),
                           std::move(*links), std::move(tls)};
  identity.config.service.origin.tls = identity.origin_tls.get();
  return identity;
}

}  // namespace prophecy::pbft
