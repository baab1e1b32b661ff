// The exchange of session keys of one node, in the runs in which keys change. Each pair of nodes
// has one connection, which was opened by the replica with the smaller id, or by the client, and
// never ends. Whoever can forge a frame can send it on anybody's, which is more than a real one
// can.
//
// A replica's keys outlast its crashes: they are no memory of what it said.
#pragma once

#include <functional>

#include "pbft/core/key_exchange.hpp"
#include "simulation/hosts/scheduler.hpp"
#include "simulation/random.hpp"

namespace prophecy::simulation {

class RandomEntropy final : public pbft::Entropy {
 public:
  explicit RandomEntropy(Random random) : random_(random) {}
  void fill(std::span<std::uint8_t> out) override {
    for (std::uint8_t& byte : out)
      byte = static_cast<std::uint8_t>(random_.next());
  }

 private:
  Random random_;
};

class KeyHost {
 public:
  using Send = std::function<void(const pbft::Outgoing& outgoing)>;

  // Requires a ring with session keys.
  KeyHost(const pbft::KeyRing& keys, std::uint64_t seed, Scheduler& scheduler, Send send);

  void start();
  // A key message.
  void on_frame(ByteView frame);
  [[nodiscard]] const pbft::KeyExchangeCounters& counters() const { return exchange_.counters(); }
  // Those whose signature was found to be wrong since the last call.
  [[nodiscard]] std::vector<NodeId> take_wrong();

 private:
  [[nodiscard]] bool opened_to(NodeId peer) const;
  void arm();

  NodeId self_;
  std::uint32_t replicas_;
  Scheduler& scheduler_;
  RandomEntropy entropy_;
  pbft::KeyExchange exchange_;
  Send send_;
  TimePoint armed_for_ = TimePoint::max();
};

}  // namespace prophecy::simulation
