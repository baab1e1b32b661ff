// Replicas that lie about session keys: with old answers, others' answers, and keys that they have
// left.
#include <algorithm>
#include <deque>
#include <optional>

#include "pbft/wire/key_messages.hpp"
#include "simulation/behaviours/families.hpp"
#include "simulation/behaviours/lying.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::size_t kFramesRemembered = 32;

class LyingKeys final : public Lying {
 public:
  explicit LyingKeys(Villain villain) : Lying(villain, 60) {}

  bool receive(const pbft::Frame& frame) override {
    if (pbft::decode_key_tell(*frame)) remember(frame);
    return true;
  }

 private:
  void remember(const pbft::Frame& frame) {
    told_.push_back(frame);
    if (told_.size() > kFramesRemembered) told_.pop_front();
  }
  // A copy, as it is a lie now.
  pbft::Frame replayed() {
    return std::make_shared<const Bytes>(*told_[villain_.random.below(told_.size())]);
  }

  pbft::Frame lie_about(const Bytes& frame) override {
    Random& random = villain_.random;
    auto tell = pbft::decode_key_tell(frame);
    if (!tell) {  // to others, what somebody has told somebody
      return told_.empty() || !random.chance(2) ? nullptr : replayed();
    }
    if (!first_) first_ = tell->announcement;
    remember(std::make_shared<const Bytes>(frame));
    switch (random.below(6)) {
      case 0:
        return replayed();
      case 1: {  // another's name on it, and the other way round
        Bytes bytes = random.chance(50) ? frame : *replayed();
        bytes[2] = static_cast<std::uint8_t>(random.below(villain_.replicas()));
        return std::make_shared<const Bytes>(std::move(bytes));
      }
      case 2:  // the first key of this run, told once more
        tell->announcement = *first_;
        break;
      case 3:
        tell->announcement.epoch.number = random.chance(50) ? UINT32_MAX : 0;
        break;
      case 4:
        tell->announcement.epoch.incarnation = random.next();
        break;
      default:
        tell->refresh_milliseconds = random.chance(50) ? 0 : UINT32_MAX;
        std::swap(tell->asked, tell->answered);
        break;
    }
    return pbft::encode_key_tell(*tell, villain_.keys);
  }

  std::optional<pbft::KeyAnnouncement> first_;
  std::deque<pbft::Frame> told_;
};

}  // namespace

BehaviourPointer make_lying_keys(Villain villain) {
  return std::make_unique<LyingKeys>(villain);
}

}  // namespace prophecy::simulation
