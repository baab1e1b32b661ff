// Replicas that lie about the loss of a memory: to one that has lost its own, and about theirs.
#include <algorithm>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"
#include "pbft/wire/recovery.hpp"
#include "simulation/behaviours/families.hpp"
#include "simulation/behaviours/lying.hpp"

namespace prophecy::simulation {
namespace {

// Each is written down by all others.
constexpr std::uint32_t kRebirthsMax = 50;

class LyingPledges final : public Lying {
 public:
  explicit LyingPledges(Villain villain) : Lying(villain, 80) {}

 private:
  pbft::Frame lie_about(const Bytes& frame) override {
    auto pledge = pbft::decode_pledge(frame, villain_.replicas());
    if (!pledge) return nullptr;
    Random& random = villain_.random;
    switch (random.below(6)) {
      case 0:  // the group is new, and there is nothing to contradict
        pledge->fresh = true;
        pledge->checkpoint = 0;
        break;
      case 1:
        pledge->checkpoint -= std::min(pledge->checkpoint, random.between(1, 30));
        break;
      case 2:
        pledge->checkpoint =
            random.chance(50) ? pbft::kSequenceMax : pledge->checkpoint + random.between(1, 60);
        break;
      case 3:
        pledge->incarnation = random.chance(50) ? UINT64_MAX - random.below(2)
                                                : pledge->incarnation + random.below(9);
        break;
      case 4:
        pledge->view = random.chance(50) ? pbft::kViewMax : pledge->view + random.between(1, 9);
        break;
      default:  // what was pledged to another
        pledge->to = static_cast<NodeId>(random.below(villain_.replicas()));
        break;
    }
    return pbft::encode_pledge(*pledge, villain_.keys);
  }
};

class LyingSilence final : public Lying {
 public:
  explicit LyingSilence(Villain villain) : Lying(villain, 60) {}

  void send(const Sending& honest, std::vector<Sending>& out) override {
    Lying::send(honest, out);
    const bool is_time = !is_client(honest.what.to) && villain_.random.chance(5);
    if (!is_time || rebirths_ == kRebirthsMax) return;
    ++rebirths_;
    out.push_back(honest);
    out.back().what.frame = pbft::encode_rejoin(next_incarnation(), villain_.keys);
  }

 private:
  std::uint64_t next_incarnation() {
    Random& random = villain_.random;
    if (random.chance(5)) return UINT64_MAX;
    if (random.chance(20)) return random.below(incarnation_ + 1);
    incarnation_ += random.between(1, 1'000'000);
    return incarnation_;
  }
  pbft::Frame lie_about(const Bytes& frame) override {
    auto status = pbft::decode_status(frame, villain_.replicas());
    if (!status) return nullptr;
    Random& random = villain_.random;
    status->silent_until =
        random.chance(20) ? pbft::kSequenceMax
                          : std::min(status->last_stable + random.below(60), pbft::kSequenceMax);
    return pbft::encode_status(*status, villain_.keys);
  }

  std::uint64_t incarnation_ = 0;
  std::uint32_t rebirths_ = 0;
};

}  // namespace

BehaviourPointer make_lying_pledges(Villain villain) {
  return std::make_unique<LyingPledges>(villain);
}
BehaviourPointer make_lying_silence(Villain villain) {
  return std::make_unique<LyingSilence>(villain);
}

}  // namespace prophecy::simulation
