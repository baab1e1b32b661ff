// Judges the health of all groups: takes what the checker reports, what the workers count and what
// operators say, and publishes who may be drawn. One object, in the master: it outlives workers and
// the checker, reads nothing that an origin has written, and the rules are in
// replica_client/core/health/.
//
// Single-threaded, on the master's loop.
#pragma once

#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/log.hpp"
#include "replica_client/core/health/group_health.hpp"
#include "sketcher/health/check_report.hpp"
#include "sketcher/health/evidence.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

class HealthMonitor {
 public:
  HealthMonitor(boost::asio::io_context& loop, const Installation& installation,
                const SharedState& shared, Logger& log);

  void start();
  void on_check(const CheckReport& report);
  // All that an operator changes about an origin. The error says what is wrong with the request.
  [[nodiscard]] Result<> set(std::string_view group, std::uint64_t replica,
                             replica_client::OriginChange change);

  // g of the staleness bound, by the shares of now. Requires a group of that name.
  [[nodiscard]] double staleness_share(std::string_view group) const;

  // Of one of the installation's groups.
  [[nodiscard]] const replica_client::GroupHealth& of(const GroupSettings& group) const {
    return groups_[static_cast<std::size_t>(&group - settings_.groups.data())].health;
  }

 private:
  struct Group {
    replica_client::GroupHealth health;
    std::vector<EvidenceReader> evidence;  // by replica
    replica_client::ReplicaSet kept = 0;   // that operators know of
  };

  void publish(std::uint32_t group, TimePoint time);
  void wait();
  void look();
  // What an event has led to.
  void follow(std::uint32_t group);

  const Settings& settings_;
  SharedState shared_;
  Logger& log_;
  boost::asio::steady_timer timer_;
  std::vector<Group> groups_;
};

}  // namespace prophecy::sketcher
