// Replicas that lie about the states that writes without a usable answer have left, and about those
// that operators may have adopted.
#include <algorithm>
#include <deque>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/recovery.hpp"
#include "simulation/behaviours/families.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::size_t kHeardMax = 32;

// Sides with what it has heard, to some of the others; makes up what it has not; asks for
// checkpoints that nobody needs; and says so of batches that were answered well, too.
class LyingStates final : public Behaviour {
 public:
  explicit LyingStates(Villain villain) : villain_(villain) {}

  bool receive(const pbft::Frame& frame) override {
    const auto said = pbft::decode_uncertain(*frame, villain_.replicas());
    if (said) heard_.push_back(said->write);
    if (heard_.size() > kHeardMax) heard_.pop_front();
    return true;
  }

  void send(const Sending& honest, std::vector<Sending>& out) override {
    const auto own = pbft::decode_uncertain(*honest.what.frame, villain_.replicas());
    if (!own || villain_.random.chance(25)) out.push_back(honest);
    const auto commit =
        pbft::decode_vote(*honest.what.frame, pbft::MessageType::commit, villain_.replicas());
    if (own) return lie(own->write, honest, out);
    if (!commit || !villain_.random.chance(20)) return;
    const std::uint64_t sigma = (commit->sequence << 16) | villain_.random.below(3);
    lie({sigma, commit->batch, villain_.draw_digest()}, honest, out);
  }

 private:
  void lie(pbft::UncertainWrite write, const Sending& honest, std::vector<Sending>& out) {
    Random& random = villain_.random;
    if (!heard_.empty() && random.chance(60)) write = heard_[random.below(heard_.size())];
    if (random.chance(40)) write.state = villain_.draw_digest();
    if (random.chance(10)) write.batch = villain_.draw_digest();
    if (random.chance(10)) write.sigma += random.below(1 << 18);
    out.push_back(honest);
    out.back().what.frame = pbft::encode_uncertain(
        write, {.asks = random.chance(50), .wants_checkpoint = random.chance(30)}, villain_.keys);
    if (!random.chance(10)) return;
    out.push_back(honest);
    out.back().what.frame = pbft::encode_present({.reach = write.sigma >> 16,
                                                  .state = write.state,
                                                  .asks = random.chance(50),
                                                  .has_state = random.chance(30),
                                                  .agrees = random.chance(50)},
                                                 villain_.keys);
  }

  Villain villain_;
  std::deque<pbft::UncertainWrite> heard_;
};

}  // namespace

BehaviourPointer make_lying_states(Villain villain) {
  return std::make_unique<LyingStates>(villain);
}

}  // namespace prophecy::simulation
