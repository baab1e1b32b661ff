// `Permissions` says, in memory that the ring and all workers share, which partitions this member
// owns and until when: the ring's process writes, workers read. A worker finds a partition's owner
// with one load.
//
// A partition's word names its owner, the stage of that ownership, and a number that no two words
// of one process share. A worker remembers the word when it begins something, its *claim*, and what
// it has found out counts only if the word is still the same: so nothing that was begun under one
// ownership is mixed up with another, though the partition may have come back meanwhile.
//
// The order of stores: before the ring asks for a lease of a new view, it has changed the words of
// all partitions that the view takes from it. So whoever finds such a lease, and looks at a word
// afterwards, finds it changed. Hence the order of is_in_force() and is_unchanged() in
// may_accept(); the other way round, a worker that is stopped between the two accepts by the lease
// of a view that has given the partition away. docs/ring.md has the proof.
//
// A view, copied freely; lock-free; each process may be killed or stopped at any instruction. All
// accesses are in one order (seq_cst), which costs a load nothing on x86-64.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/assert.hpp"
#include "dht/core/boot_time.hpp"
#include "history_table/partition.hpp"

namespace prophecy::dht {

// A member's place in the list of addresses that workers have; a name keeps its place as long as
// the process lives.
using MemberSlot = std::uint16_t;
constexpr MemberSlot kNoSlot = UINT16_MAX;

enum class Stage : std::uint8_t {
  unknown,     // no view is known
  elsewhere,   // another member owns it
  waiting,     // ours, but former holders may not have stopped: requests wait
  group_only,  // ours; a former holder may still answer through the group alone, and so may we
  taken,       // ours
};

class OwnerWord {
 public:
  constexpr OwnerWord() = default;
  constexpr explicit OwnerWord(std::uint64_t bits) : bits_(bits) {}
  constexpr OwnerWord(std::uint64_t number, Stage stage, MemberSlot slot)
      : bits_(number << 24 | static_cast<std::uint64_t>(stage) << 16 | slot) {}

  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }
  [[nodiscard]] constexpr Stage stage() const { return static_cast<Stage>(bits_ >> 16 & 0xff); }
  // The owner's slot; without meaning in stage `unknown`.
  [[nodiscard]] constexpr MemberSlot slot() const { return static_cast<MemberSlot>(bits_); }
  [[nodiscard]] constexpr std::uint64_t number() const { return bits_ >> 24; }
  bool operator==(const OwnerWord&) const = default;

 private:
  std::uint64_t bits_ = 0;
};

// The ground that an answer rests on.
enum class Basis : std::uint8_t {
  history,  // an entry, or a call that others share: the partition is taken, the lease in force
  group,    // the group's answer to this very request, which shares nothing
};

class Permissions {
 public:
  // `words`: one for each partition, two for the ends of leases, and the view. All zero at first. A
  // process that follows another one here begins by taking all partitions' words away, and resumes
  // nothing.
  static constexpr std::size_t kExtraWords = 3;
  explicit Permissions(std::span<std::uint64_t> words)
      : words_(words.first(words.size() - kExtraWords)),
        lease_end_(words[words.size() - 3]),
        group_end_(words[words.size() - 2]),
        view_(words[words.size() - 1]) {}

  // ---- For workers.

  [[nodiscard]] OwnerWord owner(Partition partition) const {
    return OwnerWord(std::atomic_ref(words_[partition]).load());
  }

  // The view that the words are of, or an older one; 0: none. A worker that reads view v, and then
  // a word that gives it a partition, holds that by v, or by a view that the ring adopted after v.
  [[nodiscard]] std::uint64_t view() const { return std::atomic_ref(view_).load(); }

  // Whether what was begun under `claim` may be accepted now. For what was *looked up*: the look-up
  // comes before this. For what *changes* the history or a floor: the change comes after it, in the
  // same turn of the worker. `now` reads CLOCK_BOOTTIME.
  template <class Now>
  [[nodiscard]] bool may_accept(Partition partition, OwnerWord claim, Basis basis, Now now) const {
    return allows(claim.stage(), basis) && is_in_force(basis, now) &&
           is_unchanged(partition, claim);
  }

  [[nodiscard]] static constexpr bool allows(Stage stage, Basis basis) {
    return stage == Stage::taken || (stage == Stage::group_only && basis == Basis::group);
  }
  // First.
  template <class Now>
  [[nodiscard]] bool is_in_force(Basis basis, Now now) const {
    const std::int64_t end = static_cast<std::int64_t>(
        std::atomic_ref(basis == Basis::history ? lease_end_ : group_end_).load());
    const BootTime instant = now();
    return instant.time_since_epoch().count() < end;
  }
  // Then.
  [[nodiscard]] bool is_unchanged(Partition partition, OwnerWord claim) const {
    return owner(partition) == claim;
  }

  // ---- For the ring's process.

  [[nodiscard]] std::size_t partitions() const { return words_.size(); }
  void set_owner(Partition partition, OwnerWord word) const {
    std::atomic_ref(words_[partition]).store(word.bits());
  }
  // Once all words are changed that the view takes from us.
  void set_view(std::uint64_t view) const { std::atomic_ref(view_).store(view); }
  // Never falls. `group_end` is when answers end that rest on the group alone.
  void extend(BootTime lease_end, BootTime group_end) const {
    ASSERT(lease_end <= group_end);
    raise(group_end_, group_end);
    raise(lease_end_, lease_end);
  }
  [[nodiscard]] BootTime lease_end() const {
    return BootTime(Span(static_cast<Span::rep>(std::atomic_ref(lease_end_).load())));
  }

 private:
  static void raise(std::uint64_t& word, BootTime end) {
    const std::atomic_ref shared(word);
    const auto count = static_cast<std::uint64_t>(end.time_since_epoch().count());
    if (shared.load() < count) shared.store(count);
  }

  std::span<std::uint64_t> words_;
  std::uint64_t& lease_end_;
  std::uint64_t& group_end_;
  std::uint64_t& view_;
};

}  // namespace prophecy::dht
