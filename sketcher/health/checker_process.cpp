#include "sketcher/health/checker_process.hpp"

#include <csignal>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

#include "sketcher/health/checker.hpp"
#include "sketcher/shared/child_process.hpp"

namespace prophecy::sketcher {
namespace {

// Before a replacement: it may die of what it is told to do.
constexpr Duration kCheckerPause = seconds(1);

}  // namespace

CheckerProcess::CheckerProcess(boost::asio::io_context& loop, const Installation& installation,
                               const SharedState& shared, Logger& log, OnReport on_report)
    : installation_(installation),
      shared_(shared),
      log_(log),
      on_report_(std::move(on_report)),
      channel_(loop),
      pause_(loop) {}

Result<> CheckerProcess::start() {
  if (!has_checks(installation_.settings)) return {};
  auto child = start_child(installation_.settings, {}, [this](UniqueFd channel) {
    log_.rename("checker");
    run_checker(installation_, shared_, std::move(channel), log_);
    return 0;
  });
  if (!child) return child.error();
  pid_ = child->pid;
  boost::system::error_code ignored;
  channel_.close(ignored);
  channel_.assign(child->channel.release());
  wait_for_reports();
  log_.info("checker-started", {{"pid", pid_}});
  return {};
}

void CheckerProcess::on_child_ended(int pid, int wait_status) {
  if (pid != pid_) return;
  pid_ = -1;
  if (stopping_) return;
  if (std::exchange(renewing_, false)) {
    if (auto started = start(); started) return;
  }
  log_.error("checker-died", {{"signal", WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0},
                              {"status", WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0}});
  replace();
}

void CheckerProcess::replace() {
  pause_.expires_after(kCheckerPause);
  pause_.async_wait([this](const boost::system::error_code& error) {
    if (error || stopping_) return;
    if (auto started = start(); !started) {
      log_.error("checker-not-started", {{"problem", started.error().message}});
      replace();
    }
  });
}

void CheckerProcess::stop() {
  stopping_ = true;
  pause_.cancel();
  if (pid_ > 0) ::kill(pid_, SIGTERM);
}

void CheckerProcess::reload() {
  if (pid_ <= 0) return;
  // The files may be root's alone: a new process has what the master has read.
  renewing_ = installation_.settings.account.has_value();
  ::kill(pid_, renewing_ ? SIGTERM : SIGHUP);
}

void CheckerProcess::wait_for_reports() {
  channel_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this](const boost::system::error_code& error) {
                        if (!error && take_reports()) wait_for_reports();
                      });
}

bool CheckerProcess::take_reports() {
  char bytes[sizeof(CheckReport) + 1];  // one more: a message that is too long is seen to be
  for (;;) {
    const ssize_t size = ::read(channel_.native_handle(), bytes, sizeof bytes);
    if (size <= 0) return size < 0;
    const auto report = parse_check_report({bytes, static_cast<std::size_t>(size)});
    if (report) {
      on_report_(*report);
    } else {
      log_.warning("check-report-refused");
    }
  }
}

}  // namespace prophecy::sketcher
