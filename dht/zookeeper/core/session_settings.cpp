#include "dht/zookeeper/core/session_settings.hpp"

#include <algorithm>

#include "dht/zookeeper/core/limits.hpp"

namespace prophecy::zookeeper {
namespace {

Error wrong(const std::string& what) {
  return {ErrorKind::invalid, "ZooKeeper: " + what};
}

}  // namespace

Result<> check(const SessionSettings& settings) {
  if (settings.servers == 0 || settings.servers > kServersMax) {
    return wrong("between 1 and " + std::to_string(kServersMax) + " servers are possible");
  }
  if (settings.timeout < kSessionTimeoutMin || settings.timeout > kSessionTimeoutMax) {
    return wrong("a session's time-out is between " + std::to_string(kSessionTimeoutMin.count()) +
                 " ms and " + std::to_string(kSessionTimeoutMax.count()) + " ms");
  }
  if (settings.pause_min <= Duration::zero() || settings.pause_min > settings.pause_max) {
    return wrong("the shortest pause is above 0 and at most the longest");
  }
  const auto fits = [](const Identity& identity) {
    return !identity.scheme.empty() &&
           identity.scheme.size() + identity.secret.size() <= kIdentityBytesMax;
  };
  if (settings.identities.size() > kIdentitiesMax ||
      !std::all_of(settings.identities.begin(), settings.identities.end(), fits)) {
    return wrong("too many identities, or one without a scheme or too long");
  }
  const auto is_rule = [](const AccessRule& rule) {
    return !rule.scheme.empty() && rule.scheme.size() + rule.id.size() <= kIdentityBytesMax &&
           rule.permissions >= 0 && rule.permissions <= AccessRule::kEverything;
  };
  if (settings.access.empty() || settings.access.size() > kAccessRulesMax ||
      !std::all_of(settings.access.begin(), settings.access.end(), is_rule)) {
    return wrong("no access rules, too many, or one that is none");
  }
  return {};
}

}  // namespace prophecy::zookeeper
