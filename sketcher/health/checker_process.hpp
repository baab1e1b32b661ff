// The checker as the master sees it: a child, and the channel on which its reports come in. One
// that dies is replaced; meanwhile what was known of the origins stays as it was.
//
// Single-threaded, on the master's loop.
#pragma once

#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/log.hpp"
#include "sketcher/health/check_report.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

class CheckerProcess {
 public:
  using OnReport = std::function<void(const CheckReport&)>;

  CheckerProcess(boost::asio::io_context& loop, const Installation& installation,
                 const SharedState& shared, Logger& log, OnReport on_report);

  // Does nothing where no group has checks.
  [[nodiscard]] Result<> start();
  // A child of the master has ended. Does nothing if it was another one.
  void on_child_ended(int pid, int wait_status);
  // Tells it to end, and replaces it no more.
  void stop();
  // It reads certificates anew.
  void reload();

 private:
  void replace();
  void wait_for_reports();
  // False at the end of the channel.
  [[nodiscard]] bool take_reports();

  const Installation& installation_;
  SharedState shared_;
  Logger& log_;
  OnReport on_report_;
  int pid_ = -1;
  bool stopping_ = false;
  bool renewing_ = false;
  boost::asio::posix::stream_descriptor channel_;
  boost::asio::steady_timer pause_;
};

}  // namespace prophecy::sketcher
