// The configuration of one prophecy-replica (examples/replica.toml), and the group it belongs to.
// Loaded and checked as a whole before anything is started; read-only afterwards.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "base/endpoint.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "pbft/core/state/settings.hpp"
#include "pbft/group/group_file.hpp"
#include "pbft/services/http_service.hpp"
#include "pbft/storage/store_settings.hpp"
#include "transport/tls_client.hpp"

namespace prophecy::pbft {

enum class ServiceKind : std::uint8_t { http, null, simulated };

struct ServiceConfig {
  ServiceKind kind = ServiceKind::http;
  http::OriginSettings origin;                             // http
  OriginTimes times;                                       // http
  std::optional<transport::TlsClientSettings> origin_tls;  // http
  StateSettings state;                                     // http
  Duration busy{};                                         // simulated
  std::size_t answer_bytes = 0;                            // null, simulated
};

struct ReplicaConfig {
  NodeId id = 0;
  std::filesystem::path group_file;
  std::filesystem::path key_file;
  std::optional<Endpoint> listen;  // default: the address in the group file
  std::optional<std::filesystem::path> admin;
  std::optional<Endpoint> metrics;
  bool core_dumps = false;
  LogSettings log;
  ServiceConfig service;
  std::optional<StoreSettings> storage;  // without it nothing outlasts the process
  Duration key_refresh_interval = seconds(600);
  ReplicaSettings core;
};

// The error lists every mistake, one a line, with file, line and column.
[[nodiscard]] Result<ReplicaConfig> load_replica_config(const std::filesystem::path& path);
[[nodiscard]] Result<ReplicaConfig> parse_replica_config(std::string_view text, std::string name);

// The configuration in effect, with all defaults, as TOML.
[[nodiscard]] Result<std::string> dump_replica_config(const std::filesystem::path& path);
// Every setting there is; see ConfigFile::describe().
[[nodiscard]] std::string describe_replica_config();

// Everything a replica needs before it opens a socket.
struct ReplicaIdentity {
  ReplicaConfig config;
  GroupFile group;
  KeyRing keys;
  std::shared_ptr<const LinkTls> links;              // null: they are in plain text
  std::unique_ptr<transport::TlsClient> origin_tls;  // null for a plain one
};
[[nodiscard]] Result<ReplicaIdentity> load_replica_identity(const std::filesystem::path& path);

}  // namespace prophecy::pbft
