#include "sketcher/installation/origin_settings.hpp"

namespace prophecy::sketcher {
namespace {

http::OriginSettings pool_settings(const Settings& settings, const GroupSettings& group,
                                   const OriginAddress& origin, transport::TlsClient* tls) {
  http::OriginSettings pool;
  pool.address = origin.address;
  pool.connections_max = settings.origin_connections_max;
  pool.pipeline_max = settings.origin_pipeline_max;
  pool.send_proxy = group.send_proxy;
  pool.tls = tls;
  pool.answer_limits = settings.limits.answer;
  return pool;
}

}  // namespace

std::vector<http::OriginSettings> origin_settings(const Settings& settings,
                                                  const GroupSettings& group,
                                                  const GroupInstallation& installation) {
  std::vector<http::OriginSettings> origins;
  for (const OriginAddress& origin : group.origins) {
    origins.push_back(
        pool_settings(settings, group, origin, installation.tls[origin.replica].get()));
  }
  return origins;
}

std::vector<http::OriginSettings> shadow_settings(const Settings& settings,
                                                  const GroupSettings& group,
                                                  const GroupInstallation& installation) {
  std::vector<http::OriginSettings> shadows;
  for (const ShadowSettings& shadow : group.shadows) {
    shadows.push_back(pool_settings(settings, group, shadow.origin,
                                    installation.shadow_tls[shadow.origin.replica].get()));
  }
  return shadows;
}

}  // namespace prophecy::sketcher
