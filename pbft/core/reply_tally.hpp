// The replies to one request: one vote for each replica, the first that it gave. Equal are
// replies with the same digest of the result and the same place in the order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pbft/core/actions.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

class ReplyTally {
 public:
  enum class Vote : std::uint8_t { none, unavailable, done };

  struct Reply {
    Vote vote = Vote::none;
    Digest digest{};
    Sigma sigma = 0;
    bool has_result = false;
    Bytes result;
  };

  explicit ReplyTally(std::uint32_t replicas) : replies_(replicas) {}

  void clear();
  // Requires an authenticated reply. A result that does not match its digest is left out. False
  // when it told nothing new.
  bool add(NodeId replica, const ReplyMessage& message);

  [[nodiscard]] const std::vector<Reply>& replies() const { return replies_; }
  // A reply that `quorum` replicas gave alike, or null.
  [[nodiscard]] const Reply* agreed(std::uint32_t quorum) const;
  // False when not even the replicas that have not yet replied could complete a quorum.
  [[nodiscard]] bool possible(std::uint32_t quorum) const;
  // True when a quorum fails for want of replicas that can answer, not for want of agreement.
  [[nodiscard]] bool lacks_only_available(std::uint32_t quorum) const;
  // Moves the result of an agreed reply out, if any replica has sent it: even one that lies about
  // its place in the order, for it matches the digest.
  [[nodiscard]] std::optional<Bytes> take_result(const Reply& reply);

 private:
  [[nodiscard]] std::uint32_t count(const Reply& reply) const;  // replies like it
  [[nodiscard]] std::uint32_t largest() const;                  // the most replies that are alike
  [[nodiscard]] std::uint32_t votes(Vote vote) const;

  std::vector<Reply> replies_;
};

}  // namespace prophecy::pbft
