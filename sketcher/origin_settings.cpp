#include "sketcher/origin_settings.hpp"

namespace prophecy::sketcher {

std::vector<http::OriginSettings> origin_settings(const Settings& settings,
                                                  const GroupSettings& group,
                                                  const GroupInstallation& installation) {
  std::vector<http::OriginSettings> origins;
  for (const OriginAddress& origin : group.origins) {
    http::OriginSettings pool;
    pool.address = origin.address;
    pool.connections_max = settings.origin_connections_max;
    pool.pipeline_max = settings.origin_pipeline_max;
    pool.send_proxy = group.send_proxy;
    pool.tls = installation.tls[origin.replica].get();
    pool.answer_limits = settings.limits.answer;
    origins.push_back(pool);
  }
  return origins;
}

}  // namespace prophecy::sketcher
