#include "simulation/hosts/defects.hpp"

#include "pbft/core/state/quorum.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"

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

}  // namespace prophecy::simulation
