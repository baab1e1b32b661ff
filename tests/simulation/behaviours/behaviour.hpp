// How a faulty replica deviates: inside it follows the protocol, so that it stays plausible, and
// its state is that of a correct one. What it hears and what it says may be changed, under its own
// valid keys. Several behaviours may act on one replica at a time, each upon what the one before
// it has left.
#pragma once

#include <memory>
#include <vector>

#include "pbft/auth/key_ring.hpp"
#include "pbft/core/state/actions.hpp"
#include "simulation/ingredient.hpp"
#include "simulation/random.hpp"

namespace prophecy::simulation {

struct Sending {
  pbft::Outgoing what;
  Duration delay{};
  TimePoint now{};
};

class Behaviour {
 public:
  Behaviour() = default;
  Behaviour(const Behaviour&) = delete;
  Behaviour& operator=(const Behaviour&) = delete;
  virtual ~Behaviour() = default;

  // Appends what is sent in place of `honest`, whose frame a correct replica would send.
  virtual void send(const Sending& honest, std::vector<Sending>& out) { out.push_back(honest); }
  // False when the replica does not get to see the frame.
  virtual bool receive(const pbft::Frame& frame) {
    (void)frame;
    return true;
  }
};

// Behaviours act on messages, not on the seals that replicas put around some of them. Likewise, of
// frames as they are on the wire: opened before, and sealed again under the villain's keys.
void send_sealed(Behaviour& behaviour, const pbft::KeyRing& keys, const Sending& honest,
                 std::vector<Sending>& out);
[[nodiscard]] pbft::Frame opened(const pbft::Frame& frame, std::uint32_t replicas);

// Who misbehaves, and what is drawn for it.
struct Villain {
  const pbft::KeyRing& keys;
  Random random;

  [[nodiscard]] std::uint32_t replicas() const { return keys.replicas(); }
  [[nodiscard]] NodeId self() const { return keys.self(); }
  // Bits of some of the replicas: at least one, seldom all.
  [[nodiscard]] std::uint64_t draw_replicas();
  // One of a few, so that lies meet; the empty batch's is among them, whose content is known.
  [[nodiscard]] Sha256::Digest draw_digest();
};

[[nodiscard]] std::unique_ptr<Behaviour> make_behaviour(BehaviourKind kind, Villain villain);

}  // namespace prophecy::simulation
