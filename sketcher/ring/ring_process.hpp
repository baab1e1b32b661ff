// The ring's process as the master sees it: a child, and the channel on which it reports and takes
// orders. One that dies is replaced; meanwhile workers answer until their lease is over.
//
// Single-threaded, on the master's loop.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "history_table/history_table.hpp"
#include "sketcher/history/transfer_process.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/ring/report_messages.hpp"
#include "sketcher/ring/settings_messages.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

constexpr WriterSlot kRingWriter = kTransferWriter + 1;

// Who acts by what operators set for all members.
class RingSettingsHandler {
 public:
  virtual ~RingSettingsHandler() = default;
  // For a process that begins.
  [[nodiscard]] virtual dht::AgreedSettings known_settings() const = 0;
  // It knows of no order.
  virtual void on_ring_started() = 0;
  virtual void on_agreed(dht::AgreedSettings settings) = 0;
  virtual void on_outcome(const dht::SettingsOutcome& outcome) = 0;
};

// Who collects members' reports.
class RingReportHandler {
 public:
  virtual ~RingReportHandler() = default;
  virtual void on_ring_message(const ReportMessage& message) = 0;
  // The process has ended, and all that it was told is lost.
  virtual void on_ring_ended() = 0;
};

class RingProcess {
 public:
  RingProcess(boost::asio::io_context& loop, const Installation& installation, HistoryTable& table,
              const SharedState& shared, Logger& log);

  // What workers are woken up by, and where other members ask for partitions. Comes first, and does
  // nothing without a living ring.
  [[nodiscard]] Result<> prepare(UniqueFd listener);
  // -1 without a living ring.
  [[nodiscard]] int wake(std::uint32_t worker) const;

  // It outlives the process, and is wanted before start().
  void handle_settings(RingSettingsHandler& handler) { settings_handler_ = &handler; }
  // Likewise.
  void handle_reports(RingReportHandler& handler) { report_handler_ = &handler; }
  [[nodiscard]] Result<> start();
  [[nodiscard]] bool is_running() const { return pid_ > 0; }
  // Whether there is a living ring.
  [[nodiscard]] bool exists() const { return !wakes_.empty(); }
  // A child of the master has ended. Does nothing if it was another one.
  void on_child_ended(int pid, int wait_status);
  // Tells it to end, and replaces it no more.
  void stop();
  void kill();
  // If the installation has other certificates of the ring by now, it takes them.
  void reload();

  // Others take our partitions; then `on_drained` is called, once they have what they want of them,
  // or if that cannot be.
  void drain(std::function<void()> on_drained);
  // For an operator: true, if it was told.
  [[nodiscard]] bool drain();
  [[nodiscard]] bool rejoin();
  // A message of settings_messages.hpp or report_messages.hpp. False: it cannot be told at present.
  [[nodiscard]] bool tell(std::string_view text);
  // What it has said last: an object, or null.
  [[nodiscard]] const nlohmann::json& report() const { return report_; }

 private:
  void replace();
  void wait_for_reports();
  // False at the end of the channel.
  [[nodiscard]] bool take_reports();
  void on_report(std::string_view text);
  void look_for_drained();

  boost::asio::io_context& loop_;
  const Installation& installation_;
  HistoryTable& table_;
  SharedState shared_;
  Logger& log_;
  std::vector<UniqueFd> wakes_;  // by worker
  UniqueFd listener_;
  int pid_ = -1;
  std::string certificates_;  // RingTls::files, as it has them
  bool stopping_ = false;
  bool renewing_ = false;
  bool draining_ = false;
  RingSettingsHandler* settings_handler_ = nullptr;
  RingReportHandler* report_handler_ = nullptr;
  std::function<void()> on_drained_;
  nlohmann::json report_;
  boost::asio::posix::stream_descriptor channel_;
  boost::asio::steady_timer pause_;
};

}  // namespace prophecy::sketcher
