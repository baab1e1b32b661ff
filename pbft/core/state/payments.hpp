// `Payments` decides who pays for the signatures that a frame makes this replica check.
//
// A signature takes some 60 us, a MAC less than one. So a signature is checked only for a sender
// that a MAC has proven, out of an allowance of its own. Strangers have none, and no sender can use
// up another one's by taking its name.
//
// A replica has two: clients decide what it passes on for them, and are not to keep its own
// messages away by that.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "pbft/core/state/allowance.hpp"

namespace prophecy::pbft {

class Payments {
 public:
  // In each such interval. The last message of one may cost more: a new view has 2f+1 view changes,
  // each with a certificate of 2f+1.
  static constexpr Duration kInterval = milliseconds(50);
  static constexpr std::uint64_t kOfReplica = 64;  // divided by f, and not below kOfReplicaMin
  static constexpr std::uint64_t kOfReplicaMin = 16;
  static constexpr std::uint64_t kOfClient = 64;

  explicit Payments(std::uint32_t faults)
      : of_replica_(kOfReplica / faults > kOfReplicaMin ? kOfReplica / faults : kOfReplicaMin) {}

  enum class Share : std::uint8_t { own, forwards };

  // Requires a MAC that has proven the member, which bounds how many there are.
  [[nodiscard]] bool may_cause(NodeId member, Share share, TimePoint now) {
    payer_ = &members_[{member, share}];
    return payer_->is_left(is_client(member) ? kOfClient : of_replica_, kInterval, now);
  }
  // From here on nobody pays: the next event.
  void end() { payer_ = nullptr; }
  void charge_signature() {
    if (payer_ != nullptr) payer_->charge(1);
  }

 private:
  std::uint64_t of_replica_;
  std::map<std::pair<NodeId, Share>, Allowance> members_;
  Allowance* payer_ = nullptr;
};

}  // namespace prophecy::pbft
