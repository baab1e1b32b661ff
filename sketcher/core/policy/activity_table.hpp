// What one worker knows of the requests that it has read lately, by s(q): how often the history
// vouched for an answer, how often the group was asked, how often that met a transition, and which
// of them are blacklisted automatically. Operators are shown it, and nothing in correctness rests
// on it: a request that is forgotten begins anew.
//
// It keeps, of the sixteen requests that share a set, those with transitions before others, then
// those that were used last: least recently used within a set, to some seconds. A request that the
// history vouches for takes another one's place only one time in eight, so that it costs next to
// nothing when more are hot than there is room for.
//
// In shared memory of a fixed size, for its worker to write and the master to read; survives its
// worker, at whatever instruction that was killed. Nothing allocates. Deterministic: time comes in,
// in seconds of the machine's steady clock: when a read came, or when something came of it. So it
// may go back somewhat from call to call; no record's does.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "history_table/history_entry.hpp"
#include "sketcher/core/policy/activity_layout.hpp"
#include "sketcher/core/policy/avoidance_credit.hpp"
#include "sketcher/core/policy/volatility.hpp"

namespace prophecy::sketcher {

class ActivityTable {
 public:
  // Of all records, those that may be blacklisted automatically at a time.
  static constexpr std::size_t kBlacklistedPart = 4;

  // Takes over what a predecessor left. `limits` are by route. Requires ActivityParts::kBytesMin,
  // and no other writer.
  ActivityTable(std::span<std::byte> memory, std::vector<VolatilityLimits> limits);

  struct Request {
    const Sketch& key;
    std::uint32_t route;
    bool is_head;
    std::string_view authority;
    std::string_view target;
  };

  // A read comes. Whether it is to go to the group at once: it most likely meets a transition, and
  // there is credit for it.
  [[nodiscard]] bool avoids_fast_read(const Sketch& key, std::uint32_t now);

  // The history vouched for an answer.
  void on_hit(const Request& request, std::uint32_t now);
  // The group is asked.
  void on_group_read(const Request& request, std::uint32_t now);
  // The group's answer was compared with what the history held.
  void on_compared(const Sketch& key, bool transition, std::uint32_t now);

  // Has the memory brought that the next call for this key begins with.
  void prefetch(const Sketch& key) const {
    __builtin_prefetch(&parts_.sets[parts_.set_of(key)], 1);
  }

  // Once a second: those that nobody reads any more are blacklisted no longer.
  void sweep(std::uint32_t now);

 private:
  struct Place {
    std::uint32_t* way = nullptr;
    ActivityRecord* record = nullptr;
    explicit operator bool() const { return record != nullptr; }
  };

  [[nodiscard]] Place find(const Sketch& key) const;
  // Nothing: it is not worth the place of another one.
  [[nodiscard]] Place find_or_take(const Request& request, std::uint32_t now, bool must);
  [[nodiscard]] Place place_to_take(std::size_t set, std::uint32_t now, bool must);
  void replace(const Place& place, const Request& request, std::uint32_t now);
  void on_read(const Place& place, bool transition, std::uint32_t now);
  // As of now: too old to be blacklisted still, it is released. To be stored by touch().
  [[nodiscard]] Volatility aged(const ActivityRecord& record, std::uint32_t now);
  // It was used, and never earlier than it was before.
  static void touch(const Place& place, const Volatility& volatility, std::uint32_t now);

  ActivityParts parts_;
  std::vector<VolatilityLimits> limits_;
  AvoidanceCredit credit_;
  std::uint32_t refusals_ = 0;  // of room, for requests that the history vouched for
  std::size_t swept_ = 0;       // the next record to look at
};

}  // namespace prophecy::sketcher
