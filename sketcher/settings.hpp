// The sketcher's configuration, read once by the master before anything is started.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/endpoint.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/log.hpp"
#include "http/parser.hpp"
#include "sketch/sketch.hpp"

namespace prophecy::sketcher {

enum class Mode : std::uint8_t {
  prophecy,  // Algorithm 1
  pbft,      // every request ordered
  pbft_ro,   // reads by PBFT's read-only optimisation, writes ordered
};
[[nodiscard]] std::string_view to_string(Mode mode);

enum class GroupKind : std::uint8_t {
  pbft,  // an agent beside each origin; all requests can be replicated
  vote,  // origins alone
};

struct GroupSettings {
  GroupKind kind = GroupKind::pbft;
  // Of kind vote:
  std::uint32_t faults = 1;  // f; at least 2f+1 origins
  bool takes_writes = false;
  sketch::Profile profile;
  // Of kind pbft:
  std::filesystem::path file;
  NodeId client_id = kFirstClientId;
  std::filesystem::path key_file;
  std::uint32_t sessions = 64;
  Duration deadline{};
  Duration key_refresh_interval{};
  bool tentative_execution = false;  // as the agents' configuration says
  // Of both:
  std::size_t queue_max = 1024;  // replicated requests; for kind pbft those that wait
};

struct LimitSettings {
  std::size_t connections_max = 0;
  std::size_t connections_per_address_max = 0;
  http::MessageLimits request;
  http::MessageLimits answer;
};

struct TimeoutSettings {
  Duration header{}, body{}, idle{}, send{}, connect{}, answer{}, drain{}, origin_idle{};
};

struct OriginAddress {
  NodeId replica = 0;
  Endpoint address;
};

struct Settings {
  std::uint32_t workers = 1;
  Mode mode = Mode::prophecy;
  std::vector<Endpoint> listen;
  std::vector<std::string> hosts;  // lower case; empty: any
  std::filesystem::path admin_socket;
  std::optional<Endpoint> metrics;
  std::optional<std::filesystem::path> divergence_log;
  LogSettings log;
  GroupSettings group;
  std::filesystem::path sketch_key_file;
  sketch::DigestKind digest = sketch::DigestKind::sha1;
  std::size_t table_bytes = 0;
  LimitSettings limits;
  TimeoutSettings timeouts;
  std::size_t origin_connections_max = 0;
  std::size_t origin_pipeline_max = 0;
  std::vector<OriginAddress> origins;  // one for each replica, at the place of its id
  double fail_fast_reads = 0;          // [test]
};

// The error lists every mistake, one a line, with file and line.
[[nodiscard]] Result<Settings> load_settings(const std::filesystem::path& path);

}  // namespace prophecy::sketcher
