// A replica's gate to its network that has the simulator's behaviours at work, one after the other,
// upon real frames and under the replica's own keys.
//
// Single-threaded.
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/log.hpp"
#include "pbft/replica/frame_gate.hpp"
#include "simulation/behaviours/behaviour.hpp"

namespace prophecy::byzantine {

struct Misbehaviour {
  std::vector<simulation::BehaviourKind> turns;  // at least one
  std::uint64_t seed = 0;                        // of what the behaviours draw
};

class MisbehavingGate final : public pbft::FrameGate {
 public:
  // `keys` and `log` must outlive the gate.
  MisbehavingGate(boost::asio::io_context& io, const pbft::KeyRing& keys, Misbehaviour plan,
                  Logger& log);

  bool receive(ByteView frame) override;
  void send(pbft::Outgoing honest, const Pass& pass) override;

  // Goes on to the next behaviour; behind the last one it is honest.
  void next();
  // Forgets what it has still to say.
  void stop();

 private:
  using Timer = std::shared_ptr<boost::asio::steady_timer>;

  void take_turn();
  void pass_later(simulation::Sending sending, const Pass& pass);

  boost::asio::io_context& io_;
  const pbft::KeyRing& keys_;
  Misbehaviour plan_;
  Logger& log_;
  std::size_t turn_ = 0;
  std::unique_ptr<simulation::Behaviour> behaviour_;  // null: honest
  std::unordered_set<Timer> delayed_;                 // of what is said late
};

}  // namespace prophecy::byzantine
