// The requests that wait at the primary, already laid out as the batches in which they will be
// proposed. First come, first served; one client can fill no more than half of the room.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "pbft/core/state/log.hpp"
#include "pbft/core/state/settings.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {

class RequestQueue {
 public:
  struct Batch {
    PrePrepareBuilder builder;
    std::vector<BatchRequest> requests;
    std::vector<BodyHandle> bodies;     // in the order of the requests that are by digest
    std::uint64_t operation_bytes = 0;  // of those
  };

  RequestQueue(const ReplicaSettings& settings, std::uint32_t replicas)
      : settings_(settings), authenticator_size_(replicas * kTagSize) {}

  // False when there is no room.
  // `body` is null but for a request by digest.
  [[nodiscard]] bool add(const RequestMessage& request, ByteView frame, const Digest& digest,
                         const BodyHandle& body);
  [[nodiscard]] bool empty() const { return batches_.empty(); }
  // Nothing more goes into the first batch. Requires !empty().
  [[nodiscard]] bool first_is_full() const;
  void clear();
  // To carry the group to its next checkpoint.
  [[nodiscard]] static Batch without_requests() { return {PrePrepareBuilder(0), {}, {}, 0}; }
  // Requires !empty().
  [[nodiscard]] Batch take();

  [[nodiscard]] std::uint64_t requests() const { return requests_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  const ReplicaSettings& settings_;
  std::size_t authenticator_size_;
  std::deque<Batch> batches_;
  std::unordered_map<NodeId, std::uint64_t> requests_of_client_;
  std::unordered_map<NodeId, std::uint64_t> bytes_of_client_;
  std::uint64_t requests_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace prophecy::pbft
