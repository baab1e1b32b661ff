// The replies to one request: one vote for each replica, the first that it gave, but that a
// tentative one may be replaced by what comes of it. Equal are replies with the same digest of the
// result and the same place in the order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/quorum.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

class ReplyTally {
 public:
  enum class Vote : std::uint8_t { none, unavailable, done };

  struct Reply {
    Vote vote = Vote::none;
    bool tentative = false;
    std::uint64_t view = 0;
    Digest digest{};
    Sigma sigma = 0;
    bool has_result = false;
    Bytes result;
  };

  // What answers a call: so many replies alike, none of them tentative, once so many replicas in
  // all have given one that is not tentative, whatever it says.
  struct Need {
    std::uint32_t alike = 0;
    std::uint32_t decided = 0;
  };

  explicit ReplyTally(const QuorumRule& rule)
      : tentative_quorum_(rule.tentative), weak_quorum_(rule.weak), replies_(rule.replicas) {}

  void clear();
  // Requires an authenticated reply. A result that does not match its digest is left out, and a
  // large one that was not `wanted`: it may have 17 MiB, and a faulty replica sends it unasked.
  // False when the reply told nothing new.
  bool add(NodeId replica, const ReplyMessage& message, bool wanted);

  [[nodiscard]] const std::vector<Reply>& replies() const { return replies_; }
  // A reply for which that is there, or that is certain to be ordered as it is, or null.
  [[nodiscard]] const Reply* agreed(const Need& need) const;
  // The view in which a correct replica has prepared what was agreed. Whoever says in the same view
  // something else of the same number is not correct.
  [[nodiscard]] std::optional<std::uint64_t> view_of(const Reply& agreed) const;
  // False when not even the replicas that have not yet replied could complete a quorum.
  [[nodiscard]] bool possible(const Need& need) const;
  // Replicas that have not said their last word; and those whose last word is that they have none.
  [[nodiscard]] std::uint32_t undecided() const;
  [[nodiscard]] std::uint32_t unavailable() const;
  // True when a quorum fails for want of replicas that can answer, not for want of agreement.
  [[nodiscard]] bool lacks_only_available(const Need& need) const;
  // Moves the result of an agreed reply out, if any replica has sent it: even one that lies about
  // its place in the order, for it matches the digest.
  [[nodiscard]] std::optional<Bytes> take_result(const Reply& reply);
  // Of the results that are kept.
  [[nodiscard]] std::uint64_t result_bytes() const;

 private:
  template <typename Predicate>
  [[nodiscard]] std::uint32_t count_if(Predicate predicate) const {
    return static_cast<std::uint32_t>(
        std::count_if(replies_.begin(), replies_.end(), std::move(predicate)));
  }
  [[nodiscard]] std::uint32_t count(const Reply& reply) const;  // replies like it, not tentative
  [[nodiscard]] std::uint32_t count_prepared(const Reply& reply) const;  // likewise, in its view
  [[nodiscard]] std::uint32_t largest() const;  // the most replies that are alike

  std::uint32_t tentative_quorum_;
  std::uint32_t weak_quorum_;
  std::vector<Reply> replies_;
};

}  // namespace prophecy::pbft
