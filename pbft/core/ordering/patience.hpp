// `Patience` holds the requests that this replica has from their clients and that are not ordered
// yet: what counts against a primary that does not order them, and is sent to the next one.
//
// One for each session, the newest; bounded in bytes, half of them for one client, but that one of
// each client always has a place.
//
// Of each client only the first in line is timed. A request behind it begins to wait when that one
// is ordered: a fair primary serves its clients in turn, so a client that asks for much waits for
// itself, and may not depose a primary by that. A primary that leaves one request out is found out
// all the same, since the request comes to be the first.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "pbft/core/state/client_table.hpp"
#include "pbft/core/state/settings.hpp"

namespace prophecy::pbft {

class Patience {
 public:
  Patience(const ReplicaSettings& settings, const ClientTable& clients)
      : bytes_max_(settings.queue_bytes_max),
        log_bytes_(settings.checkpoint_bytes),
        clients_(clients) {}

  // A request that is authentic and newer than what its session has had ordered. Without room, or
  // when it is known, nothing happens.
  // It waits from `since` on, which may be to come; `ordered` is the last batch before it.
  void note(const RequestMessage& request, ByteView frame, TimePoint since, std::uint64_t ordered);

  // Why nothing counts against the primary, which could order nothing that this replica sees.
  enum class Excuse : std::uint8_t {
    none,
    // The service of this replica. A client counts of which many batches have held nothing: a
    // primary that is always busy with some clients does not keep its place while it leaves others
    // out.
    busy,
    // This replica lacks what 2f+1 have executed: whatever waits here may be ordered there.
    behind,
    // The primary may propose nothing before a checkpoint is stable. As many times as clients
    // wait, each client begins to wait anew then: a fair primary may have served another one. From
    // then on the time under this excuse alone is left out: a primary that fills the log
    // at once each time, and leaves a request out, is found out by the rest of the time.
    held_up,
  };
  // From now on, until the next one. The time under the one before is no time of waiting.
  // `ordered` and `stable`: the last batch that was ordered, and the last checkpoint that is
  // stable.
  void excuse(Excuse why, TimePoint now, std::uint64_t ordered, std::uint64_t stable);

  // So much of the time until now is no time of waiting either: this replica did not run.
  void leave_out(Duration absent, TimePoint now);

  // What counts against the primary.
  struct Oldest {
    std::optional<TimePoint> since;  // the first in line that has waited longest as such
    // Likewise, from when it came: of those that the primary has been sent, in whose way nothing is
    // that this replica does.
    std::optional<TimePoint> late_since;
  };
  // Forgets what has been ordered, or is agreed on and only waits for its execution. Of the others
  // the first in line count that are not excused.
  [[nodiscard]] Oldest oldest(TimePoint now, std::uint64_t ordered);
  // The first in line that the primary is to be sent now: at once when they are that, when their
  // clients send them again, and from time to time. The one that has waited longest comes first.
  struct Due {
    NodeId client = 0;
    Frame frame;
  };
  [[nodiscard]] std::vector<Due> due(TimePoint now) const;
  // The primary has been sent the first of this client.
  void note_sent(NodeId client, TimePoint now, TimePoint again_at);
  // It cannot be sent before.
  void put_off(NodeId client, TimePoint until) { lines_.at(client).due_at = until; }
  [[nodiscard]] std::size_t clients() const { return lines_.size(); }
  // All are: there is another primary.
  void make_due();
  [[nodiscard]] TimePoint next_due() const;
  // Those that are not ordered, oldest first.
  [[nodiscard]] std::vector<Frame> frames();
  // All begin to wait anew: there is another primary.
  void restart(TimePoint now, std::uint64_t ordered);

 private:
  struct Entry {
    std::uint32_t session = 0;
    std::uint64_t timestamp = 0;
    TimePoint since;
    std::uint64_t ordered = 0;  // the last batch when it came
    std::uint64_t bytes = 0;    // with its body
    Frame frame;
  };
  using Entries = std::list<Entry>;
  struct Line {
    Entries entries;  // by `since`
    std::map<std::uint32_t, Entries::iterator> by_session;
    std::uint64_t bytes = 0;
    // Of the first, since it is that: from when it counts, and the last batch by then.
    TimePoint since;
    TimePoint late_since;
    std::optional<TimePoint> sent_at;  // to the primary of this view
    std::uint64_t ordered = 0;
    TimePoint due_at;
    std::size_t held_ups = 0;                 // full logs that have had it begin to wait anew
    std::optional<std::uint64_t> held_up_at;  // the stable checkpoint at the last of them
    std::size_t rivals = 0;  // most clients that have waited at once, at these times
  };

  // The first in line has been ordered.
  void note_served(NodeId client, const Entry& entry);
  [[nodiscard]] std::size_t held_ups_max(NodeId client, const Line& line) const;
  void forget(Line& line, Entries::iterator entry);
  void begin_turn(Line& line, TimePoint now, std::uint64_t ordered) const;
  static void restart(Line& line, TimePoint now, std::uint64_t ordered);
  static void postpone(Line& line, Duration length, TimePoint now);
  [[nodiscard]] bool is_excused(const Line& line, std::uint64_t ordered) const;
  [[nodiscard]] bool is_ordered(NodeId client, const Entry& entry) const;

  std::uint64_t bytes_max_;
  std::uint64_t log_bytes_;  // by which a log can fill between two checkpoints
  const ClientTable& clients_;
  std::map<NodeId, Line> lines_;  // none is empty between two calls
  // By client, if its last request filled logs by itself, how many: each other client may be served
  // as much before its next one.
  std::map<NodeId, std::uint64_t> logs_filled_;
  std::uint64_t bytes_ = 0;
  TimePoint restarted_at_ = TimePoint::min();
  Excuse excuse_ = Excuse::none;
  TimePoint excused_at_{};  // until then it has been taken into account
  std::uint64_t ordered_then_ = 0;
};

}  // namespace prophecy::pbft
