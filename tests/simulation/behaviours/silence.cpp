// Replicas that say or hear less than they should, or later.
#include "pbft/wire/decode.hpp"
#include "pbft/wire/frame_header.hpp"
#include "simulation/behaviours/families.hpp"

namespace prophecy::simulation {
namespace {

class Silent final : public Behaviour {
 public:
  void send(const Sending& honest, std::vector<Sending>& out) override {
    (void)honest;
    (void)out;
  }
};

class Mute final : public Behaviour {
 public:
  void send(const Sending& honest, std::vector<Sending>& out) override {
    if (!is_client(honest.what.to)) out.push_back(honest);
  }
};

class Withholding final : public Behaviour {
 public:
  explicit Withholding(Villain villain)
      : types_(villain.random.next()),
        replicas_(villain.draw_replicas()),
        clients_(villain.random.chance(30)) {}

  void send(const Sending& honest, std::vector<Sending>& out) override {
    const NodeId to = honest.what.to;
    const auto header = pbft::peek_header(*honest.what.frame);
    const bool kind = header && (types_ >> static_cast<unsigned>(header->type) & 1) != 0;
    const bool receiver = is_client(to) ? clients_ : (replicas_ >> to & 1) != 0;
    if (!kind || !receiver) out.push_back(honest);
  }

 private:
  std::uint64_t types_;
  std::uint64_t replicas_;
  bool clients_;
};

class Slow final : public Behaviour {
 public:
  explicit Slow(Villain villain)
      : villain_(villain), longest_ms_(villain_.random.between(20, 600)) {}

  void send(const Sending& honest, std::vector<Sending>& out) override {
    Sending late = honest;
    late.delay += milliseconds(villain_.random.below(longest_ms_));
    out.push_back(late);
  }

 private:
  Villain villain_;
  std::uint64_t longest_ms_;
};

class Censoring final : public Behaviour {
 public:
  explicit Censoring(Villain villain)
      : victim_(kFirstClientId + static_cast<NodeId>(villain.random.below(2))) {}

  bool receive(const pbft::Frame& frame) override {
    const auto header = pbft::peek_header(*frame);
    if (!header) return true;
    if (header->type == pbft::MessageType::request) return header->sender != victim_;
    if (const auto forward = pbft::decode_forward(*frame)) {
      const auto request = pbft::peek_header(forward->request);
      return !request || request->sender != victim_;
    }
    return true;
  }

 private:
  NodeId victim_;
};

}  // namespace

BehaviourPointer make_silent() {
  return std::make_unique<Silent>();
}
BehaviourPointer make_mute() {
  return std::make_unique<Mute>();
}
BehaviourPointer make_withholding(Villain villain) {
  return std::make_unique<Withholding>(villain);
}
BehaviourPointer make_slow(Villain villain) {
  return std::make_unique<Slow>(villain);
}
BehaviourPointer make_censoring(Villain villain) {
  return std::make_unique<Censoring>(villain);
}

}  // namespace prophecy::simulation
