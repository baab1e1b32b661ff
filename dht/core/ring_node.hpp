// `RingNode` is all that one process of a member decides about the ring: its membership (ring.hpp),
// the hand-over of partitions, both ways (hand_over.hpp), and what operators set for all members
// (settings_share.hpp).
//
// A partition is erased, or handed over, once all workers have passed a turn since its word changed
// (docs/ring.md, R6): the shell counts turns, this object waits for them.
//
// A pure object for one thread: events in, actions out, in their order. Requires that `now` never
// falls, and that each action with a ticket is reported once.
#pragma once

#include <map>
#include <variant>

#include "dht/core/hand_over.hpp"
#include "dht/core/ring.hpp"
#include "dht/core/settings_share.hpp"

namespace prophecy::dht {

// Report on_turns() once each worker has passed a turn since now, or has ended.
struct AwaitTurns {
  enum class Before : std::uint8_t { hand_over, clearing };
  std::uint64_t ticket = 0;
  Before before = Before::hand_over;
};
// Erase the entries of these partitions, then report on_cleared().
struct ClearPartitions {
  std::uint64_t ticket = 0;
  std::vector<Partition> partitions;
};
// Have the group order a request that is sent from now on, then report on_barrier().
struct OrderBarrier {
  std::uint64_t ticket = 0;
};
// These are ours from now on. For people: nothing is to be done.
struct PartitionsTaken {
  std::vector<Partition> partitions;
};
using RingNodeAction =
    std::variant<CoordinationCall, AwaitTurns, ClearPartitions, OrderBarrier, Taker::Send,
                 PartitionsTaken, RingReport, SettingsAdopted, SettingsOutcome>;

// The settings that a node knows before it begins.
struct KnownSettings {
  SettingsCodec::Key key{};  // of the seal
  AgreedSettings settings;   // of an earlier life
};

class RingNode {
 public:
  // `retry`: after which a page is asked for again.
  RingNode(RingSettings settings, KnownSettings known, Permissions permissions, HistoryStore& store,
           Span retry, BootTime now)
      : settings_(settings.paths.settings(), SettingsCodec(settings.parameters.cluster, known.key),
                  settings.self.holder.instance, std::move(known.settings),
                  settings.parameters.lease / kSettingsReadsInLease),
        ring_(std::move(settings), permissions, now),
        giver_(ring_.ownership(), store),
        taker_(ring_.ownership(), store, retry) {}

  // ---- From the coordination service.
  void on_session(SessionEvent event, BootTime now) {
    ring_.on_session(event, now);
    settings_.on_session(event, now);
  }
  void on_result(const CoordinationResult& result, BootTime now) {
    if (SettingsShare::is_own(result.number)) return settings_.on_result(result, now);
    ring_.on_result(result, now);
  }

  void on_tick(BootTime now) {
    ring_.on_tick(now);
    settings_.on_tick(now);
    taker_.on_tick(now);
  }
  // Others are to take our partitions; we go on until they do, and stay a member that has none.
  void drain(BootTime now) { ring_.drain(now); }
  // The end of that.
  void rejoin(BootTime now) { ring_.rejoin(now); }
  void on_settings_order(SettingsOrder order, BootTime now) {
    settings_.order(std::move(order), now);
  }
  // The member acts by the settings of that number. It takes part from the first one on.
  void on_settings_carried_out(SettingsNumber number, BootTime now);

  // ---- Reports on actions.
  void on_turns(std::uint64_t ticket, BootTime now);
  void on_cleared(std::uint64_t ticket, BootTime now) { ring_.on_cleared(ticket, now); }
  // Nothing: the group did not answer.
  void on_barrier(std::uint64_t ticket, std::optional<OrderNumber> number, BootTime now);

  // ---- From other members. The asking member's name is that of its certificate. Nothing: there is
  // no answer.
  [[nodiscard]] std::optional<HandOverPage> on_ask(const HandOverAsk& ask, std::string_view from) {
    return giver_.on_ask(ask, from);
  }
  void on_page(const HandOverPage& page, BootTime now) { taker_.on_page(page, now); }

  // Events of now alone add actions. `now` is when they are taken.
  [[nodiscard]] std::optional<RingNodeAction> take_action(BootTime now);
  // When on_tick() is due at the latest.
  [[nodiscard]] BootTime deadline() const {
    return std::min({ring_.deadline(), taker_.deadline(), settings_.deadline()});
  }

  [[nodiscard]] const Ring& ring() const { return ring_; }
  [[nodiscard]] const SettingsShare& settings() const { return settings_; }
  // Partitions that are being handed to us, or wait for that.
  [[nodiscard]] std::size_t fetching() const { return taker_.under_way(); }

 private:
  static constexpr int kSettingsReadsInLease = 4;

  [[nodiscard]] RingNodeAction carry_out(OwnershipAction action, BootTime now);
  [[nodiscard]] static RingNodeAction pass_on(SettingsAction action);

  SettingsShare settings_;
  Ring ring_;
  Giver giver_;
  Taker taker_;
  // By ticket: what follows once all workers have passed a turn. Without partitions, a report.
  std::map<std::uint64_t, std::vector<Partition>> turns_;
  std::deque<ClearPartitions> clearings_;
};

}  // namespace prophecy::dht
