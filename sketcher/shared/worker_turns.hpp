// `WorkerTurns` lets the ring's process wait until each worker has passed a turn of its loop, and
// have a worker ask the group for an ordered request: rules R6 and R8 of docs/ring.md.
//
//     ring's process                              worker
//     changes words of partitions
//     turns.ask() ──► wanted = n, wake-up ──────► at the begin of a turn: pass()
//     has_passed(n)? ◄──────────────────────────── passed = n
//
// What a worker began before it has seen n is over by then, and what it begins later sees the words
// as they are now. A place without a worker has passed all turns: it has no claims.
//
// A view of shared memory, copied freely; lock-free. Each process may be killed at any instruction.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "history_table/history_entry.hpp"

namespace prophecy::sketcher {

class WorkerTurns {
 public:
  // All zero at first.
  struct alignas(64) Place {
    std::atomic<std::uint64_t> has_worker{0};
    std::atomic<std::uint64_t> passed{0};
    std::atomic<std::uint64_t> barrier_wanted{0};  // a ticket
    std::atomic<std::uint64_t> barrier_ended{0};   // likewise
    std::atomic<std::uint64_t> barrier_number{0};  // of barrier_ended; kNoNumber: none
  };
  static constexpr std::uint64_t kNoNumber = UINT64_MAX;

  WorkerTurns(std::span<Place> places, std::atomic<std::uint64_t>& wanted)
      : places_(places), wanted_(wanted) {}

  [[nodiscard]] std::size_t workers() const { return places_.size(); }

  // ---- For the ring's process, one at a time. The workers are to be woken up after it.
  [[nodiscard]] std::uint64_t ask() const { return wanted_.fetch_add(1) + 1; }
  [[nodiscard]] bool have_all_passed(std::uint64_t turn) const {
    for (const Place& place : places_) {
      if (place.has_worker.load() != 0 && place.passed.load() < turn) return false;
    }
    return true;
  }
  // `ticket` is not 0, and never comes again in this memory.
  void ask_barrier(std::uint32_t worker, std::uint64_t ticket) const {
    places_[worker].barrier_wanted.store(ticket);
  }
  struct Barrier {
    std::optional<Sigma> number;  // nothing: the group did not answer
  };
  [[nodiscard]] std::optional<Barrier> ended_barrier(std::uint32_t worker,
                                                     std::uint64_t ticket) const {
    const Place& place = places_[worker];
    if (place.barrier_ended.load() != ticket) return std::nullopt;
    const std::uint64_t number = place.barrier_number.load();
    return Barrier{number == kNoNumber ? std::nullopt : std::optional<Sigma>(number)};
  }

  // ---- For the worker of that place.
  void begin(std::uint32_t worker) const {
    places_[worker].passed.store(wanted_.load());
    places_[worker].has_worker.store(1);
  }
  void pass(std::uint32_t worker) const { places_[worker].passed.store(wanted_.load()); }
  [[nodiscard]] std::uint64_t wanted_barrier(std::uint32_t worker) const {
    return places_[worker].barrier_wanted.load();
  }
  void end_barrier(std::uint32_t worker, std::uint64_t ticket, std::optional<Sigma> number) const {
    places_[worker].barrier_number.store(number.value_or(kNoNumber));
    places_[worker].barrier_ended.store(ticket);
  }

  // ---- For the master.
  // The worker there has ended.
  void leave(std::uint32_t worker) const { places_[worker].has_worker.store(0); }
  [[nodiscard]] bool is_behind(std::uint32_t worker) const {
    return places_[worker].has_worker.load() != 0 && places_[worker].passed.load() < wanted_.load();
  }
  [[nodiscard]] std::uint64_t passed(std::uint32_t worker) const {
    return places_[worker].passed.load();
  }

 private:
  std::span<Place> places_;
  std::atomic<std::uint64_t>& wanted_;
};

}  // namespace prophecy::sketcher
