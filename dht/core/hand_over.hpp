// The hand-over of a partition: its former owner (`Giver`) has entries, its new owner (`Taker`)
// asks for them page by page, so that it need not begin cold. Nothing waits for it; what is lost
// costs replicated reads.
//
//    Taker                                Giver
//      │── ask: floors, from 0 ────────────►│   it has let go of the partition, and all its workers
//      │◄───────────────── page of floors ──│   have passed a turn since
//      │── ask: entries, from 0 ───────────►│
//      │◄──────────────── page of entries ──│
//      │── done ───────────────────────────►│   it may erase them
//
// Floors go first: an entry that a write has made out of date must not count for an instant. An
// entry fills a gap alone: where anything was recorded since the barrier, or may have been, that is
// newer. A number beyond the barrier cannot be from before; the group has begun to count anew, and
// nothing of the giver's can be compared with what is here: all of it is left out. Where members
// count for themselves, handed_numbers.hpp says what goes over the wire, and none is beyond.
//
// The giver keeps no state, so that asking again is harmless. The taker holds a page at a time of
// each of a few partitions. Both are pure objects.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "dht/core/ownership.hpp"
#include "sketch/sketch_value.hpp"

namespace prophecy::dht {

struct HandedFloor {
  std::uint32_t slot = 0;
  OrderNumber floor = 0;
  std::uint8_t slot_bits = 0;  // of the slot: members' tables differ in size
};

struct HandedEntry {
  std::array<std::uint8_t, 10> tag{};
  sketch::Sketch answer{};
  OrderNumber number = 0;
  bool is_limited = false;  // Room::limited of history_table/history_entry.hpp
};

// The history of a member, as far as the hand-over needs it.
class HistoryStore {
 public:
  enum class Inserted : std::uint8_t { taken, known_newer, beyond };

  virtual ~HistoryStore() = default;
  // The newest number that this member has given, where each member counts for itself. Nothing:
  // the numbers are those of the only group, alike at all members.
  [[nodiscard]] virtual std::optional<OrderNumber> own_newest() const { return std::nullopt; }
  // Whether the partition's entries can be read. If not, the store looks for them from now on.
  [[nodiscard]] virtual bool prepare(Partition /*partition*/) { return true; }
  // Read one page at most, from `cursor` on; return the next cursor, or 0 at the end.
  virtual std::uint64_t read_floors(Partition partition, std::uint64_t cursor,
                                    std::vector<HandedFloor>& page) = 0;
  virtual std::uint64_t read_entries(Partition partition, std::uint64_t cursor,
                                     std::vector<HandedEntry>& page) = 0;
  virtual void raise_floor(Partition partition, const HandedFloor& floor) = 0;
  // Where nothing was recorded, or forgotten, whose number is beyond the barrier.
  virtual Inserted insert(Partition partition, const HandedEntry& entry, OrderNumber barrier) = 0;
  virtual void erase(Partition partition) = 0;
};

enum class HandOverPhase : std::uint8_t { floors, entries };

// From the taker.
struct HandOverAsk {
  ViewNumber view = 0;    // that it has adopted
  ViewNumber gained = 0;  // that gave it the partition
  Partition partition = 0;
  std::uint64_t token = 0;  // of the taker's ownership; comes back with the page
  HandOverPhase phase = HandOverPhase::floors;
  std::uint64_t cursor = 0;
  bool is_done = false;  // it asks for nothing more
};

// To the taker.
struct HandOverPage {
  enum class Status : std::uint8_t {
    page,
    later,    // it has not let go yet, or a worker has not passed a turn
    nothing,  // it has none, or none that may be used
  };
  Status status = Status::nothing;
  Partition partition = 0;
  std::uint64_t token = 0;
  HandOverPhase phase = HandOverPhase::floors;
  std::uint64_t cursor = 0;  // that was asked for
  std::uint64_t next = 0;    // 0: it was the last page
  std::vector<HandedFloor> floors = {};
  std::vector<HandedEntry> entries = {};
};

class Giver {
 public:
  Giver(Ownership& ownership, HistoryStore& store) : ownership_(ownership), store_(store) {}

  // From the member of that name. Nothing: there is no answer.
  [[nodiscard]] std::optional<HandOverPage> on_ask(const HandOverAsk& ask, std::string_view from);

 private:
  void use_ages(HandOverPage& page) const;

  Ownership& ownership_;
  HistoryStore& store_;
};

class Taker {
 public:
  static constexpr std::size_t kAtOnce = 512;  // partitions: the giver finds them in one round
  static constexpr int kTriesMax = 8;          // of one page
  static constexpr int kLatersMax = 64;        // in a row
  // After the first answer of `later`; then twice as long, and so on.
  static constexpr Span kLater = std::chrono::milliseconds(5);

  struct Send {
    Holder to;
    HandOverAsk ask;
  };

  Taker(const Ownership& ownership, HistoryStore& store, Span retry)
      : ownership_(ownership), store_(store), retry_(retry) {}

  // They are taken since now.
  void on_taken(const std::vector<Partition>& partitions, OrderNumber barrier, BootTime now);
  void on_page(const HandOverPage& page, BootTime now);
  void on_tick(BootTime now);
  [[nodiscard]] std::optional<Send> take_send();
  [[nodiscard]] BootTime deadline() const;
  // Partitions whose pages are asked for, or wait for their turn.
  [[nodiscard]] std::size_t under_way() const { return under_way_.size() + waiting_.size(); }

 private:
  struct Fetch {
    OwnerWord word;  // of the ownership that it is for
    Holder giver;
    OrderNumber barrier = 0;
    HandOverPhase phase = HandOverPhase::floors;
    std::uint64_t cursor = 0;
    int tries = 0;   // without an answer
    int laters = 0;  // answers
    BootTime due{};  // when it is asked for again
  };

  void begin_some(BootTime now);
  void ask(Partition partition, Fetch& fetch, BootTime now);
  [[nodiscard]] bool is_current(Partition partition, const Fetch& fetch) const {
    return ownership_.word(partition) == fetch.word;
  }
  // Whether the rest may follow.
  [[nodiscard]] bool store_page(const HandOverPage& page, const Fetch& fetch);
  void advance(Partition partition, Fetch& fetch, const HandOverPage& page, BootTime now);

  const Ownership& ownership_;
  HistoryStore& store_;
  Span retry_;
  std::map<Partition, Fetch> under_way_;
  std::map<Partition, Fetch> waiting_;
  std::deque<Send> sends_;
};

}  // namespace prophecy::dht
