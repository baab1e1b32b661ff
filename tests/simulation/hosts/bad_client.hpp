// A client that does not follow the protocol, with valid keys. It wants no answers; correct clients
// have to be served beside it all the same.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "pbft/auth/key_ring.hpp"
#include "pbft/core/state/actions.hpp"
#include "pbft/wire/body.hpp"
#include "simulation/hosts/scheduler.hpp"
#include "simulation/random.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

class BadClient {
 public:
  using Send = std::function<void(NodeId from, const pbft::Outgoing& outgoing, Duration delay)>;

  // For an ingredient of that kind.
  BadClient(const Scenario& scenario, const Ingredient& ingredient, const pbft::KeyRing& keys,
            Scheduler& scheduler, Send send);

  void start();
  // A replica asks for parts of a body.
  void on_frame(ByteView frame);
  [[nodiscard]] NodeId id() const { return keys_.self(); }

 private:
  void act_and_go_on();
  void act();
  [[nodiscard]] Bytes next_operation();
  [[nodiscard]] pbft::Frame request(ByteView operation, std::uint64_t timestamp);
  void send_to(std::uint64_t replicas, const pbft::Frame& frame);
  void send_selective_macs();
  void send_two_operations();
  void send_jumping_timestamps();
  void send_flood();
  void send_greedily();
  void send_garbage();
  void send_as_one_of_two();
  // An operation, which is then the last one of `bodies_`.
  std::shared_ptr<const Bytes> draw_body();
  void send_name_of_body();
  void send_many_names();
  void send_dripped_bodies();
  void send_lone_body();
  [[nodiscard]] Duration delay_of_part(NodeId asking, const pbft::BodyTree& body);

  const Ingredient ingredient_;
  const pbft::KeyRing& keys_;
  Random random_;
  Scheduler& scheduler_;
  Send send_;
  bool spares_macs_;  // for single replicas: a primary may be replaced for those
  std::uint32_t session_;
  std::uint32_t greedy_session_ = 0;
  std::uint64_t timestamp_ = 0;
  std::uint64_t operations_ = 0;
  pbft::Frame last_;                  // request
  std::array<pbft::Frame, 2> lasts_;  // of two processes
  std::vector<pbft::BodyTree> bodies_;
  std::uint64_t served_ = 0;  // replicas that get bodies
  // Each body that drips: replicas that get it so, and when each of them got the last part.
  struct Dripping {
    std::uint64_t slowly = 0;
    std::map<NodeId, TimePoint> last;
  };
  std::map<pbft::Digest, Dripping> dripping_;
};

}  // namespace prophecy::simulation
