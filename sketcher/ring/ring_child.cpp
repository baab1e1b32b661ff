#include "sketcher/ring/ring_child.hpp"

#include <array>
#include <csignal>
#include <fstream>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <sys/socket.h>

#include "base/io/signal_source.hpp"
#include "sketcher/ring/channel_messages.hpp"
#include "sketcher/ring/report_messages.hpp"
#include "sketcher/ring/ring_service.hpp"

namespace prophecy::sketcher {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr Duration kReportInterval = milliseconds(200);
// For the end of the session; then it ends by itself.
constexpr Duration kCloseTime = seconds(1);

// The guest's clock goes on with a lease that is over, where the hypervisor has stopped it.
void warn_of_clock(Logger& log) {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  if (!(file >> source) || source != "kvm-clock") return;
  log.warning("clock-may-stop",
              {{"clocksource", source},
               {"problem",
                "it does not go on while the hypervisor has stopped this machine, and "
                "leases are measured by it; use tsc"}});
}

class RingChild {
 public:
  RingChild(RingChildSetup setup, Logger& log)
      : log_(log),
        installation_(setup.installation),
        signals_(loop_, {SIGTERM, SIGINT, SIGHUP}, [this](int signal) { on_signal(signal); }),
        channel_(loop_, setup.channel.release()),
        report_timer_(loop_),
        close_timer_(loop_),
        service_(loop_, setup.installation, setup.table, setup.shared, std::move(setup.wakes),
                 std::move(setup.listener), std::move(setup.known), log) {}

  int run() {
    warn_of_clock(log_);
    if (auto started = service_.start(); !started) {
      log_.error("ring-not-started", {{"problem", started.error().message}});
      return 1;
    }
    service_.tell_by([this](const std::string& text) { return tell(text); });
    wait_for_orders();
    report();
    loop_.run();
    return 0;
  }

 private:
  void on_signal(int signal) {
    if (signal == SIGHUP) {
      if (auto loaded = reload_certificates(installation_); !loaded)
        log_.error("certificates-not-reloaded", {{"problem", loaded.error().message}});
      return;
    }
    close_timer_.expires_after(kCloseTime);
    close_timer_.async_wait([this](error_code) { loop_.stop(); });
    service_.close([this] { loop_.stop(); });
  }

  void wait_for_orders() {
    channel_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code error) {
      if (!error && take_orders()) wait_for_orders();
    });
  }
  [[nodiscard]] bool take_orders() {
    static_assert(kRingOrderBytesMax <= kReportMessageBytesMax);
    std::array<char, kReportMessageBytesMax> bytes;
    return take_messages(channel_.native_handle(), bytes,
                         [this](std::string_view text) { on_order(text); });
  }
  void on_order(std::string_view text) {
    if (text == std::string_view(&kDrainOrder, 1)) {
      service_.drain();
    } else if (text == std::string_view(&kRejoinOrder, 1)) {
      service_.rejoin();
    } else if (is_report_message(text)) {
      if (auto report = parse_report_message(text)) service_.on_report(*report);
    } else if (auto message = parse_master_message(text)) {
      service_.on_master(std::move(*message));
    } else {
      log_.warning("ring-order-refused");
    }
  }
  // False: there is no room at present.
  [[nodiscard]] bool tell(const std::string& text) {
    return ::send(channel_.native_handle(), text.data(), text.size(),
                  MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
  }

  // One that does not fit is lost: the next one comes soon.
  void report() {
    service_.tell_master();
    static_cast<void>(tell(service_.status()));
    report_timer_.expires_after(kReportInterval);
    report_timer_.async_wait([this](error_code error) {
      if (!error) report();
    });
  }

  Logger& log_;
  const Installation& installation_;
  asio::io_context loop_{1};
  SignalSource signals_;
  asio::posix::stream_descriptor channel_;
  asio::steady_timer report_timer_;
  asio::steady_timer close_timer_;
  RingService service_;
};

}  // namespace

int run_ring(RingChildSetup setup, Logger& log) {
  RingChild child(std::move(setup), log);
  return child.run();
}

}  // namespace prophecy::sketcher
