#include "pbft/core/request_queue.hpp"

#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {

bool RequestQueue::add(const RequestMessage& request, ByteView frame, const Digest& digest) {
  std::uint64_t& client_requests = requests_of_client_[request.client];
  std::uint64_t& client_bytes = bytes_of_client_[request.client];
  if (requests_ >= settings_.queue_requests_max ||
      client_requests >= settings_.queue_requests_max / 2) {
    return false;
  }
  // One request is always allowed to wait, however large.
  if (bytes_ + frame.size() > settings_.queue_bytes_max ||
      (client_bytes > 0 && client_bytes + frame.size() > settings_.queue_bytes_max / 2)) {
    return false;
  }
  if (batches_.empty() || batches_.back().builder.count() >= settings_.batch_requests_max ||
      batches_.back().builder.size() + frame.size() > settings_.batch_bytes_max) {
    batches_.push_back({PrePrepareBuilder(frame.size() + 4 + authenticator_size_), {}});
  }
  Batch& batch = batches_.back();
  const std::size_t start = batch.builder.append(frame, digest);
  const auto within = static_cast<std::size_t>(request.operation.data() - frame.data());
  batch.requests.push_back({request.client, request.session, request.timestamp, request.replier,
                            static_cast<std::uint32_t>(start + within),
                            static_cast<std::uint32_t>(request.operation.size()),
                            static_cast<std::uint32_t>(frame.size())});
  ++requests_;
  ++client_requests;
  bytes_ += frame.size();
  client_bytes += frame.size();
  return true;
}

bool RequestQueue::first_is_full() const {
  ASSERT(!batches_.empty());
  const PrePrepareBuilder& first = batches_.front().builder;
  return batches_.size() > 1 || first.count() >= settings_.batch_requests_max ||
         first.size() >= settings_.batch_bytes_max;
}

void RequestQueue::clear() {
  batches_.clear();
  requests_of_client_.clear();
  bytes_of_client_.clear();
  requests_ = 0;
  bytes_ = 0;
}

RequestQueue::Batch RequestQueue::take() {
  ASSERT(!batches_.empty());
  Batch batch = std::move(batches_.front());
  batches_.pop_front();
  for (const BatchRequest& request : batch.requests) {
    --requests_;
    --requests_of_client_[request.client];
    bytes_ -= request.frame_size;
    bytes_of_client_[request.client] -= request.frame_size;
  }
  return batch;
}

}  // namespace prophecy::pbft
