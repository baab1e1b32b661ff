// [[group]]: origins that answer alike, and how their agreement is had.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/config/config.hpp"
#include "base/endpoint.hpp"
#include "base/ids.hpp"
#include "canonical/profile.hpp"
#include "http/client/origin_pool.hpp"
#include "sketcher/config/health_settings.hpp"
#include "sketcher/config/origin_address.hpp"
#include "sketcher/config/shadow_settings.hpp"

namespace prophecy::sketcher {

constexpr std::size_t kGroupsMax = 64;

enum class GroupKind : std::uint8_t {
  pbft,  // an agent beside each origin; all requests can be replicated
  vote,  // origins alone
};

struct GroupSettings {
  std::string name;
  GroupKind kind = GroupKind::pbft;
  std::uint32_t first_origin = 0;      // the number of the first among the origins of all groups
  std::uint32_t first_shadow = 0;      // likewise
  std::vector<OriginAddress> origins;  // one for each replica, at the place of its id
  std::vector<ShadowSettings> shadows;
  HealthSettings health;
  // Of kind vote:
  std::uint32_t faults = 1;  // f; at least 2f+1 origins
  bool takes_writes = false;
  sketch::Profile profile;
  // Of kind pbft:
  std::filesystem::path file;
  std::filesystem::path key_file;
  NodeId client_id = kFirstClientId;
  std::uint32_t sessions = 64;
  Duration deadline{};
  Duration key_refresh_interval{};
  bool tentative_execution = false;  // as the agents' configuration says
  bool linearizable_reads = false;   // a route has its reads by the read-only optimisation
  // Of both:
  std::size_t queue_max = 1024;  // replicated requests; for kind pbft those that wait
  http::ProxyAnnouncement send_proxy = http::ProxyAnnouncement::none;
};

// Whether a tunnel may lead to its origins. What goes through one is neither enciphered nor
// announced.
[[nodiscard]] bool may_be_tunnelled(const GroupSettings& group);

// An origin at one of `own`, where this sketcher itself listens, is a mistake.
[[nodiscard]] std::vector<GroupSettings> read_groups(ConfigSection root, std::uint32_t workers,
                                                     std::span<const Endpoint> own);

}  // namespace prophecy::sketcher
