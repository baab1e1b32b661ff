// Replicas that lie to those that fetch a checkpoint's state, or a request's body: about what there
// is to fetch, and with what they hand out.
#include <algorithm>
#include <deque>
#include <map>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/part.hpp"
#include "pbft/wire/recovery.hpp"
#include "simulation/behaviours/families.hpp"
#include "simulation/behaviours/lying.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::size_t kRemembered = 32;

template <typename Value>
void remember(std::deque<Value>& values, const Value& value) {
  values.push_back(value);
  if (values.size() > kRemembered) values.pop_front();
}

// The right history, and with it a state that is another's, an older one's, or none.
class LyingRoots final : public Lying {
 public:
  explicit LyingRoots(Villain villain) : Lying(villain, 70) {}

  bool receive(const pbft::Frame& frame) override {
    if (const auto claim = pbft::decode_checkpoint(*frame)) {
      remember(roots_, claim->service);
      remember(roots_, claim->replies);
    }
    return true;
  }

 private:
  pbft::Frame lie_about(const Bytes& frame) override {
    auto claim = pbft::decode_checkpoint(frame);
    if (!claim) return nullptr;
    Random& random = villain_.random;
    pbft::Digest& victim = random.chance(60) ? claim->service : claim->replies;
    switch (random.below(4)) {
      case 0:
        victim = {};
        break;
      case 1:  // a tree that is none of the kind that is asked for
        victim = claim->order;
        break;
      case 2:
        std::swap(claim->service, claim->replies);
        break;
      default:
        victim = roots_.empty() ? villain_.draw_digest() : roots_[random.below(roots_.size())];
        break;
    }
    return pbft::encode_checkpoint(claim->sequence, claim->order, claim->replies, claim->service,
                                   villain_.keys, claim->incarnation);
  }

  std::deque<pbft::Digest> roots_;
};

// Where origins differ, so that one of them has more claims than the others. It waits for a claim
// that is not its own, and says the same; while there is none, it mostly says nothing.
class SidingRoots final : public Lying {
 public:
  explicit SidingRoots(Villain villain) : Lying(villain, 100) {}

  bool receive(const pbft::Frame& frame) override {
    const auto claim = pbft::decode_checkpoint(*frame);
    if (claim && claim->service != pbft::Digest{}) {
      claims_[claim->sequence].push_back({claim->replies, claim->service});
      if (claims_.size() > kRemembered) claims_.erase(claims_.begin());
    }
    return true;
  }
  void send(const Sending& honest, std::vector<Sending>& out) override {
    const auto claim = pbft::decode_checkpoint(*honest.what.frame);
    if (!claim || claim->replica != villain_.self()) return out.push_back(honest);
    const pbft::Frame lie = lie_about(*honest.what.frame);
    if (lie == nullptr && villain_.random.chance(60)) return;
    out.push_back(honest);
    if (lie != nullptr) out.back().what.frame = lie;
  }

 private:
  struct Roots {
    pbft::Digest replies;
    pbft::Digest service;
  };

  pbft::Frame lie_about(const Bytes& frame) override {
    const auto claim = pbft::decode_checkpoint(frame);
    const auto others = claims_.find(claim->sequence);
    if (others == claims_.end()) return nullptr;
    const auto other =
        std::find_if(others->second.begin(), others->second.end(),
                     [&](const Roots& roots) { return roots.service != claim->service; });
    if (other == others->second.end()) return nullptr;
    return pbft::encode_checkpoint(claim->sequence, claim->order, other->replies, other->service,
                                   villain_.keys, claim->incarnation);
  }

  std::map<std::uint64_t, std::vector<Roots>> claims_;
};

// Hands out what was not asked for, or nothing, or what was asked for in drips; asks for what it
// does not need; and says of bodies that it has them.
class FalseParts final : public Lying {
 public:
  explicit FalseParts(Villain villain)
      : Lying(villain, 100),
        never_true_(villain_.random.chance(50)),
        drips_(villain_.random.chance(30)) {}

  bool receive(const pbft::Frame& frame) override {
    if (const auto asked = pbft::decode_fetch_parts(*frame, villain_.replicas())) {
      for (const pbft::Digest& digest : asked->parts)
        remember(digests_, digest);
    }
    const auto request = pbft::decode_request(*frame, villain_.replicas());
    if (request && request->body) remember(names_, frame);
    return true;
  }

  void send(const Sending& honest, std::vector<Sending>& out) override {
    const bool hands_out = pbft::decode_part_message(*honest.what.frame).has_value();
    const auto say = [&](pbft::Frame frame) {
      out.push_back(honest);
      out.back().what.frame = std::move(frame);
    };
    if (!hands_out) {
      out.push_back(honest);
    } else if (drips_) {
      out.push_back(honest);
      TimePoint& next = next_drip_[honest.what.to];
      next = std::max(next, honest.now) + milliseconds(villain_.random.between(100, 190));
      out.back().delay += next - honest.now;
    } else if (never_true_) {
      if (pbft::Frame lie = lie_about(*honest.what.frame)) say(std::move(lie));
    } else {
      Lying::send(honest, out);
    }
    if (is_client(honest.what.to)) return;
    Random& random = villain_.random;
    if (!names_.empty() && random.chance(20)) {
      say(pbft::encode_forward(*names_[random.below(names_.size())], villain_.keys));
    }
    if (!digests_.empty() && random.chance(2)) say(ask_for_much());
  }

 private:
  pbft::Frame ask_for_much() {
    Random& random = villain_.random;
    std::vector<pbft::Digest> parts(pbft::kPartsAskedMax);
    for (pbft::Digest& part : parts)
      part = random.chance(80) ? digests_[random.below(digests_.size())] : villain_.draw_digest();
    return pbft::encode_fetch_parts(random.next() >> random.below(64), parts, villain_.keys);
  }

  pbft::Frame lie_about(const Bytes& frame) override {
    const auto message = pbft::decode_part_message(frame);
    if (!message || message->part.empty()) return nullptr;
    Random& random = villain_.random;
    Bytes part(message->part.begin(), message->part.end());
    switch (random.below(5)) {
      case 0:
        part[random.below(part.size())] ^= 1;
        break;
      case 1:
        part.resize(random.below(part.size()));
        break;
      case 2:  // names parts without end
        part = pbft::encode_part(std::vector(random.between(1, 100), villain_.draw_digest()), {});
        break;
      case 3:
        if (const Bytes* other = parts_.empty() ? nullptr : &parts_[random.below(parts_.size())]) {
          part = *other;
        }
        break;
      default:
        return nullptr;
    }
    remember(parts_, Bytes(message->part.begin(), message->part.end()));
    return pbft::encode_part_message(part, villain_.keys);
  }

  bool never_true_;
  bool drips_;  // a part now and then, to each asker
  std::map<NodeId, TimePoint> next_drip_;
  std::deque<pbft::Digest> digests_;
  std::deque<pbft::Frame> names_;
  std::deque<Bytes> parts_;
};

}  // namespace

BehaviourPointer make_lying_roots(Villain villain) {
  return std::make_unique<LyingRoots>(villain);
}
BehaviourPointer make_siding_roots(Villain villain) {
  return std::make_unique<SidingRoots>(villain);
}
BehaviourPointer make_false_parts(Villain villain) {
  return std::make_unique<FalseParts>(villain);
}

}  // namespace prophecy::simulation
