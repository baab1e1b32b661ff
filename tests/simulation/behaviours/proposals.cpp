// Primaries that propose what they should not.
#include <algorithm>
#include <map>
#include <utility>

#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"
#include "simulation/behaviours/families.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::size_t kTimestampAt = pbft::kHeaderSize + 4;  // in a request, behind the session

using Place = std::pair<std::uint64_t, std::uint64_t>;  // view, sequence
using Proposed = std::map<Place, pbft::PrePrepareBuilder::Finished>;

std::vector<Bytes> requests_of(const pbft::PrePrepareMessage& message) {
  std::vector<Bytes> requests;
  for (const auto& request : message.requests) {
    const auto* begin = request.content.data();
    requests.emplace_back(begin, begin + request.content.size() + request.authenticator.size() +
                                     request.signature.size());
  }
  return requests;
}

pbft::PrePrepareBuilder::Finished propose(const std::vector<Bytes>& requests, Place place,
                                          const pbft::AgreedInput& input,
                                          const pbft::KeyRing& keys) {
  pbft::PrePrepareBuilder builder(1024);
  for (const Bytes& request : requests) {
    const auto message = pbft::decode_request(request, keys.replicas());
    if (message) builder.append(request, sha256(message->content));
  }
  return builder.finish(place.first, place.second, input, keys);
}

// The own commit, for the batch that was proposed there in place of the honest one.
pbft::Frame commit_to(const Proposed& proposed, const pbft::Frame& honest,
                      const pbft::KeyRing& keys) {
  const auto vote = pbft::decode_vote(*honest, pbft::MessageType::commit, keys.replicas());
  if (!vote) return honest;
  const auto other = proposed.find({vote->view, vote->sequence});
  if (other == proposed.end()) return honest;
  return pbft::encode_vote(pbft::MessageType::commit, vote->view, vote->sequence,
                           other->second.batch, keys);
}

// Two worlds: what some backups get to see is not what the others do.
class Equivocating final : public Behaviour {
 public:
  explicit Equivocating(Villain villain)
      : villain_(villain), other_part_(villain_.draw_replicas()) {}

  void send(const Sending& honest, std::vector<Sending>& out) override {
    out.push_back(honest);
    const bool other = !is_client(honest.what.to) && (other_part_ >> honest.what.to & 1) != 0;
    if (other) out.back().what.frame = in_other_world(honest.what.frame);
  }

 private:
  pbft::Frame in_other_world(const pbft::Frame& honest) {
    const auto message = pbft::decode_pre_prepare(*honest, villain_.replicas());
    if (!message || message->requests.empty()) return commit_to(others_, honest, villain_.keys);
    const Place place{message->view, message->sequence};
    const auto known = others_.find(place);
    if (known != others_.end()) return known->second.frame;
    // The same requests backwards, or an older one again.
    std::vector<Bytes> requests = requests_of(*message);
    seen_.insert(seen_.end(), requests.begin(), requests.end());
    pbft::AgreedInput input = message->input;
    if (villain_.random.chance(30)) {
      input.time += 1;  // the same requests, at another time
    } else {
      std::reverse(requests.begin(), requests.end());
      if (requests.size() == 1) requests[0] = seen_[villain_.random.below(seen_.size())];
    }
    return others_.emplace(place, propose(requests, place, input, villain_.keys))
        .first->second.frame;
  }

  Villain villain_;
  std::uint64_t other_part_;
  Proposed others_;
  std::vector<Bytes> seen_;
};

// To all the same: requests that were ordered before, some that no client has made, and some whose
// MACs are damaged so as to put the blame on their client.
class OrderingJunk final : public Behaviour {
 public:
  explicit OrderingJunk(Villain villain) : villain_(villain) {}

  void send(const Sending& honest, std::vector<Sending>& out) override {
    out.push_back(honest);
    if (!is_client(honest.what.to)) out.back().what.frame = with_junk(honest.what.frame);
  }

 private:
  pbft::Frame with_junk(const pbft::Frame& honest) {
    const auto message = pbft::decode_pre_prepare(*honest, villain_.replicas());
    if (!message || message->requests.empty()) return commit_to(junk_, honest, villain_.keys);
    const Place place{message->view, message->sequence};
    const auto known = junk_.find(place);
    if (known != junk_.end()) return known->second.frame;
    std::vector<Bytes> requests = requests_of(*message);
    seen_.insert(seen_.end(), requests.begin(), requests.end());
    if (villain_.random.chance(10)) damage_macs(requests.front());
    const std::uint64_t more = villain_.random.between(1, 3);
    for (std::uint64_t i = 0; i < more; ++i) {
      Bytes request = seen_[villain_.random.below(seen_.size())];
      if (villain_.random.chance(10)) {  // a timestamp that its client has not used
        request[kTimestampAt] ^= static_cast<std::uint8_t>(villain_.random.between(1, 255));
      }
      const auto at = static_cast<std::ptrdiff_t>(villain_.random.below(requests.size() + 1));
      requests.insert(requests.begin() + at, std::move(request));
    }
    if (villain_.random.chance(20)) requests.resize(1);
    return junk_.emplace(place, propose(requests, place, message->input, villain_.keys))
        .first->second.frame;
  }
  void damage_macs(Bytes& frame) {
    const auto request = pbft::decode_request(frame, villain_.replicas());
    const std::size_t macs = request->content.size();
    const std::uint64_t victims = villain_.draw_replicas();
    for (NodeId replica = 0; replica < villain_.replicas(); ++replica) {
      if ((victims >> replica & 1) != 0) frame[macs + replica * pbft::kTagSize] ^= 0x55;
    }
  }

  Villain villain_;
  Proposed junk_;
  std::vector<Bytes> seen_;
};

// To all the same, and at another time than now: the right requests.
class FalseTimes final : public Behaviour {
 public:
  explicit FalseTimes(Villain villain) : villain_(villain) {}

  void send(const Sending& honest, std::vector<Sending>& out) override {
    out.push_back(honest);
    if (!is_client(honest.what.to)) out.back().what.frame = at_another_time(honest.what.frame);
  }

 private:
  static constexpr std::uint64_t kSecond = 1'000'000'000;

  pbft::Frame at_another_time(const pbft::Frame& honest) {
    const auto message = pbft::decode_pre_prepare(*honest, villain_.replicas());
    if (!message) return commit_to(proposed_, honest, villain_.keys);
    const Place place{message->view, message->sequence};
    const auto known = proposed_.find(place);
    if (known != proposed_.end()) return known->second.frame;
    pbft::AgreedInput input = message->input;
    switch (villain_.random.below(4)) {
      case 0:
        input.time = 0;
        break;
      case 1:
        input.time = UINT64_MAX;
        break;
      case 2:  // some clocks may just tolerate it
        input.time += villain_.random.between(3, 8) * kSecond;
        break;
      default:
        input.time += 3600 * kSecond;
        break;
    }
    const auto other = propose(requests_of(*message), place, input, villain_.keys);
    return proposed_.emplace(place, other).first->second.frame;
  }

  Villain villain_;
  Proposed proposed_;
};

}  // namespace

BehaviourPointer make_equivocating(Villain villain) {
  return std::make_unique<Equivocating>(villain);
}
BehaviourPointer make_false_times(Villain villain) {
  return std::make_unique<FalseTimes>(villain);
}
BehaviourPointer make_ordering_junk(Villain villain) {
  return std::make_unique<OrderingJunk>(villain);
}

}  // namespace prophecy::simulation
