// `SettingsShare` agrees with the other members on what operators set (agreed_settings.hpp), by
// compare-and-set on one node.
//
//    change ──► waiting ──► sent ──► agreed            (the write was committed)
//                  ▲          │
//                  └──────────┴──► refused, lost       (a bound; another member has set the name)
//            a conflict, or an unknown outcome: the node is read, the change applied anew
//
// S1. A change goes by the values that its operator has seen: if the agreed value of its name is
//     neither one of them nor the wanted one, another member was faster, and the change is *lost*.
// S2. A write of unknown outcome was carried out if the node names it as its process's last one.
//     Until that is known nothing else of this process is written.
// S3. A process begins with settings that a committed check, or the making of the node, has shown
// to
//     be the newest. Settings of a lower number than a known one, in a node that a committed check
//     has shown to be there, were set back by somebody. They are not taken over: an operator
//     decides, and changes wait.
//
// A pure object for one thread: events in, actions out, in their order. Requires that each call has
// exactly one result, and that `now` never falls.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dht/core/agreed_settings.hpp"
#include "dht/core/boot_time.hpp"
#include "dht/core/coordination.hpp"

namespace prophecy::dht {

// What an operator wants, by a number that rises from order to order.
struct SettingsOrder {
  enum class Kind : std::uint8_t {
    change,   // one setting
    accept,   // what the node has counts, though it was set back
    restore,  // what this member knows counts, whatever the node has
  };
  std::uint64_t id = 0;
  Kind kind = Kind::change;
  SettingChange change = {};
  // The values that the change may be based on: the agreed one, as its operator has seen it, and
  // those that this member has asked for since.
  std::vector<std::string> bases = {};
};

struct SettingsOutcome {
  enum class Kind : std::uint8_t {
    agreed,
    refused,   // `message` says why; nothing was changed
    lost,      // another member has set it; `message` says to what
    waiting,   // it is tried again; `message` says what it waits for
    replaced,  // by a later order for the same name
  };
  std::uint64_t id = 0;  // of the order
  Kind kind = Kind::agreed;
  std::string message = {};

  bool operator==(const SettingsOutcome&) const = default;
};

// These are agreed from now on; or were agreed already, if nobody has known them here.
struct SettingsAdopted {
  AgreedSettings settings;
};
// A problem of the node; empty: it is over.
struct SettingsProblem {
  std::string path;
  std::string message;
};
using SettingsAction =
    std::variant<CoordinationCall, SettingsAdopted, SettingsOutcome, SettingsProblem>;

class SettingsShare {
 public:
  static constexpr std::size_t kOrdersMax = kSettingsMax;
  // Beyond the number of any member that knows settings: a decision (S3) counts for all.
  static constexpr SettingsNumber kDecisionStep = SettingsNumber{1} << 20;
  // Numbers of calls; others are the ring's.
  static constexpr std::uint64_t kCallBit = std::uint64_t{1} << 63;

  // `known`: what this member knew in an earlier life. `pause`: between readings.
  SettingsShare(std::string path, SettingsCodec codec, Instance self, AgreedSettings known,
                Span pause)
      : path_(std::move(path)),
        codec_(std::move(codec)),
        self_(self),
        pause_(pause),
        known_(std::move(known)) {}

  void on_session(SessionEvent event, BootTime now);
  [[nodiscard]] static bool is_own(std::uint64_t call) { return (call & kCallBit) != 0; }
  void on_result(const CoordinationResult& result, BootTime now);
  void on_tick(BootTime now) { move_on(now); }
  void order(SettingsOrder order, BootTime now);

  [[nodiscard]] std::optional<SettingsAction> take_action();
  // When on_tick() is due at the latest.
  [[nodiscard]] BootTime deadline() const;

  [[nodiscard]] const AgreedSettings& known() const { return known_; }
  // The number of the settings that this process has begun with.
  [[nodiscard]] std::optional<SettingsNumber> first_adopted() const { return first_adopted_; }
  // The node was read, and `known` is what was agreed.
  [[nodiscard]] bool is_agreed() const { return state_ == State::agreed; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::uint64_t conflicts() const { return conflicts_; }

 private:
  enum class State : std::uint8_t {
    unread,
    agreed,    // the node has `known_`, at `version_`
    set_back,  // it has `found_`
    gone,      // there is none any more
    unusable,  // its text is refused
  };
  enum class Call : std::uint8_t { read, certify, begin, write };
  struct UnderWay {
    std::uint64_t number = 0;
    Call call = Call::read;
    AgreedSettings settings;  // of certify: found; of begin and write: wanted
  };
  struct Pending {
    SettingsOrder order;
    bool was_sent = false;  // with an unknown outcome
    std::string told;       // what it waits for
  };

  void refuse(std::uint64_t id, std::string reason);
  void move_on(BootTime now);
  void read(BootTime now);
  void begin();
  void write_next();
  [[nodiscard]] bool write_change(Pending& pending);
  [[nodiscard]] bool write_decision(const Pending& pending);
  void send_write(AgreedSettings next);
  void on_read(const CoordinationResult& result);
  [[nodiscard]] bool is_older(const AgreedSettings& settings) const;
  [[nodiscard]] bool was_carried_out(const Pending& pending) const;
  void on_certified(const AgreedSettings& settings, const CoordinationResult& result, BootTime now);
  void on_written(const UnderWay& written, const CoordinationResult& result, BootTime now);
  void adopt(AgreedSettings settings);
  void replace_older();
  void end_order(SettingsOutcome::Kind kind, std::string message);
  void set_problem(std::string message);
  void note_waiting();
  [[nodiscard]] std::string why_waiting() const;
  void call(UnderWay under_way, CoordinationCall call);

  std::string path_;
  SettingsCodec codec_;
  Instance self_;
  Span pause_;
  AgreedSettings known_;
  State state_ = State::unread;
  std::optional<NodeVersion> version_;  // nothing: there is no node
  AgreedSettings found_;                // set_back
  bool is_connected_ = false;
  std::optional<SettingsNumber> first_adopted_;
  std::optional<UnderWay> under_way_;
  BootTime read_due_ = BootTime::min();
  std::deque<Pending> orders_;
  std::string problem_;
  std::uint64_t conflicts_ = 0;
  std::uint64_t last_number_ = kCallBit;
  std::deque<SettingsAction> actions_;
};

}  // namespace prophecy::dht
