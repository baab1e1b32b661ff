// Replicas that state what is not so, each statement well-formed and under their own keys.
#include <algorithm>
#include <optional>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"
#include "simulation/behaviours/families.hpp"
#include "simulation/behaviours/lying.hpp"

namespace prophecy::simulation {
namespace {

struct Vote {
  pbft::MessageType type;
  pbft::VoteMessage message;
};

std::optional<Vote> vote_in(ByteView frame, std::uint32_t replicas) {
  for (const auto type :
       {pbft::MessageType::prepare, pbft::MessageType::commit, pbft::MessageType::decision}) {
    if (const auto message = pbft::decode_vote(frame, type, replicas)) return Vote{type, *message};
  }
  return std::nullopt;
}

class LyingVotes final : public Lying {
 public:
  explicit LyingVotes(Villain villain) : Lying(villain, 50) {}

 private:
  pbft::Frame lie_about(const Bytes& frame) override {
    const auto vote = vote_in(frame, villain_.replicas());
    if (!vote) return nullptr;
    Random& random = villain_.random;
    const bool about_another = random.chance(30);
    // What is only prepared is called committed, and even decided.
    const std::uint64_t claim = random.below(100);
    const auto type = claim < 20   ? pbft::MessageType::commit
                      : claim < 40 ? pbft::MessageType::decision
                                   : vote->type;
    return pbft::encode_vote(
        type, vote->message.view, vote->message.sequence + (about_another ? random.below(5) : 0),
        random.chance(50) ? villain_.draw_digest() : vote->message.batch, villain_.keys);
  }
};

class StaleViews final : public Lying {
 public:
  explicit StaleViews(Villain villain) : Lying(villain, 40) {}

 private:
  pbft::Frame lie_about(const Bytes& frame) override {
    const auto vote = vote_in(frame, villain_.replicas());
    if (!vote || vote->type == pbft::MessageType::decision) return nullptr;
    Random& random = villain_.random;
    const std::uint64_t view = vote->message.view;
    const std::uint64_t other =
        random.chance(50) ? view + random.between(1, 3) : view - std::min(view, random.below(4));
    return pbft::encode_vote(vote->type, other, vote->message.sequence, vote->message.batch,
                             villain_.keys);
  }
};

class LyingCheckpoints final : public Behaviour {
 public:
  explicit LyingCheckpoints(Villain villain) : villain_(villain) {}

  void send(const Sending& honest, std::vector<Sending>& out) override {
    const auto claim = pbft::decode_checkpoint(*honest.what.frame);
    if (!claim || villain_.random.chance(30)) {
      out.push_back(honest);
      return;
    }
    // Another history, or the same with other replies, or another state.
    const bool same_history = villain_.random.chance(40);
    const auto order = same_history ? claim->order : villain_.draw_digest();
    const auto sequence = claim->sequence + (same_history ? 0 : villain_.random.below(3));
    const pbft::Frame lie =
        pbft::encode_checkpoint(sequence, order, villain_.draw_digest(), villain_.draw_digest(),
                                villain_.keys, claim->incarnation);
    out.push_back(honest);
    out.back().what.frame = lie;
    if (!villain_.random.chance(30)) return;
    for (NodeId other = 0; other < villain_.replicas(); ++other) {  // and in the others' names
      Bytes bytes = *lie;
      bytes[2] = static_cast<std::uint8_t>(other);
      out.push_back(honest);
      out.back().what.frame = std::make_shared<const Bytes>(std::move(bytes));
    }
  }

 private:
  Villain villain_;
};

class LyingStatus final : public Lying {
 public:
  explicit LyingStatus(Villain villain) : Lying(villain, 60) {}

 private:
  pbft::Frame lie_about(const Bytes& frame) override {
    auto status = pbft::decode_status(frame, villain_.replicas());
    if (!status) return nullptr;
    Random& random = villain_.random;
    const std::vector<std::uint8_t> slots(random.below(20), static_cast<std::uint8_t>(7));
    status->last_ordered = random.below(1000);
    status->first_retained = 1 + random.below(1000);
    status->settled = random.chance(50) ? status->settled : random.below(1000);
    status->view += random.chance(30) ? random.below(100) : 0;
    status->changing_view = random.chance(30);
    status->slots = slots;
    return pbft::encode_status(*status, villain_.keys);
  }
};

// As far as numbers go: who believes them counts over, or waits for ever.
class AbsurdStatus final : public Lying {
 public:
  explicit AbsurdStatus(Villain villain) : Lying(villain, 60) {}

 private:
  pbft::Frame lie_about(const Bytes& frame) override {
    auto status = pbft::decode_status(frame, villain_.replicas());
    if (!status) return nullptr;
    Random& random = villain_.random;
    const std::vector<std::uint8_t> slots(random.chance(50) ? pbft::kStatusSlotsMax : 0,
                                          static_cast<std::uint8_t>(random.below(8)));
    status->slots = slots;
    switch (random.below(6)) {
      case 0:
        status->counter = UINT64_MAX - random.below(2);
        break;
      case 1:
        status->counter = random.below(2);
        break;
      case 2:
        status->view = pbft::kViewMax;
        status->changing_view = random.chance(50);
        break;
      case 3:
        status->first_retained = pbft::kSequenceMax;
        break;
      case 4:
        status->last_stable = pbft::kSequenceMax;
        break;
      default:
        break;
    }
    if (random.chance(50)) status->last_ordered = pbft::kSequenceMax;
    if (random.chance(50)) status->settled = pbft::kSequenceMax;
    return pbft::encode_status(*status, villain_.keys);
  }
};

class ClaimingBehind final : public Behaviour {
 public:
  explicit ClaimingBehind(Villain villain) : villain_(villain) {}

  void send(const Sending& honest, std::vector<Sending>& out) override {
    out.push_back(honest);
    auto status = pbft::decode_status(*honest.what.frame, villain_.replicas());
    if (!status) return;
    status->first_retained = 1;
    status->last_ordered = 0;
    status->last_stable = 0;
    status->settled = 0;
    status->slots = {};
    out.back().what.frame = pbft::encode_status(*status, villain_.keys);
  }

 private:
  Villain villain_;
};

class LyingReplies final : public Lying {
 public:
  explicit LyingReplies(Villain villain) : Lying(villain, 70) {}

 private:
  pbft::Frame lie_about(const Bytes& frame) override {
    auto reply = pbft::decode_reply(frame);
    // What another behaviour has made of it may name a client that is none.
    if (!reply || !villain_.keys.knows(reply->client)) return nullptr;
    Random& random = villain_.random;
    Bytes result(reply->result.begin(), reply->result.end());
    result.resize(std::max<std::size_t>(result.size(), 41));
    result[random.below(result.size())] ^= 1;
    reply->result = result;
    if (random.chance(20)) reply->tentative = !reply->tentative;
    switch (random.below(5)) {
      case 0:
        reply->sigma += 1;
        break;
      case 1:
        reply->status =
            random.chance(50) ? pbft::ReplyStatus::unavailable : pbft::ReplyStatus::stale;
        if (random.chance(50)) reply->sigma = reply->timestamp + random.below(1000);
        break;
      case 2:
        reply->full = true;
        break;  // with a result that is not the digest's
      case 3:
        reply->view += random.below(10);
        break;
      default:
        reply->full = true;
        reply->result_digest = sha256(result);
        break;
    }
    return pbft::encode_reply(*reply, villain_.keys);
  }
};

}  // namespace

BehaviourPointer make_lying_votes(Villain villain) {
  return std::make_unique<LyingVotes>(villain);
}
BehaviourPointer make_stale_views(Villain villain) {
  return std::make_unique<StaleViews>(villain);
}
BehaviourPointer make_lying_checkpoints(Villain villain) {
  return std::make_unique<LyingCheckpoints>(villain);
}
BehaviourPointer make_lying_status(Villain villain) {
  return std::make_unique<LyingStatus>(villain);
}
BehaviourPointer make_absurd_status(Villain villain) {
  return std::make_unique<AbsurdStatus>(villain);
}
BehaviourPointer make_claiming_behind(Villain villain) {
  return std::make_unique<ClaimingBehind>(villain);
}
BehaviourPointer make_lying_replies(Villain villain) {
  return std::make_unique<LyingReplies>(villain);
}

}  // namespace prophecy::simulation
