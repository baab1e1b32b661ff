// `Calls` holds the requests that were sent on this connection and have no answer yet, in the order
// of sending, which is the order of answers. Bounded in number and in bytes.
#pragma once

#include <cstdint>
#include <deque>

#include "dht/zookeeper/core/limits.hpp"
#include "dht/zookeeper/core/request.hpp"

namespace prophecy::zookeeper {

class Calls {
 public:
  struct Call {
    std::uint64_t number = 0;
    std::int32_t xid = 0;
    std::size_t bytes = 0;  // as sent
    Request request;
  };

  [[nodiscard]] bool has_room_for(std::size_t bytes) const {
    return calls_.size() < kOutstandingMax && bytes <= kOutstandingBytesMax - bytes_;
  }
  // REQUIRES: has_room_for(call.bytes).
  void push(Call call) {
    bytes_ += call.bytes;
    watching_ += sets_watch(call.request) ? 1 : 0;
    calls_.push_back(std::move(call));
  }
  // REQUIRES: !empty().
  [[nodiscard]] const Call& front() const { return calls_.front(); }
  [[nodiscard]] Call pop() {
    Call call = std::move(calls_.front());
    calls_.pop_front();
    bytes_ -= call.bytes;
    watching_ -= sets_watch(call.request) ? 1 : 0;
    return call;
  }
  [[nodiscard]] bool empty() const { return calls_.empty(); }
  [[nodiscard]] std::size_t size() const { return calls_.size(); }
  // That may set a watch.
  [[nodiscard]] std::size_t watching() const { return watching_; }

 private:
  std::deque<Call> calls_;
  std::size_t bytes_ = 0;
  std::size_t watching_ = 0;
};

}  // namespace prophecy::zookeeper
