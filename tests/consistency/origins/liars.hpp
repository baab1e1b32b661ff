// `Liars` decides when the faulty origins of a simulated run lie, and how. They conspire: each
// knows what the others have said, and all may tell one lie.
//
// A liar answers any state that ever was, another page's text, nonsense, an answer that it saw
// another origin give, an error, another block, a part of an answer, or nothing. The seed says to
// whom, and whether it always lies in one manner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "consistency/origins/page.hpp"
#include "consistency/settings.hpp"

namespace prophecy::consistency {

using States = std::vector<std::vector<std::string>>;  // by key, oldest first

class Liars {
 public:
  Liars(const RunSettings& settings, simulation::Random& random);

  // Whether a liar lies to this fast read, or in its vote on this request.
  [[nodiscard]] bool lies_to_read(const PageRequest& request);
  [[nodiscard]] bool lies_in_vote(const PageRequest& request);
  // Nothing: it does not answer.
  [[nodiscard]] std::optional<PageAnswer> lie(const PageRequest& request, const States& states);
  // A vote that repeats what a correct origin says.
  [[nodiscard]] bool echoes() { return !is_bold_ && !is_silent_ && random_.chance(30); }
  // Another origin's answer has become known to them.
  void note_seen(const PageAnswer& answer);

  // From now on no liar answers anything.
  void become_silent() { is_silent_ = true; }
  // From now on each lie is one that gives its origin away, and there is no other lie.
  void become_bold() {
    is_silent_ = false;
    is_bold_ = true;
  }
  [[nodiscard]] bool lies_to_reads() const;

 private:
  enum class Aim : std::uint8_t {
    both,  // fast reads and votes
    reads,
    votes,
    exceptions,  // fast reads that carry a client's own User-Agent
    constants,   // confirming reads, and votes on shared reads
    shared,      // votes on shared reads
  };
  static constexpr std::uint64_t kAims = 6;
  static constexpr std::uint64_t kStyles = 8;

  [[nodiscard]] std::optional<PageAnswer> make(const PageRequest& request, const States& states);
  [[nodiscard]] PageAnswer text(std::string text) const;
  [[nodiscard]] PageAnswer part(const PageRequest& request, const States& states);

  const RunSettings& settings_;
  simulation::Random& random_;
  Aim aim_;
  std::optional<std::uint64_t> style_;  // none: any
  std::vector<PageAnswer> seen_;
  bool is_silent_ = false;
  bool is_bold_ = false;
  std::uint64_t told_ = 0;
  // The last lie, for another liar to repeat.
  Page last_page_ = Page::other;
  Key last_key_ = 0;
  std::optional<PageAnswer> last_;
};

}  // namespace prophecy::consistency
