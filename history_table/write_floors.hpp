// What successful writes have made out of date, of one group: for each URI a sigma, its floor,
// above which an entry of the history has to lie to count for a read of that URI. Otherwise the
// group is asked, whose answer has a greater sigma. So a read that comes after a write was answered
// is never given what was agreed before it, whatever header fields vary its key.
// docs/consistency.md has the argument.
//
// Beside these, all groups have one in common: below it nothing counts, whatever its URI. An import
// raises it (docs/history-table.md).
//
// A fixed array of words in shared memory, kept or lost together with the entries. URIs share
// words: that costs a replicated read now and then, and never a wrong answer. A word never falls.
//
// A view, copied freely. Safe for any number of processes, which may be killed at any instruction:
// a word holds one number or the other. All accesses are in one order (seq_cst): raise_unordered()
// needs it, and a load costs nothing for it on x86-64.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "history_table/history_entry.hpp"
#include "history_table/partition.hpp"

namespace prophecy {

// To the sigma, unless it is there or beyond; safe beside others who do so.
void raise_word(std::uint64_t& word, Sigma sigma);

class WriteFloors {
 public:
  using Word = std::uint64_t;
  using Slot = std::uint32_t;
  static constexpr std::size_t kSlotsMin = 8;                     // a cache line
  static constexpr std::size_t kSlotsMax = std::size_t{1} << 31;  // a Slot tells them apart

  // How many words each of some groups has in a table of that size: a power of two, and together a
  // 64th of it at most; of a small one, a sixteenth, up to 65,536 words for each group. The number
  // decides how many entries a write makes out of date beside those of its own URI.
  [[nodiscard]] static std::size_t slots_for(std::size_t table_bytes, std::size_t groups);

  // `words` are all zero at first, or what an object with the same seed has left. Their number is a
  // power of two. No client knows the seed: it could have its writes meet others' URIs. `common` is
  // the floor of all; none has the same effect as one that is never raised.
  WriteFloors(std::span<Word> words, std::uint64_t seed, Word* common = nullptr);

  // The place of a URI, in the forms of the request's key. The partition is the same in all tables
  // of one seed; where there are as many words as partitions, each word belongs to one.
  struct Place {
    Slot slot = 0;
    Partition partition = 0;
  };
  [[nodiscard]] Place place_of(std::string_view authority, std::string_view target) const;
  [[nodiscard]] Slot slot_of(std::string_view authority, std::string_view target) const {
    return place_of(authority, target).slot;
  }
  [[nodiscard]] Sigma at(Slot slot) const { return std::max(common(), written_at(slot)); }
  // Without the one in common: 0 where nothing was written.
  [[nodiscard]] Sigma written_at(Slot slot) const {
    return std::atomic_ref(words_[slot]).load(std::memory_order_seq_cst);
  }
  [[nodiscard]] Sigma common() const {
    return common_ ? std::atomic_ref(*common_).load(std::memory_order_seq_cst) : 0;
  }
  // Has the memory brought.
  void prefetch(Slot slot) const { __builtin_prefetch(&words_[slot]); }

  // The entry, as far as it counts for a read: it lies above the floor, or is an operator's word.
  // Requires that it was looked up before this is called: then there was an instant at which the
  // table held it and no write was answered since its answer was agreed.
  [[nodiscard]] std::optional<HistoryEntry> admit(const std::optional<HistoryEntry>& entry,
                                                  Slot slot) const {
    const bool counts = entry && (entry->mark != Mark::none || entry->sigma > at(slot));
    return counts ? entry : std::nullopt;
  }

  // Of an entry that does not count: it is a write's doing, and not that of an import alone.
  [[nodiscard]] bool was_written_since(const HistoryEntry& entry, Slot slot) const {
    return entry.sigma <= written_at(slot) && entry.sigma > common();
  }

  // Before the write is answered. To 1 at least, which is no ordered answer's number: an import
  // tells by its floor what was written to, though the group may have answered nothing before.
  void raise(Slot slot, Sigma sigma) const;

  // The same where answers have no place in an order, but numbers that `next` draws as they come.
  // A reader draws its answer's number first, then looks at the floor, and records nothing if it
  // was asked for below it. If it has looked before the first raise here, its number is below the
  // second.
  template <class Next>
  void raise_unordered(Slot slot, Next next) const {
    raise(slot, next());
    raise(slot, next());
  }

  // How many of 1 were ever raised; of very many, by a sample.
  [[nodiscard]] double share_raised() const;

  // All of them, to be copied. Others are merged by raising each word to theirs.
  [[nodiscard]] std::span<Word> words() const { return words_; }

 private:
  std::span<Word> words_;
  std::uint64_t seed_;
  Word* common_;
};

}  // namespace prophecy
