#include "pbft/core/ordering/request_queue.hpp"

#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {

bool RequestQueue::add(const RequestMessage& request, ByteView frame, const Digest& digest,
                       const BodyHandle& body) {
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
  const std::uint64_t by_digest = request.body ? request.body->size : 0;
  const auto is_full = [&](const Batch& batch) {
    return batch.builder.count() >= settings_.batch_requests_max ||
           batch.builder.size() + batch.operation_bytes + frame.size() + by_digest >
               settings_.batch_bytes_max;
  };
  if (batches_.empty() || is_full(batches_.back())) {
    batches_.push_back({PrePrepareBuilder(frame.size() + 4 + authenticator_size_), {}, {}, 0});
  }
  Batch& batch = batches_.back();
  const std::size_t start = batch.builder.append(frame, digest);
  const auto within = static_cast<std::size_t>(request.operation.data() - frame.data());
  batch.requests.push_back({request.client, request.session, request.timestamp, request.replier,
                            static_cast<std::uint32_t>(start + within), operation_bytes(request),
                            static_cast<std::uint32_t>(frame.size()), request.body.has_value()});
  if (request.body) batch.bodies.push_back(body);
  batch.operation_bytes += by_digest;
  ++requests_;
  ++client_requests;
  bytes_ += frame.size();
  client_bytes += frame.size();
  return true;
}

bool RequestQueue::first_is_full() const {
  ASSERT(!batches_.empty());
  const Batch& first = batches_.front();
  return batches_.size() > 1 || first.builder.count() >= settings_.batch_requests_max ||
         first.builder.size() + first.operation_bytes >= settings_.batch_bytes_max;
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
