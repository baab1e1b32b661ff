#include "http/http2/stream.hpp"

namespace prophecy::http {

void Http2Stream::begin(std::int32_t id) {
  id_ = id;
  builder_.start(request);
  said_by_proxy.clear();
  body_bytes_ = held_bytes_ = arriving_bytes_ = 0;
  head_done_ = received_ = answered_ = request_ended_ = broken_off_ = is_incomplete_ = false;
  violation_told_ = false;
  left_ = 0;
}

void Http2Stream::close() {
  id_ = 0;
  unsent_ = {};
  std::string().swap(kept_);
}

void Http2Stream::release_fields(std::size_t bytes_max) {
  builder_.shrink(bytes_max);
  request.fields.clear_and_shrink(bytes_max);
  said_by_proxy.clear_and_shrink(bytes_max);
  if (request.body.capacity() > bytes_max) std::string().swap(request.body);
  request.large_body.reset();
}

void Http2Stream::release(std::size_t bytes_max) {
  release_fields(bytes_max);
  if (request.target.capacity() > bytes_max) std::string().swap(request.target);
}

}  // namespace prophecy::http
