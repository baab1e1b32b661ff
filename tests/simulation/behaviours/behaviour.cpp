#include "simulation/behaviours/behaviour.hpp"

#include "base/assert.hpp"
#include "pbft/wire/sealed.hpp"
#include "simulation/behaviours/families.hpp"

namespace prophecy::simulation {

pbft::Frame opened(const pbft::Frame& frame, std::uint32_t replicas) {
  const auto sealed = pbft::decode_sealed(*frame, replicas);
  return sealed ? std::make_shared<const Bytes>(sealed->frame.begin(), sealed->frame.end()) : frame;
}

void send_sealed(Behaviour& behaviour, const pbft::KeyRing& keys, const Sending& honest,
                 std::vector<Sending>& out) {
  Sending message = honest;
  message.what.frame = opened(honest.what.frame, keys.replicas());
  const std::size_t before = out.size();
  behaviour.send(message, out);
  for (std::size_t i = before; i < out.size(); ++i) {
    pbft::Outgoing& outgoing = out[i].what;
    if (outgoing.frame == message.what.frame) {
      outgoing.frame = honest.what.frame;
    } else if (is_replica(outgoing.to, keys.replicas()) &&
               pbft::needs_seal(*outgoing.frame, keys.self())) {
      outgoing.frame = pbft::encode_sealed(*outgoing.frame, keys);
    }
  }
}

std::uint64_t Villain::draw_replicas() {
  const std::uint64_t all = (std::uint64_t{1} << replicas()) - 1;
  return random.between(1, all);
}

Sha256::Digest Villain::draw_digest() {
  const std::uint64_t choice = random.below(4);
  if (choice == 3) return Sha256().finish();
  Sha256::Digest digest{};
  digest[0] = static_cast<std::uint8_t>(choice);
  return digest;
}

std::unique_ptr<Behaviour> make_behaviour(BehaviourKind kind, Villain villain) {
  switch (kind) {
    case BehaviourKind::silent:
      return make_silent();
    case BehaviourKind::mute:
      return make_mute();
    case BehaviourKind::withholding:
      return make_withholding(villain);
    case BehaviourKind::slow:
      return make_slow(villain);
    case BehaviourKind::selective_macs:
      return make_selective_macs(villain);
    case BehaviourKind::garbage:
      return make_garbage(villain);
    case BehaviourKind::replaying:
      return make_replaying(villain);
    case BehaviourKind::flooding:
      return make_flooding(villain);
    case BehaviourKind::censoring:
      return make_censoring(villain);
    case BehaviourKind::claiming_behind:
      return make_claiming_behind(villain);
    case BehaviourKind::equivocating:
      return make_equivocating(villain);
    case BehaviourKind::lying_votes:
      return make_lying_votes(villain);
    case BehaviourKind::stale_views:
      return make_stale_views(villain);
    case BehaviourKind::lying_checkpoints:
      return make_lying_checkpoints(villain);
    case BehaviourKind::lying_status:
      return make_lying_status(villain);
    case BehaviourKind::lying_replies:
      return make_lying_replies(villain);
    case BehaviourKind::forged_view_changes:
      return make_forged_view_changes(villain);
    case BehaviourKind::forged_new_views:
      return make_forged_new_views(villain);
    case BehaviourKind::ordering_junk:
      return make_ordering_junk(villain);
    case BehaviourKind::false_times:
      return make_false_times(villain);
    case BehaviourKind::absurd_status:
      return make_absurd_status(villain);
    case BehaviourKind::doubled_voices:
      return make_doubled_voices(villain);
    case BehaviourKind::lying_pledges:
      return make_lying_pledges(villain);
    case BehaviourKind::lying_silence:
      return make_lying_silence(villain);
    case BehaviourKind::lying_roots:
      return make_lying_roots(villain);
    case BehaviourKind::siding_roots:
      return make_siding_roots(villain);
    case BehaviourKind::false_parts:
      return make_false_parts(villain);
    case BehaviourKind::live_lies:
      return make_live_lies(villain);
    case BehaviourKind::conspiring:
      return make_conspiring(villain);
    case BehaviourKind::mutating:
      return make_mutating(villain);
    case BehaviourKind::lying_keys:
      return make_lying_keys(villain);
    case BehaviourKind::lying_states:
      return make_lying_states(villain);
    case BehaviourKind::false_holder:
      return make_false_holder(villain);
    case BehaviourKind::count_:
      break;
  }
  UNREACHABLE();
}

}  // namespace prophecy::simulation
