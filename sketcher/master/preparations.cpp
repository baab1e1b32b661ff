#include "sketcher/master/preparations.hpp"

#include <cstdint>

#include <unistd.h>

#include "base/account.hpp"
#include "base/random.hpp"
#include "sketcher/config/settings.hpp"
#include "sketcher/master/static_ring.hpp"
#include "sketcher/shared/child_process.hpp"

namespace prophecy::sketcher {
namespace {

// Listeners, channels, agents, logs.
constexpr std::uint64_t kOwnDescriptors = 256;
// With one client, and one connection to each origin.
constexpr std::uint64_t kLeastDescriptors = 64;

}  // namespace

Result<HistoryTable> make_table(const Installation& installation, Logger& log) {
  const Settings& settings = installation.settings;
  static_assert(kGroupsMax * WriteFloors::kSlotsMin * sizeof(WriteFloors::Word) <=
                HistoryTable::kFloorBytesMin);
  const auto groups = static_cast<std::uint32_t>(settings.groups.size());
  std::uint64_t bucket_seed = 0;
  SecureRandom().fill({reinterpret_cast<std::uint8_t*>(&bucket_seed), sizeof bucket_seed});
  auto table =
      settings.table_file
          ? HistoryTable::open(*settings.table_file, settings.table_bytes,
                               installation.table_identity, bucket_seed, settings.block_store_bytes,
                               settings.not_found_share, groups)
          : HistoryTable::create(settings.table_bytes, bucket_seed, settings.block_store_bytes,
                                 settings.not_found_share, groups);
  if (!table) return table;
  table->set_floor_seed(installation.floor_seed);
  if (!table->origin().emptied_for.empty()) {
    log.warning("table-emptied",
                {{"file", settings.table_file->string()}, {"reason", table->origin().emptied_for}});
  }
  return table;
}

Result<SharedState> map_shared_state(const Installation& installation, const HistoryTable& table) {
  const Settings& settings = installation.settings;
  SharedState::Shape shape;
  shape.workers = settings.workers;
  shape.groups = static_cast<std::uint32_t>(settings.groups.size());
  shape.routes = static_cast<std::uint32_t>(settings.routes.size());
  for (const GroupSettings& group : settings.groups) {
    shape.origins += static_cast<std::uint32_t>(group.origins.size());
    shape.shadows += static_cast<std::uint32_t>(group.shadows.size());
  }
  shape.activity_bytes = settings.activity_bytes / settings.workers / 64 * 64;
  for (const GroupInstallation& group : installation.groups)
    shape.fields += static_cast<std::uint32_t>(group.profile.rule_count());
  for (const RouteSettings& route : settings.routes)
    shape.client_limits += route.client_limit ? 1 : 0;
  shape.has_ring = settings.ring.has_value();
  static_assert(kGroupsMax * sizeof(GroupNumbers) <= HistoryTable::kCompanionBytes);
  auto shared = SharedState::map(shape, table.companion());
  if (!shared) return shared;
  for (std::uint32_t route = 0; route < shape.routes; ++route)
    shared->route(route).set_mode(settings.routes[route].mode);
  if (settings.ring && !settings.ring->living) set_up_static_ring(*settings.ring, *shared);
  return shared;
}

// Too few would show as clients that are not accepted and origins that are not reached.
DescriptorNeed descriptors_needed(const Settings& settings) {
  DescriptorNeed need;
  need.most = settings.limits.connections_max + kOwnDescriptors + kSpooledFilesMax;
  need.least = kLeastDescriptors;
  // Tunnels and streams have sockets of their own. (Any route may be made a tunnel; few are.)
  for (const RouteSettings& route : settings.routes) {
    if (route.mode == RouteMode::tunnel) {
      need.most += settings.groups[route.group].origins.size() * settings.origin_tunnels_max;
    } else if (route.mode == RouteMode::stream) {
      need.most += settings.groups[route.group].origins.size() * settings.origin_streams_max;
    }
  }
  for (const GroupSettings& group : settings.groups) {
    need.most += group.origins.size() * settings.origin_connections_max;
    need.least += group.origins.size();
    for (const ShadowSettings& shadow : group.shadows)
      need.most += shadow.connections_max;
  }
  return need;
}

Result<> check_account(const Settings& settings) {
  if (!settings.account || may_become(*settings.account)) return {};
  return Error{ErrorKind::invalid,
               "sketcher.user: only root may start workers of another user; start as root or as "
               "that user"};
}

void warn_of_rights(const Settings& settings, Logger& log) {
  if (::geteuid() == 0 && !settings.account) {
    log.warning("runs-as-root", {{"problem", "workers read what clients send as root; set user"}});
  }
  if (settings.core_dumps) {
    log.warning("core-dumps-allowed", {{"problem", "a core file holds the installation's keys"}});
  }
}

void warn_of_routes(const Settings& settings, Logger& log) {
  for (const RouteWarning& warning : warnings_about(settings.routes, settings.groups))
    log.warning(warning.event, {{"problem", warning.text}});
}

}  // namespace prophecy::sketcher
