// `ClusterReports` answers operators who want the status or the metrics of all members of a ring,
// on the master's loop: messages of MemberReports go through the ring's process to the members'.
//
//   {"command":"cluster-report","kind":"status"}       -->   {"round":7}
//   {"command":"cluster-report-answer","round":7}      -->   {"done":false}, then {"done":true,
//   ...}
//
// Single-threaded. Its loop must not run any more once it is destroyed.
#pragma once

#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json_fwd.hpp>

#include "sketcher/master/member_reports.hpp"
#include "sketcher/ring/ring_process.hpp"

namespace prophecy::sketcher {

class ClusterReports final : private RingReportHandler {
 public:
  // `ring` outlives it, and calls it from now on. `make` makes the own report.
  ClusterReports(boost::asio::io_context& loop, RingProcess& ring, MemberReports::Make make);

  [[nodiscard]] static bool takes(std::string_view command);
  // One line of JSON; {"error": ...} for what cannot be done. Requires that it takes the command,
  // and that there is a ring whose process has reported. `request` is an object that somebody else
  // has written.
  [[nodiscard]] std::string answer(std::string_view command, const nlohmann::json& request);

 private:
  void on_ring_message(const ReportMessage& message) override;
  void on_ring_ended() override;
  [[nodiscard]] std::string begin(const nlohmann::json& request);
  [[nodiscard]] std::string end(const nlohmann::json& request);
  // After each event: tells the ring's process, and sets the timer.
  void go_on();

  RingProcess& ring_;
  MemberReports reports_;
  boost::asio::steady_timer timer_;
};

}  // namespace prophecy::sketcher
