// `RingService` is this member's part in the ring, in a process of its own: it carries out what
// RingNode (dht/core/) decides. It holds the session with ZooKeeper, waits for the workers' turns,
// has them order barriers, goes through the history for partitions that move, and hands these over.
//
//   ZooKeeper ◄──► CoordinationClient ◄──┐
//   other members ◄──► HandOverLinks ◄───┤ RingNode ──► Permissions, MemberDirectory
//   workers ◄──► WorkerTurns, wake-ups ◄─┤               (shared memory)
//   history table ◄──► RingHistory ◄─────┤
//   master ◄──► settings_messages.hpp ◄──┘
//
// What it does may be late, and it may be killed at any instruction: the workers' permissions end
// by themselves (docs/ring.md).
//
// Single-threaded, on its own loop. Its loop must not run any more once it is destroyed.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/log.hpp"
#include "dht/core/ring_node.hpp"
#include "dht/zookeeper/coordination_client.hpp"
#include "history_table/history_table.hpp"
#include "sketcher/installation/installation.hpp"
#include "sketcher/ring/drain_watch.hpp"
#include "sketcher/ring/hand_over_links.hpp"
#include "sketcher/ring/message_rates.hpp"
#include "sketcher/ring/report_messages.hpp"
#include "sketcher/ring/ring_history.hpp"
#include "sketcher/ring/settings_messages.hpp"
#include "sketcher/shared/shared_state.hpp"
#include "sketcher/shared/system_boot_timer.hpp"

namespace prophecy::sketcher {

// A barrier that a worker was asked for. One at a time; it is for all that asked before it was
// begun.
struct RingBarrier {
  std::vector<std::uint64_t> tickets;
  std::uint64_t asked = 0;  // of WorkerTurns
  std::uint32_t worker = 0;
  dht::BootTime end{};
  bool has_failed = false;  // it is reported at `end`
};

class RingService final : private zookeeper::CoordinationClient::Handler,
                          private HandOverLinks::Handler {
 public:
  // All outlive it, but `listener`. `wakes` are the workers' event descriptors.
  RingService(boost::asio::io_context& loop, const Installation& installation, HistoryTable& table,
              const SharedState& shared, std::vector<int> wakes, UniqueFd listener,
              dht::AgreedSettings known, Logger& log);

  [[nodiscard]] Result<> start();
  void drain();
  void rejoin();
  // How the master is told of settings; false: it cannot be told at present.
  void tell_by(std::function<bool(const std::string& text)> tell) { tell_ = std::move(tell); }
  // Again, what it could not be told before.
  void tell_master();
  void on_master(MasterMessage message);
  // Passes the master's message on to the other member.
  void on_report(const ReportMessage& message);
  // Ends the session; then calls `on_closed`.
  void close(std::function<void()> on_closed);

  // For operators, as JSON.
  [[nodiscard]] std::string status();

 private:
  struct Turn {
    std::uint64_t number = 0;  // of WorkerTurns
    std::uint64_t ticket = 0;
  };

  void on_result(dht::CoordinationResult result) override;
  void on_session(dht::SessionEvent event) override;
  void on_closed() override;
  [[nodiscard]] std::optional<dht::HandOverPage> on_ask(const dht::HandOverAsk& ask,
                                                        const std::string& from) override;
  void on_page(const dht::HandOverPage& page, const std::string& from) override;
  void on_report_ask(const dht::ReportAsk& ask, const std::string& from) override;
  void on_report_part(dht::ReportPart part, const std::string& from) override;
  void on_lost(const std::string& member) override;

  void pass_on(const ReportMessage& message);
  // After each event: carries all actions out, and sets the timer.
  void go_on();
  void carry_out(dht::RingNodeAction action);
  void follow_view();
  void wake_workers() const;
  void begin_barrier();
  // Reports what has ended.
  void look_at_turns();
  void look_at_barrier();
  void look_at_history();
  void report(const dht::RingReport& report);
  void on_adopted(dht::AgreedSettings settings);
  void count();
  void arm();
  void on_timer();
  [[nodiscard]] dht::BootTime now() { return boot_timer_.now(); }

  const Installation& installation_;
  const SharedRing& ring_;
  std::vector<int> wakes_;
  Logger& log_;
  const std::optional<OwnNumbers> own_numbers_;  // where members count for themselves
  const bool has_barriers_;                      // some group has an order
  SystemBootTimer boot_timer_;
  RingHistory history_;
  dht::RingNode node_;
  HandOverLinks links_;
  std::unique_ptr<zookeeper::CoordinationClient> client_;
  boost::asio::io_context& loop_;
  boost::asio::steady_timer timer_;
  dht::BootTime armed_for_ = dht::BootTime::max();
  std::optional<dht::BootTime> look_due_;  // at the turns and the barrier
  std::vector<Turn> turns_;
  std::vector<std::uint64_t> barrier_tickets_;  // that wait for the next one
  std::optional<RingBarrier> barrier_;
  std::uint32_t next_worker_ = 0;
  dht::ViewNumber followed_ = 0;
  std::vector<std::size_t> shares_;  // by the members of that view
  dht::BootTime lease_end_{};
  DrainWatch drain_watch_;
  // Of others' messages about reports: asks, and parts that this member should have asked for.
  MessageRates ask_rates_;
  MessageRates part_rates_;
  std::function<bool(const std::string& text)> tell_;
  // For the master: the newest settings, if it has to be told, and how orders have ended.
  std::optional<dht::AgreedSettings> untold_settings_;
  std::deque<dht::SettingsOutcome> untold_outcomes_;
  std::uint64_t settings_conflicts_ = 0;  // that are counted
  std::function<void()> when_closed_;
};

}  // namespace prophecy::sketcher
