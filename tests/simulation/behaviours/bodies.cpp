// `FalseHolder` is the accomplice of a client that serves a body to some replicas only: it claims
// to have each body that it receives the name of, and does not prepare the batches that name it. So
// the primary proposes what fewer than 2f+1 can prepare at once.
#include <deque>
#include <set>
#include <utility>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "simulation/behaviours/families.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::size_t kBatchesMax = 64;

class FalseHolder final : public Behaviour {
 public:
  explicit FalseHolder(Villain villain) : villain_(villain) {}

  bool receive(const pbft::Frame& frame) override {
    const std::uint32_t replicas = villain_.replicas();
    if (const auto proposal = pbft::decode_pre_prepare(*frame, replicas)) {
      note(*proposal);
      return true;
    }
    const auto passed_on = pbft::decode_forward(*frame);
    const ByteView request = passed_on ? passed_on->request : ByteView(*frame);
    const auto asked = pbft::decode_request(request, replicas);
    if (asked && asked->body && claimed_.insert(asked->body->root).second) {
      to_claim_.emplace_back(request.begin(), request.end());
    }
    return true;
  }

  void send(const Sending& honest, std::vector<Sending>& out) override {
    const std::uint32_t replicas = villain_.replicas();
    const auto vote = pbft::decode_vote(*honest.what.frame, pbft::MessageType::prepare, replicas);
    if (!vote || !batches_.contains({vote->sequence, vote->view})) out.push_back(honest);
    for (; !to_claim_.empty(); to_claim_.pop_front()) {
      const pbft::Frame claim = pbft::encode_forward(to_claim_.front(), villain_.keys);
      for (NodeId to = 0; to < replicas; ++to) {
        if (to == villain_.self()) continue;
        out.push_back(honest);
        out.back().what = {to, 0, claim};
      }
    }
  }

 private:
  void note(const pbft::PrePrepareMessage& proposal) {
    for (const pbft::RequestMessage& request : proposal.requests) {
      if (request.body && claimed_.contains(request.body->root)) {
        batches_.insert({proposal.sequence, proposal.view});
      }
    }
    if (batches_.size() > kBatchesMax) batches_.erase(batches_.begin());
  }

  Villain villain_;
  std::set<pbft::Digest> claimed_;
  std::deque<Bytes> to_claim_;                                 // requests by digest
  std::set<std::pair<std::uint64_t, std::uint64_t>> batches_;  // numbers and views
};

}  // namespace

BehaviourPointer make_false_holder(Villain villain) {
  return std::make_unique<FalseHolder>(villain);
}

}  // namespace prophecy::simulation
