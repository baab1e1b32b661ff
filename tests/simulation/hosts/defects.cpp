#include "simulation/hosts/defects.hpp"

#include "base/digest.hpp"
#include "pbft/core/state/quorum.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/recovery.hpp"
#include "pbft/wire/sealed.hpp"

namespace prophecy::simulation {

std::vector<pbft::Frame> votes_in_left_view(ByteView frame, const pbft::ReplicaStatus& status,
                                            const pbft::KeyRing& keys) {
  const auto proposal = pbft::decode_pre_prepare(frame, keys.replicas());
  if (!proposal || proposal->view >= status.view) return {};
  if (pbft::primary_of(proposal->view, keys.replicas()) == keys.self()) return {};
  const pbft::Digest batch = batch_digest(*proposal);
  std::vector<pbft::Frame> votes;
  for (const auto type : {pbft::MessageType::prepare, pbft::MessageType::commit})
    votes.push_back(pbft::encode_vote(type, proposal->view, proposal->sequence, batch, keys));
  return votes;
}

std::vector<pbft::Execution> with_repeated(const std::vector<pbft::Execution>& executions,
                                           std::uint32_t replicas) {
  std::vector<pbft::Execution> all;
  for (std::size_t next = 0; next < executions.size();) {
    const pbft::Execution& first = executions[next];
    const auto batch = first.sigma == 0 ? std::optional<pbft::PrePrepareMessage>()
                                        : pbft::decode_pre_prepare(*first.storage, replicas);
    if (!batch) {
      all.push_back(executions[next++]);
      continue;
    }
    const pbft::Sigma sequence = first.sigma >> 16;
    for (std::size_t index = 0; index < batch->requests.size(); ++index) {
      const pbft::Sigma sigma = (sequence << 16) | index;
      if (next < executions.size() && executions[next].sigma == sigma) {
        all.push_back(executions[next++]);
      } else {
        all.push_back({0, sigma, false, first.tentative, first.storage,
                       batch->requests[index].operation, first.input, nullptr});
      }
    }
  }
  return all;
}

void check_signature_of(ByteView frame, const pbft::KeyRing& keys) {
  const auto claim = pbft::decode_checkpoint(frame);
  if (claim) (void)keys.verify_signature(claim->replica, sha256(claim->content), claim->signature);
  const auto rejoin = pbft::decode_rejoin(frame);
  if (rejoin) {
    (void)keys.verify_signature(rejoin->replica, sha256(rejoin->content), rejoin->signature);
  }
}

void hash_again(ByteView frame) {
  constexpr int kTimes = 500'000;
  for (int i = 0; i < kTimes; ++i)
    (void)sha256(frame);
}

void pass_on(const pbft::Frame& frame, std::uint32_t replicas, pbft::ReplicaActions& actions) {
  for (NodeId to = 0; to < replicas; ++to)
    actions.sends.push_back({to, 0, frame});
}

std::optional<NodeId> named_in_view_change(ByteView frame, std::uint32_t replicas) {
  const auto sealed = pbft::decode_sealed(frame, replicas);
  const auto header = pbft::peek_header(sealed ? sealed->frame : frame);
  if (!header || header->type != pbft::MessageType::view_change) return std::nullopt;
  return header->sender;
}

bool is_of_correct_client(const Scenario& scenario, ByteView frame) {
  const auto header = pbft::peek_header(frame);
  return header && header->type == pbft::MessageType::request && is_client(header->sender) &&
         header->sender < kFirstClientId + scenario.clients;
}

void RepeatedReplies::answer_again(ByteView frame, pbft::ReplicaActions& actions) {
  for (const pbft::Outgoing& outgoing : actions.sends) {
    if (is_client(outgoing.to)) last_[{outgoing.to, outgoing.session}] = outgoing;
  }
  const auto header = pbft::peek_header(frame);
  if (!header || header->type != pbft::MessageType::request) return;
  const auto last = last_.find({header->sender, header->session});
  if (last != last_.end()) actions.sends.push_back(last->second);
}

}  // namespace prophecy::simulation
