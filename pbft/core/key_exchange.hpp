// Establishes and refreshes the session keys of one member (pbft/auth/session_keys.hpp) as a
// deterministic object: connections, frames and the time go in, frames to send come out; private
// keys and nonces are drawn from the Entropy that it is given.
//
// Who has opened a connection to a replica asks there for its key, when it opens and then ever
// again, and is asked for its own in turn. What is told is signed together with the asker's fresh
// nonce: a recorded message convinces nobody, also after a restart, and no clock is relied on.
//
// One thread at a time. After each call, next_timer() is when on_tick() is next wanted.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/metric.hpp"
#include "pbft/auth/entropy.hpp"
#include "pbft/core/state/actions.hpp"
#include "pbft/wire/key_messages.hpp"

namespace prophecy::pbft {

struct KeyExchangeSettings {
  // How often a new key is made. The one before is accepted for as long again.
  Duration refresh_interval = seconds(600);
  SessionRange sessions;  // of this process, if it is a client's
};
constexpr Duration kKeyRefreshMin = seconds(1);
constexpr Duration kKeyRefreshMax = std::chrono::hours(24);

// Names an accepted connection, for as long as it is open.
using ConversationId = std::uint64_t;

struct KeyExchangeCounters {
  std::uint64_t keys_made = 0;    // of its own
  std::uint64_t keys_learnt = 0;  // of others
  std::uint64_t asked = 0;
  std::uint64_t told = 0;
  std::uint64_t dropped = 0;     // not asked for, malformed, too often, or of a stranger
  std::uint64_t wrong_keys = 0;  // signatures that are not the member's
  std::uint64_t refusals = 0;    // others that say so of ours
};
inline constexpr Metric kKeyEventsMetric =
    counter_metric("prophecy_replica_key_events_total", "events",
                   "Events of the exchange of session keys.")
        .by("event");
inline constexpr auto kKeyTable = metric_table<KeyExchangeCounters>(
    "", "keys",
    {metric_row<&KeyExchangeCounters::keys_made>("made", kKeyEventsMetric, "made",
                                                 "Keys made by this replica."),
     metric_row<&KeyExchangeCounters::keys_learnt>("learnt", kKeyEventsMetric, "learnt",
                                                   "Keys of others that were accepted."),
     metric_row<&KeyExchangeCounters::asked>("asked", kKeyEventsMetric, "asked",
                                             "Requests for keys sent."),
     metric_row<&KeyExchangeCounters::told>("told", kKeyEventsMetric, "told",
                                            "Requests for keys answered."),
     metric_row<&KeyExchangeCounters::dropped>(
         "dropped", kKeyEventsMetric, "dropped",
         "Messages not asked for, malformed, too frequent, or of a stranger."),
     metric_row<&KeyExchangeCounters::wrong_keys>("wrong_keys", kKeyEventsMetric, "wrong_key",
                                                  "Signatures that are not the member's."),
     metric_row<&KeyExchangeCounters::refusals>("refusals", kKeyEventsMetric, "refused",
                                                "Refusals of this replica's key by others.")});

// What an operator should hear.
struct KeyEvent {
  enum class Kind : std::uint8_t { wrong_keys, refused };
  Kind kind = Kind::wrong_keys;
  NodeId member = 0;
};

class KeyExchange {
 public:
  struct Step {
    Frame answer;            // on the same connection; null: none
    bool authentic = false;  // the frame is of the member that it names
    bool learnt = false;     // a key that was not known
  };

  // Requires a ring with session keys, and a refresh interval between the bounds. All outlive this.
  KeyExchange(const KeyRing& keys, const KeyExchangeSettings& settings, Entropy& entropy);

  // Makes the first key, but for a ring that has one.
  void start(TimePoint now);

  // A connection that was opened to this replica: what to send there, first of all.
  [[nodiscard]] Frame on_connected(NodeId replica, TimePoint now);
  void on_disconnected(NodeId replica);
  // A key message on that connection.
  Step on_link_frame(NodeId replica, ByteView frame, TimePoint now);

  // A key message on a connection that was accepted; and its end.
  Step on_accepted_frame(ConversationId conversation, ByteView frame, TimePoint now);
  void on_accepted_closed(ConversationId conversation);

  void on_tick(TimePoint now, std::vector<Outgoing>& sends);
  [[nodiscard]] TimePoint next_timer() const { return next_timer_; }

  [[nodiscard]] const KeyExchangeCounters& counters() const { return counters_; }
  // Since the last call; one for a member and kind, until that member's key is learnt.
  [[nodiscard]] std::vector<KeyEvent> take_events();

 private:
  // A connection to a replica.
  struct Link {
    bool connected = false;
    Nonce asked{};     // zero: nothing is open
    Nonce answered{};  // the replica's
    TimePoint ask_at = TimePoint::max();
    Duration retry{};
  };
  struct Conversation {
    NodeId member = 0;
    Nonce asked{};  // by us; zero: nothing is open
    TimePoint told_at{};
    // Another connection has brought a key of the member since: an answer here proves the
    // connection, if it tells that key, and changes no key.
    bool is_overtaken = false;
  };

  void refresh(TimePoint now);
  Frame ask(NodeId replica, TimePoint now);
  [[nodiscard]] Frame tell(NodeId to, const Nonce& answered, const Nonce& asked);
  Step learn(const KeyTellMessage& message);
  void overtake_questions(NodeId member);
  Step on_ask(ConversationId conversation, ByteView frame, TimePoint now);
  Step on_tell(ConversationId conversation, ByteView frame, TimePoint now);
  Step on_refusal(NodeId member, const Nonce& expected, ByteView frame);
  Step drop();
  void report(KeyEvent::Kind kind, NodeId member);
  [[nodiscard]] Nonce draw_nonce();
  void arm();

  const KeyRing& keys_;
  SessionKeys& sessions_;
  KeyExchangeSettings settings_;
  Entropy& entropy_;
  std::vector<Link> links_;
  std::unordered_map<ConversationId, Conversation> conversations_;
  TimePoint refresh_at_ = TimePoint::max();
  TimePoint next_timer_ = TimePoint::max();
  KeyExchangeCounters counters_;
  std::vector<KeyEvent> events_;
  std::unordered_map<NodeId, std::uint32_t> reported_;  // a bit for each kind
};

}  // namespace prophecy::pbft
