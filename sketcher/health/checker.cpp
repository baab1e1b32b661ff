#include "sketcher/health/checker.hpp"

#include <algorithm>
#include <csignal>
#include <memory>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <sys/socket.h>

#include "base/io/signal_source.hpp"
#include "base/io/timeout_ticker.hpp"
#include "sketcher/health/check_report.hpp"
#include "sketcher/health/origin_check.hpp"
#include "sketcher/installation/origin_settings.hpp"

namespace prophecy::sketcher {
namespace {

using replica_client::CheckOutcome;

Duration tick_of(Duration timeout) {
  return std::clamp<Duration>(timeout / 5, milliseconds(5), milliseconds(100));
}

// The checks of one group's origins: they have the group's time-out in common.
class GroupChecks {
 public:
  using Report = std::function<void(NodeId replica, CheckOutcome outcome, std::uint16_t status)>;

  GroupChecks(boost::asio::io_context& loop, const Settings& settings, const GroupSettings& group,
              const GroupInstallation& installation, const HealthView& view, SecureRandom& random,
              const Report& report)
      : timeouts_{TimeoutQueue(group.health.check.timeout),
                  TimeoutQueue(group.health.check.timeout),
                  TimeoutQueue(group.health.check.timeout)},
        ticker_(loop, tick_of(group.health.check.timeout),
                {&timeouts_.connect, &timeouts_.answer, &timeouts_.idle}) {
    const std::vector<http::OriginSettings> origins =
        origin_settings(settings, group, installation);
    for (NodeId replica = 0; replica < origins.size(); ++replica) {
      checks_.push_back(std::make_unique<OriginCheck>(
          loop, group.health.check, origins[replica], timeouts_, random,
          [&view, replica] { return (view.unchecked() & replica_client::bit_of(replica)) == 0; },
          [report, replica](CheckOutcome outcome, std::uint16_t status) {
            report(replica, outcome, status);
          }));
    }
  }

  void start() {
    ticker_.start();
    for (const auto& check : checks_)
      check->start();
  }

 private:
  http::OriginTimeouts timeouts_;
  TimeoutTicker ticker_;
  std::vector<std::unique_ptr<OriginCheck>> checks_;
};

}  // namespace

bool has_checks(const Settings& settings) {
  return std::any_of(settings.groups.begin(), settings.groups.end(),
                     [](const GroupSettings& group) { return group.health.rules.checked; });
}

void run_checker(const Installation& installation, const SharedState& shared, UniqueFd channel,
                 Logger& log) {
  boost::asio::io_context loop{1};
  SignalSource signals(loop, {SIGTERM, SIGINT, SIGHUP}, [&](int signal) {
    if (signal != SIGHUP) return loop.stop();
    if (auto loaded = reload_certificates(installation); !loaded) {
      log.error("certificates-not-reloaded", {{"problem", loaded.error().message}});
    }
  });
  SecureRandom random;
  const Settings& settings = installation.settings;
  std::vector<std::unique_ptr<GroupChecks>> checks;
  bool channel_failed = false;
  for (std::uint32_t i = 0; i < settings.groups.size(); ++i) {
    if (!settings.groups[i].health.rules.checked) continue;
    const auto report = [&, i](NodeId replica, CheckOutcome outcome, std::uint16_t status) {
      const CheckReport message{i, replica, static_cast<std::uint32_t>(outcome), status};
      // What does not fit is lost: the next check says it again.
      const bool sent = ::send(channel.get(), &message, sizeof message,
                               MSG_DONTWAIT | MSG_NOSIGNAL) == ssize_t{sizeof message};
      if (!sent && !channel_failed) log.warning("check-report-lost");
      channel_failed = !sent;
    };
    checks.push_back(std::make_unique<GroupChecks>(loop, settings, settings.groups[i],
                                                   installation.groups[i], shared.group(i).health,
                                                   random, report));
  }
  for (const auto& group : checks)
    group->start();
  loop.run();
}

}  // namespace prophecy::sketcher
