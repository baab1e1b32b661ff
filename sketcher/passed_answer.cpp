#include "sketcher/passed_answer.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::sketcher {

void PassedAnswer::start(http::OriginExchange& exchange, std::uint64_t first, std::uint64_t size,
                         bool may_begin) {
  ASSERT(exchange_ == nullptr);
  exchange_ = &exchange;
  skip_ = first;
  left_ = size;
  writable_ = may_begin;
  if (left_ == 0) return finish(true);
  if (!writable_) exchange_->pause();
}

void PassedAnswer::on_progress(http::Response& response) {
  if (!writable_) return exchange_->pause();  // it stays where it is
  if (!pass(response.body)) return;
  exchange_->extend();
  if (!writable_) exchange_->pause();
}

void PassedAnswer::on_end(http::ExchangeEnd end, http::Response& response) {
  if (end != http::ExchangeEnd::answered) return finish(false);
  if (!writable_) {
    std::swap(rest_, response.body);
    return;
  }
  if (pass(response.body)) finish(false);  // it was shorter than it said
}

void PassedAnswer::on_writable() {
  if (exchange_ == nullptr || writable_) return;
  writable_ = true;
  if (exchange_->active()) return exchange_->resume();
  if (pass(rest_)) finish(false);
}

bool PassedAnswer::pass(std::string& body) {
  const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, body.size()));
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, body.size() - skipped));
  skip_ -= skipped;
  left_ -= size;
  std::swap(piece_, body);
  body.clear();
  const bool is_last = left_ == 0;
  if (size > 0) writable_ = owner_.on_passed_bytes(piece_, skipped, size);
  if (exchange_ != nullptr && is_last) finish(true);
  return exchange_ != nullptr;
}

void PassedAnswer::finish(bool whole) {
  exchange_->cancel();  // what comes behind is nobody's
  abandon();
  owner_.on_passed_end(whole);
}

void PassedAnswer::abandon() {
  exchange_ = nullptr;
  std::string().swap(piece_);
  std::string().swap(rest_);
}

}  // namespace prophecy::sketcher
