// How many proposals a backup has taken up, and how many of them late, by which a primary is judged
// (pbft/core/views/left_out.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "base/clock.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

struct TakenProposals {
  // After another backup's vote: for the way from the primary, and a write on the disk.
  static constexpr Duration kLateAfter = milliseconds(25);

  std::uint64_t all = 0;
  std::uint64_t late = 0;  // and agreement had to wait for this replica
  // Likewise, and behind a frame in which the primary names this number, or a later one. A link
  // keeps frames in their order: the primary did not send the proposal when it made it.
  std::uint64_t overtaken = 0;
};

// `ProposalTimes` remembers, of proposals that are not here yet, what others have said of them, and
// counts those that are taken up.
//
// Others choose which numbers they name, and a replica may take up no proposal for days: a primary
// never does. So each note comes with the last number that is `done`, and nothing is kept up to it.
class ProposalTimes {
 public:
  // A backup has voted for a batch that is not here.
  void note_vote(std::uint64_t sequence, const Digest& batch, TimePoint now, std::uint64_t done);
  // The primary has shown a batch that this replica has refused, for clients' MACs.
  void note_shown(std::uint64_t sequence, const Digest& batch, std::uint64_t done);
  // The primary has shown what has no room here. (Not authenticated: what a primary gains by lies
  // is that a late proposal counts as late alone.)
  void note_beyond(std::uint64_t sequence);

  struct Taken {
    std::uint64_t sequence = 0;
    Digest batch{};
    bool is_weak = false;       // f+1 have committed it
    bool is_committed = false;  // 2f+1 have
    bool is_named = false;      // by the primary, this number or a later one
  };
  void note_taken(const Taken& taken, TimePoint now, std::uint64_t done);

  // A new view begins.
  void clear();
  [[nodiscard]] const TakenProposals& taken() const { return taken_; }
  // Numbers and batches of which something is kept.
  [[nodiscard]] std::size_t size() const { return voted_for_.size() + shown_.size(); }

 private:
  void release(std::uint64_t done);

  // When a backup first voted for it.
  std::map<std::pair<std::uint64_t, Digest>, TimePoint> voted_for_;
  std::map<std::uint64_t, Digest> shown_;  // of each number, the last one
  std::uint64_t shown_beyond_ = 0;         // up to it
  TakenProposals taken_;
};

}  // namespace prophecy::pbft
