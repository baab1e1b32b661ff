// Puts the sigmas of a group that may lose its history into one rising order. A group whose agents
// have all been restarted counts from the beginning again, while the history table remembers
// answers of before with greater sigmas; these would outlive every newer answer.
//
// An ordered request that is submitted after an answer was delivered has a greater sigma than that
// answer. Where it has not, the group has begun anew, and from then on a base is added that lies
// beyond everything before. (The paper takes it for granted that sigma rises.)
//
// One object for all workers, in shared memory; lock-free, safe when a process is killed.
#pragma once

#include <atomic>
#include <cstdint>

#include "history_table/history_entry.hpp"

namespace prophecy::sketcher {

class SigmaOrder {
 public:
  // What was known when a request was submitted.
  struct Submitted {
    Sigma base = 0;
    Sigma newest = 0;
  };
  struct Placed {
    Sigma sigma = 0;
    Sigma base = 0;  // of it
    // The group began anew while the request was under way, or before, unnoticed: whether the
    // answer was made before or after others that have been placed is not known, so it is not to be
    // recorded as what is valid now. So is all that a group says whose numbers are used up, which
    // more than f liars can bring about.
    bool doubtful = false;
    bool restarted = false;  // this answer has shown it first
  };

  [[nodiscard]] Submitted submit();
  [[nodiscard]] Placed place(const Submitted& submitted, Sigma sigma);
  // Another member of the ring has placed this answer of the group: what is submitted from now on
  // is placed beyond it, and what was ordered before it is placed at newest() or below.
  void note(const Placed& elsewhere);
  // At least that of each answer placed so far; what is submitted from now on is placed beyond it.
  [[nodiscard]] Sigma newest() const;
  // From now on all is placed beyond `sigma`, and what was submitted before is doubtful: as if the
  // group had begun anew.
  void begin_beyond(Sigma sigma);
  // Whether it has, or the group itself, since then.
  [[nodiscard]] bool has_begun_anew(const Placed& since) const {
    return base_.load() != since.base;
  }

 private:
  // The base, once a move that was begun is done.
  [[nodiscard]] Sigma settled_base();
  void raise_newest(Sigma sigma);

  std::atomic<Sigma> base_{0};    // with a bit while it moves
  std::atomic<Sigma> newest_{0};  // of any answer to an ordered request, with its base
};

}  // namespace prophecy::sketcher
