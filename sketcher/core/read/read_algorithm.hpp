// Algorithm 1 of the paper (section 3.3.1) for one read, as a deterministic object: it is told
// what the history table, one origin and the group said, and answers what to do next.
//
//                +-- ask_one --> on_fast_answer --+--> deliver_fast, deliver_unverified
//   on_request --+                 on_fast_failure|
//                +-- ask_group <------------------+
//                        \--> on_replicated_answer --> deliver, with a Verdict
//
// The table is looked up again after the fast answer, and the answer compared with what the table
// holds then: otherwise an answer older than one that another client has already seen could pass
// (section 4.1, the delay-once property).
#pragma once

#include <cstdint>
#include <optional>

#include "history_table/history_entry.hpp"

namespace prophecy::sketcher {

// s(r) = null of the paper. No answer has this sketch but by a chance of 2^-160 with an
// HMAC, of about 2^-128 with a GMAC (sketch::DigestKind).
constexpr Sketch kNoSketch{};

enum class ReadStep : std::uint8_t {
  ask_one,
  ask_group,
  deliver_fast,
  deliver_unverified,  // the request is whitelisted
};

// What the group's agreed answer says about the history and about the origin that was asked first.
struct Verdict {
  bool compared = false;    // the history held an answer, which the agreed one was compared with
  bool transition = false;  // and the two differ: the state has changed
  bool divergence = false;  // agreement refuted the answer of the origin
};

class ReadAlgorithm {
 public:
  using Lookup = std::optional<HistoryEntry>;

  // With `avoids_fast_read`, the group is asked though the history holds an answer.
  [[nodiscard]] ReadStep on_request(const Lookup& first_lookup, bool avoids_fast_read = false);

  // `answer` is empty for an answer that may not be sketched, which validates nothing. `forced`
  // makes a valid answer fail, for measurements.
  [[nodiscard]] ReadStep on_fast_answer(const std::optional<Sketch>& answer,
                                        const Lookup& second_lookup, bool forced);
  // No usable answer: the read goes on as a replicated one.
  [[nodiscard]] ReadStep on_fast_failure();

  [[nodiscard]] Verdict on_replicated_answer(const std::optional<Sketch>& answer);

  [[nodiscard]] bool awaits_fast_answer() const { return state_ == State::asking_one; }
  // The fast answer was valid but failed by `forced`.
  [[nodiscard]] bool was_forced() const { return forced_; }

 private:
  enum class State : std::uint8_t { start, asking_one, asking_group, done };

  State state_ = State::start;
  bool forced_ = false;
  bool fast_answered_ = false;
  std::optional<Sketch> fast_answer_;
  std::optional<Sketch> first_expected_;  // by the first lookup
  std::optional<Sketch> expected_;        // by the second
};

}  // namespace prophecy::sketcher
