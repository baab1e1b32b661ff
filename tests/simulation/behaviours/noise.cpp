// Replicas that send what nobody can believe, or what everybody knows: none of it is a statement
// that they have not made before.
#include <algorithm>
#include <deque>

#include "base/assert.hpp"
#include "pbft/wire/frame_header.hpp"
#include "simulation/behaviours/families.hpp"

namespace prophecy::simulation {
namespace {

// Flooding ends after so many frames: a run is to end as well.
constexpr std::uint32_t kFloodFramesMax = 4000;

pbft::Frame garbage_of(const Bytes& frame, Villain& villain) {
  ASSERT(villain.replicas() > 1);
  Bytes bytes = frame;
  switch (villain.random.below(3)) {
    case 0:
      for (auto& byte : bytes)
        byte = static_cast<std::uint8_t>(villain.random.next());
      break;
    case 1:  // another's name
      if (bytes.size() > 2) {
        const auto shift = 1 + villain.random.below(villain.replicas() - 1);
        bytes[2] = static_cast<std::uint8_t>((villain.self() + shift) % villain.replicas());
      }
      break;
    default:
      for (int i = 0; i < 4 && !bytes.empty(); ++i) {
        bytes[villain.random.below(bytes.size())] =
            static_cast<std::uint8_t>(villain.random.next());
      }
      break;
  }
  return std::make_shared<const Bytes>(std::move(bytes));
}

// Remembers frames, to be sent at the wrong time.
class Memory {
 public:
  void keep(const pbft::Frame& frame) {
    frames_.push_back(frame);
    if (frames_.size() > 50) frames_.pop_front();
  }
  [[nodiscard]] const pbft::Frame* draw(Random& random) const {
    return frames_.empty() ? nullptr : &frames_[random.below(frames_.size())];
  }

 private:
  std::deque<pbft::Frame> frames_;
};

class SelectiveMacs final : public Behaviour {
 public:
  explicit SelectiveMacs(Villain villain)
      : villain_(villain),
        victims_(villain_.draw_replicas()),
        percent_(villain_.random.chance(50) ? 100 : 50) {}

  // The tags are the last bytes of a frame, the receiver's at its place. A signature is damaged by
  // the same change.
  void send(const Sending& honest, std::vector<Sending>& out) override {
    const NodeId to = honest.what.to;
    const bool victim = is_client(to) || (victims_ >> to & 1) != 0;
    const std::size_t place = is_client(to) ? 1 : villain_.replicas() - to;
    if (!victim || !villain_.random.chance(percent_) ||
        honest.what.frame->size() < place * pbft::kTagSize) {
      out.push_back(honest);
      return;
    }
    Bytes bytes = *honest.what.frame;
    bytes[bytes.size() - place * pbft::kTagSize] ^= 0x55;
    out.push_back(honest);
    out.back().what.frame = std::make_shared<const Bytes>(std::move(bytes));
  }

 private:
  Villain villain_;
  std::uint64_t victims_;
  std::uint64_t percent_;
};

class Garbage final : public Behaviour {
 public:
  explicit Garbage(Villain villain) : villain_(villain) {}

  void send(const Sending& honest, std::vector<Sending>& out) override {
    const std::uint64_t choice = villain_.random.below(4);
    if (choice <= 1) {
      out.push_back(honest);
      out.back().what.frame = garbage_of(*honest.what.frame, villain_);
    }
    if (choice >= 1) out.push_back(honest);
  }

 private:
  Villain villain_;
};

class Replaying final : public Behaviour {
 public:
  explicit Replaying(Villain villain) : villain_(villain) {}

  bool receive(const pbft::Frame& frame) override {
    others_.keep(frame);
    return true;
  }
  void send(const Sending& honest, std::vector<Sending>& out) override {
    out.push_back(honest);
    own_.keep(honest.what.frame);
    if (!villain_.random.chance(25)) return;
    const Memory& memory = villain_.random.chance(50) ? own_ : others_;
    if (const pbft::Frame* old = memory.draw(villain_.random)) {
      out.push_back(honest);
      out.back().what.frame = *old;
    }
  }

 private:
  Villain villain_;
  Memory own_;
  Memory others_;
};

class Flooding final : public Behaviour {
 public:
  explicit Flooding(Villain villain) : villain_(villain) {}

  bool receive(const pbft::Frame& frame) override {
    memory_.keep(frame);
    return true;
  }
  void send(const Sending& honest, std::vector<Sending>& out) override {
    out.push_back(honest);
    memory_.keep(honest.what.frame);
    const std::uint64_t wanted = villain_.random.below(12);
    for (std::uint64_t i = 0; i < wanted && sent_ < kFloodFramesMax; ++i, ++sent_) {
      const pbft::Frame* old = memory_.draw(villain_.random);
      out.push_back(honest);
      out.back().what.to = static_cast<NodeId>(villain_.random.below(villain_.replicas()));
      out.back().what.frame = villain_.random.chance(30) ? garbage_of(**old, villain_) : *old;
    }
  }

 private:
  Villain villain_;
  Memory memory_;
  std::uint32_t sent_ = 0;
};

}  // namespace

BehaviourPointer make_selective_macs(Villain villain) {
  return std::make_unique<SelectiveMacs>(villain);
}
BehaviourPointer make_garbage(Villain villain) {
  return std::make_unique<Garbage>(villain);
}
BehaviourPointer make_replaying(Villain villain) {
  return std::make_unique<Replaying>(villain);
}
BehaviourPointer make_flooding(Villain villain) {
  return std::make_unique<Flooding>(villain);
}

}  // namespace prophecy::simulation
