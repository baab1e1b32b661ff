// The votes of a group's origins on one request, for which no agents agree on an order: f+1 equal
// answers are the group's answer, for one of them is a correct origin's. Deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/digest.hpp"
#include "base/ids.hpp"

namespace prophecy::replica_client {

class VoteTally {
 public:
  enum class State : std::uint8_t {
    open,
    agreed,
    disputed,  // all that may still come could not make f+1 equal ones
    starved,   // likewise, for want of answers
  };

  // Requires origins >= 2 * faults + 1: then the correct ones are enough.
  VoteTally(std::uint32_t origins, std::uint32_t faults);

  // Each origin once: what it answered, or nothing. Requires that it has not voted yet.
  void on_vote(NodeId origin, const Sha256::Digest& answer);
  void on_no_vote(NodeId origin);

  // Once it is not open any more, it stays as it is.
  [[nodiscard]] State state() const { return state_; }
  // Requires agreed.
  [[nodiscard]] const Sha256::Digest& agreed() const { return *agreed_; }
  [[nodiscard]] bool all_voted() const { return left_ == 0; }
  // How many have not voted yet.
  [[nodiscard]] std::uint32_t left() const { return left_; }
  // How many gave the agreed answer. Requires agreed.
  [[nodiscard]] std::uint32_t agreeing() const { return equal_to(*agreed_); }
  // Bits of those whose answer is another one than the agreed. Requires agreed.
  [[nodiscard]] std::uint64_t refuted() const;
  [[nodiscard]] const std::optional<Sha256::Digest>& vote(NodeId origin) const {
    return votes_[origin];
  }

 private:
  void note_voted(NodeId origin);
  void decide();
  [[nodiscard]] std::uint32_t equal_to(const Sha256::Digest& answer) const;
  [[nodiscard]] std::uint32_t most_equal() const;

  std::uint32_t needed_;
  std::vector<std::optional<Sha256::Digest>> votes_;
  std::uint64_t voted_ = 0;  // bits of the origins
  std::uint32_t left_;
  State state_ = State::open;
  std::optional<Sha256::Digest> agreed_;
};

}  // namespace prophecy::replica_client
