// A replica that is the accomplice of a client which serves a body to some replicas only: it says
// that it has each body that it hears of, and votes for none of the batches that may name it. So
// the primary proposes what fewer than 2f+1 can prepare at once.
#include <deque>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "simulation/behaviours/families.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::size_t kHeardMax = 32;

class FalseHolder final : public Behaviour {
 public:
  explicit FalseHolder(Villain villain) : villain_(villain) {}

  bool receive(const pbft::Frame& frame) override {
    const std::uint32_t replicas = villain_.replicas();
    const auto passed_on = pbft::decode_forward(*frame);
    const ByteView request = passed_on ? passed_on->request : ByteView(*frame);
    const auto asked = pbft::decode_request(request, replicas);
    if (!asked || !asked->body || asked->body->root == last_) return true;
    last_ = asked->body->root;
    heard_.emplace_back(request.begin(), request.end());
    if (heard_.size() > kHeardMax) heard_.pop_front();
    votes_withheld_ = 1 + villain_.random.below(2 * std::uint64_t{replicas});
    return true;
  }

  void send(const Sending& honest, std::vector<Sending>& out) override {
    const std::uint32_t replicas = villain_.replicas();
    const auto vote = pbft::decode_vote(*honest.what.frame, pbft::MessageType::prepare, replicas);
    if (vote && votes_withheld_ > 0) {
      --votes_withheld_;
    } else {
      out.push_back(honest);
    }
    for (; !heard_.empty(); heard_.pop_front()) {
      const pbft::Frame claim = pbft::encode_forward(heard_.front(), villain_.keys);
      for (NodeId to = 0; to < replicas; ++to) {
        if (to == villain_.self()) continue;
        out.push_back(honest);
        out.back().what = {to, 0, claim};
      }
    }
  }

 private:
  Villain villain_;
  pbft::Digest last_{};      // the body that it has heard of last
  std::deque<Bytes> heard_;  // requests that it has not claimed to have the bodies of
  std::uint64_t votes_withheld_ = 0;
};

}  // namespace

BehaviourPointer make_false_holder(Villain villain) {
  return std::make_unique<FalseHolder>(villain);
}

}  // namespace prophecy::simulation
