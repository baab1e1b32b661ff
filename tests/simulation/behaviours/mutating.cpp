// Replicas that change one field of a live message by a little, or to a value that really occurred
// (small-scope mutation, as ByzzFuzz does: such lies find more than random ones, since they come
// near to what a rule expects).
#include <algorithm>
#include <deque>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"
#include "pbft/wire/recovery.hpp"
#include "pbft/wire/view_change.hpp"
#include "simulation/behaviours/families.hpp"
#include "simulation/behaviours/lying.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::size_t kSeenMax = 64;

// The newest of what the villain has received or said.
template <typename Value>
class Seen {
 public:
  void note(const Value& value) {
    values_.push_back(value);
    if (values_.size() > kSeenMax) values_.pop_front();
  }
  [[nodiscard]] Value draw(const Value& otherwise, Random& random) const {
    return values_.empty() ? otherwise : values_[random.below(values_.size())];
  }

 private:
  std::deque<Value> values_;
};

class Mutating final : public Lying {
 public:
  explicit Mutating(Villain villain) : Lying(villain, 25) {}

  bool receive(const pbft::Frame& frame) override {
    see(*frame);
    return true;
  }
  void send(const Sending& honest, std::vector<Sending>& out) override {
    see(*honest.what.frame);
    Lying::send(honest, out);
  }

 private:
  void see(const Bytes& frame) {
    const std::uint32_t replicas = villain_.replicas();
    for (const auto type : {pbft::MessageType::prepare, pbft::MessageType::commit}) {
      if (const auto vote = pbft::decode_vote(frame, type, replicas)) {
        numbers_.note(vote->sequence);
        numbers_.note(vote->view);
        digests_.note(vote->batch);
      }
    }
    if (const auto claim = pbft::decode_checkpoint(frame)) {
      numbers_.note(claim->sequence);
      digests_.note(claim->order);
      digests_.note(claim->service);
    }
  }
  // One more, one less, or another one that was said.
  void change(std::uint64_t& number) {
    switch (villain_.random.below(3)) {
      case 0:
        number += 1;
        return;
      case 1:
        number -= std::min<std::uint64_t>(number, 1);
        return;
      default:
        number = numbers_.draw(number, villain_.random);
        return;
    }
  }
  void change(Sha256::Digest& digest) { digest = digests_.draw(digest, villain_.random); }
  // Any one of these.
  template <typename... Fields>
  void change_one(Fields&... fields) {
    std::uint64_t chosen = villain_.random.below(sizeof...(fields));
    ((chosen-- == 0 ? change(fields) : void()), ...);
  }

  pbft::Frame lie_about(const Bytes& frame) override {
    const auto header = pbft::peek_header(frame);
    if (!header || header->sender != villain_.self()) return nullptr;
    if (const auto lie = in_agreement(frame)) return lie;
    return in_recovery(frame);
  }

  pbft::Frame in_agreement(const Bytes& frame) {
    const pbft::KeyRing& keys = villain_.keys;
    const std::uint32_t replicas = villain_.replicas();
    for (const auto type :
         {pbft::MessageType::prepare, pbft::MessageType::commit, pbft::MessageType::decision}) {
      auto vote = pbft::decode_vote(frame, type, replicas);
      if (!vote) continue;
      change_one(vote->view, vote->sequence, vote->batch);
      return pbft::encode_vote(type, vote->view, vote->sequence, vote->batch, keys);
    }
    if (auto proposal = pbft::decode_pre_prepare(frame, replicas)) {
      change_one(proposal->view, proposal->sequence, proposal->input.time);
      return proposed(*proposal);
    }
    if (auto reply = pbft::decode_reply(frame)) {
      if (!keys.knows(reply->client)) return nullptr;
      change_one(reply->view, reply->timestamp, reply->sigma, reply->result_digest);
      return pbft::encode_reply(*reply, keys);
    }
    if (auto asked = pbft::decode_view_change(frame, replicas)) {
      change_in(*asked);
      return pbft::encode_view_change(*asked, keys);
    }
    if (auto begun = pbft::decode_new_view(frame, replicas)) {
      change(begun->view);
      return pbft::encode_new_view(begun->view, begun->view_changes, keys);
    }
    return nullptr;
  }

  pbft::Frame in_recovery(const Bytes& frame) {
    const pbft::KeyRing& keys = villain_.keys;
    const std::uint32_t replicas = villain_.replicas();
    if (auto claim = pbft::decode_checkpoint(frame)) {
      change_one(claim->incarnation, claim->sequence, claim->order, claim->replies, claim->service);
      return pbft::encode_checkpoint(claim->sequence, claim->order, claim->replies, claim->service,
                                     keys, claim->incarnation);
    }
    if (auto status = pbft::decode_status(frame, replicas)) {
      change_one(status->view, status->counter, status->silent_until, status->first_retained,
                 status->last_ordered, status->last_stable, status->settled);
      return pbft::encode_status(*status, keys);
    }
    if (auto pledge = pbft::decode_pledge(frame, replicas)) {
      change_one(pledge->incarnation, pledge->view, pledge->checkpoint);
      return pbft::encode_pledge(*pledge, keys);
    }
    return nullptr;
  }

  void change_in(pbft::ViewChangeMessage& asked) {
    auto& records = villain_.random.chance(50) ? asked.prepared : asked.pre_prepared;
    if (records.empty() || villain_.random.chance(20)) {
      return change_one(asked.view, asked.stable, asked.incarnation);
    }
    pbft::BatchRecord& record = records[villain_.random.below(records.size())];
    change_one(record.view, record.sequence, record.batch);
  }

  // Null for a number that no proposal can be made for; receivers would not decode one.
  pbft::Frame proposed(const pbft::PrePrepareMessage& message) {
    if (message.sequence > pbft::kSequenceMax) return nullptr;
    pbft::PrePrepareBuilder builder(1024);
    for (const pbft::RequestMessage& request : message.requests) {
      const auto* begin = request.content.data();
      const Bytes frame(begin, begin + request.content.size() + request.authenticator.size() +
                                   request.signature.size());
      builder.append(frame, sha256(request.content));
    }
    return builder.finish(message.view, message.sequence, message.input, villain_.keys).frame;
  }

  Seen<std::uint64_t> numbers_;
  Seen<Sha256::Digest> digests_;
};

}  // namespace

BehaviourPointer make_mutating(Villain villain) {
  return std::make_unique<Mutating>(villain);
}

}  // namespace prophecy::simulation
