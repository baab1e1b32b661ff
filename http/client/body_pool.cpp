#include "http/client/body_pool.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace prophecy::http {

void BodyPool::take(std::string& body, std::size_t size) {
  ASSERT(body.empty());
  const auto found = std::find_if(spare_.rbegin(), spare_.rend(), [&](const std::string& spare) {
    return spare.capacity() >= size;
  });
  if (found == spare_.rend()) return;
  bytes_ -= found->capacity();
  body = std::move(*found);
  spare_.erase(std::next(found).base());
  unused_ = std::min(unused_, spare_.size());
}

void BodyPool::give_back(std::string& body) {
  body.clear();
  if (body.capacity() <= bytes_max_ - bytes_) {
    bytes_ += body.capacity();
    spare_.push_back(std::move(body));
  }
  std::string().swap(body);  // an assignment would keep what was not moved
}

void BodyPool::free_unused() {
  const auto end = spare_.begin() + static_cast<std::ptrdiff_t>(unused_);
  for (auto spare = spare_.begin(); spare != end; ++spare)
    bytes_ -= spare->capacity();
  spare_.erase(spare_.begin(), end);
  unused_ = spare_.size();
}

}  // namespace prophecy::http
