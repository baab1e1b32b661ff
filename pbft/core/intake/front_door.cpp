#include "pbft/core/intake/front_door.hpp"

#include "pbft/wire/limits.hpp"
#include "pbft/wire/sealed.hpp"

namespace prophecy::pbft {

std::optional<FrontDoor::Admitted> FrontDoor::admit(ByteView frame) {
  const auto refuse = [&](DropReason reason) {
    context_.drop(reason);
    return std::nullopt;
  };
  ++context_.counters.frames_received;
  context_.relay.reset();
  context_.payments.end();
  if (frame.size() < kHeaderSize || frame.size() > kFrameBytesMax) {
    return refuse(DropReason::bad_length);
  }
  const auto header = peek_header(frame);
  if (!header) return refuse(DropReason::malformed);
  if (!context_.takes_part()) return refuse(DropReason::not_serving);
  if (header->type == MessageType::sealed) return open(frame);
  if (is_only_sealed(header->type)) return refuse(DropReason::not_sealed);
  return Admitted{frame, header->type};
}

std::optional<FrontDoor::Admitted> FrontDoor::open(ByteView frame) {
  const auto refuse = [&](DropReason reason) {
    context_.drop(reason);
    return std::nullopt;
  };
  const auto sealed = decode_sealed(frame, context_.quorum.replicas);
  if (!sealed) return refuse(DropReason::malformed);
  if (!context_.is_peer(sealed->replica) ||
      !context_.is_authentic(sealed->replica, sealed->content, sealed->authenticator)) {
    return std::nullopt;
  }
  context_.relay = sealed->replica;
  const auto header = peek_header(sealed->frame);
  if (!header || !may_be_sealed(header->type)) return refuse(DropReason::malformed);
  const auto share =
      header->type == MessageType::forward ? Payments::Share::forwards : Payments::Share::own;
  if (!context_.payments.may_cause(sealed->replica, share, context_.now)) {
    return refuse(DropReason::rate_limited);
  }
  return Admitted{sealed->frame, header->type};
}

void FrontDoor::seal(std::size_t first, ReplicaActions& out) const {
  Frame bare;
  Frame sealed;
  for (std::size_t i = first; i < out.sends.size(); ++i) {
    Outgoing& outgoing = out.sends[i];
    if (!is_replica(outgoing.to, context_.quorum.replicas) ||
        !needs_seal(*outgoing.frame, context_.self)) {
      continue;
    }
    if (outgoing.frame != bare) {
      bare = outgoing.frame;
      sealed = encode_sealed(*bare, context_.keys);
    }
    outgoing.frame = sealed;
  }
}

}  // namespace prophecy::pbft
