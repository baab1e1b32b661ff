// A faulty replica: it follows the protocol inside, so that it stays plausible, and lies in what
// it sends, under its own valid keys.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "pbft/auth/key_ring.hpp"
#include "pbft/core/actions.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/view_change.hpp"
#include "simulation/random.hpp"

namespace prophecy::simulation {

class ByzantineSender {
 public:
  ByzantineSender(const pbft::KeyRing& keys, Random& random, bool equivocates_as_primary);

  // What is sent in place of a frame that a correct replica would send.
  std::vector<pbft::Outgoing> corrupt(const pbft::Outgoing& honest);

 private:
  [[nodiscard]] pbft::Frame lie(const pbft::Outgoing& honest);
  // As primary, towards one half of the group: another proposal, and a commit for it.
  [[nodiscard]] pbft::Frame other_world(const pbft::Frame& honest);
  [[nodiscard]] pbft::Frame wrong_view_change(pbft::ViewChangeMessage message);
  [[nodiscard]] pbft::Frame wrong_new_view(const pbft::NewViewMessage& message);
  [[nodiscard]] pbft::Frame wrong_reply(ByteView frame);
  [[nodiscard]] pbft::Frame garbage(ByteView frame);

  const pbft::KeyRing& keys_;
  Random& random_;
  bool equivocates_as_primary_;
  std::map<std::uint64_t, pbft::PrePrepareBuilder::Finished> second_proposals_;
  std::vector<Bytes> requests_seen_;
  std::deque<pbft::Frame> sent_;  // to be repeated at the wrong time
};

}  // namespace prophecy::simulation
