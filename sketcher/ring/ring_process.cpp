#include "sketcher/ring/ring_process.hpp"

#include <csignal>
#include <utility>

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sketcher/ring/channel_messages.hpp"
#include "sketcher/ring/ring_child.hpp"
#include "sketcher/ring/ring_report.hpp"
#include "sketcher/shared/child_process.hpp"

namespace prophecy::sketcher {
namespace {

static_assert(kRingWriter <= kWriterSlotMax);

// Before a replacement: it may die of what it is told to do.
constexpr Duration kRingPause = milliseconds(500);

}  // namespace

RingProcess::RingProcess(boost::asio::io_context& loop, const Installation& installation,
                         HistoryTable& table, const SharedState& shared, Logger& log)
    : loop_(loop),
      installation_(installation),
      table_(table),
      shared_(shared),
      log_(log),
      channel_(loop),
      pause_(loop) {}

Result<> RingProcess::prepare(UniqueFd listener) {
  const auto& ring = installation_.settings.ring;
  if (!ring || !ring->living) return {};
  listener_ = std::move(listener);
  for (std::uint32_t i = 0; i < installation_.settings.workers; ++i) {
    UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) return io_error("eventfd");
    wakes_.push_back(std::move(wake));
  }
  return {};
}

int RingProcess::wake(std::uint32_t worker) const {
  return exists() ? wakes_[worker].get() : -1;
}

Result<> RingProcess::start() {
  if (!exists()) return {};
  std::vector<int> wakes;
  for (const UniqueFd& wake : wakes_)
    wakes.push_back(wake.get());
  std::vector<int> kept = wakes;
  kept.push_back(listener_.get());
  auto child = start_child(installation_.settings, std::move(kept), [&](UniqueFd channel) {
    log_.rename("ring");
    table_.attach(kRingWriter);
    return run_ring({.installation = installation_,
                     .table = table_,
                     .shared = shared_,
                     .wakes = wakes,
                     .listener = std::move(listener_),
                     .channel = std::move(channel),
                     .known = settings_handler_->known_settings()},
                    log_);
  });
  if (!child) return child.error();
  pid_ = child->pid;
  certificates_ = *installation_.ring_tls->files;
  boost::system::error_code ignored;
  channel_.close(ignored);
  channel_.assign(child->channel.release());
  wait_for_reports();
  log_.info("ring-started", {{"pid", pid_}});
  if (draining_) static_cast<void>(tell({&kDrainOrder, 1}));
  settings_handler_->on_ring_started();
  return {};
}

void RingProcess::on_child_ended(int pid, int wait_status) {
  if (pid != pid_) return;
  pid_ = -1;
  report_ = nullptr;
  // First of all: a worker may be waiting for a bucket that it held.
  table_.declare_dead(kRingWriter);
  report_handler_->on_ring_ended();
  if (stopping_) return;
  if (std::exchange(renewing_, false)) {
    if (auto started = start(); started) return;
  }
  log_.error("ring-died", {{"signal", WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0},
                           {"status", WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 0}});
  replace();
}

void RingProcess::replace() {
  pause_.expires_after(kRingPause);
  pause_.async_wait([this](const boost::system::error_code& error) {
    if (error || stopping_) return;
    if (auto started = start(); !started) {
      log_.error("ring-not-started", {{"problem", started.error().message}});
      replace();
    }
  });
}

void RingProcess::stop() {
  if (std::exchange(stopping_, true)) return;
  pause_.cancel();
  if (pid_ > 0) ::kill(pid_, SIGTERM);
}

void RingProcess::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

// It holds a lease, and a new process has to wait for its end. So it is replaced only if the ring's
// certificates have changed, and it may not read them itself.
void RingProcess::reload() {
  if (pid_ <= 0 || *installation_.ring_tls->files == certificates_) return;
  certificates_ = *installation_.ring_tls->files;
  renewing_ = installation_.settings.account.has_value();
  ::kill(pid_, renewing_ ? SIGTERM : SIGHUP);
}

bool RingProcess::tell(std::string_view text) {
  return pid_ > 0 && ::send(channel_.native_handle(), text.data(), text.size(),
                            MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

bool RingProcess::drain() {
  draining_ = true;
  return tell({&kDrainOrder, 1});
}

bool RingProcess::rejoin() {
  draining_ = false;
  return tell({&kRejoinOrder, 1});
}

void RingProcess::drain(std::function<void()> on_drained) {
  on_drained_ = std::move(on_drained);
  static_cast<void>(drain());
  look_for_drained();
}

// A report that is missing says nothing: its process is being replaced, and drains as well. Who
// drains waits for so long as it likes.
void RingProcess::look_for_drained() {
  if (!on_drained_) return;
  if (shows_drained(report_)) std::exchange(on_drained_, nullptr)();
}

void RingProcess::wait_for_reports() {
  channel_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this](const boost::system::error_code& error) {
                        if (!error && take_reports()) wait_for_reports();
                      });
}

bool RingProcess::take_reports() {
  std::string bytes(kRingReportBytesMax, '\0');
  return take_messages(channel_.native_handle(), bytes,
                       [this](std::string_view text) { on_report(text); });
}

void RingProcess::on_report(std::string_view text) {
  if (is_report_message(text)) {
    const auto message = parse_report_message(text);
    if (message) report_handler_->on_ring_message(*message);
    return;
  }
  auto report = nlohmann::json::parse(text, nullptr, false);
  if (report.is_object() && report.contains("members") && report["members"].is_array()) {
    report_ = std::move(report);
    look_for_drained();
  } else if (auto message = parse_settings_message(report)) {
    if (auto* const agreed = std::get_if<dht::AgreedSettings>(&*message)) {
      settings_handler_->on_agreed(std::move(*agreed));
    } else {
      settings_handler_->on_outcome(std::get<dht::SettingsOutcome>(*message));
    }
  } else {
    log_.warning("ring-report-refused");
  }
}

}  // namespace prophecy::sketcher
