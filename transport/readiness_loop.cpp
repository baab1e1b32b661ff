#include "transport/readiness_loop.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/assert.hpp"

namespace prophecy::transport {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kBatchMax = 64;
// Beyond so many calls, the loop's other work has its turn.
constexpr int kBatchesMax = 4;
constexpr std::uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

}  // namespace

ReadinessLoop& ReadinessLoop::of(asio::io_context& loop) {
  return asio::use_service<ReadinessLoop>(loop);
}

ReadinessLoop::ReadinessLoop(asio::io_context& loop) : service(loop), epoll_(loop) {
  const int fd = ::epoll_create1(EPOLL_CLOEXEC);
  ASSERT(fd >= 0);
  epoll_.assign(fd);
}

void ReadinessLoop::shutdown() {
  boost::system::error_code ignored;
  epoll_.close(ignored);
}

bool ReadinessLoop::add(int socket, ReadinessHandler& handler) {
  epoll_event event{};
  event.events = kEvents;
  event.data.ptr = &handler;
  if (::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, socket, &event) != 0) return false;
  handler.watched_ = true;
  ++watched_;
  wait();
  return true;
}

void ReadinessLoop::call_again(ReadinessHandler& handler) {
  if (std::exchange(handler.called_again_, true)) return;
  if (again_.empty()) asio::post(epoll_.get_executor(), [this] { take_again(); });
  again_.push_back(&handler);
}

void ReadinessLoop::forget(ReadinessHandler& handler) {
  for (epoll_event& event : batch_) {
    if (event.data.ptr == &handler) event.data.ptr = nullptr;
  }
  for (auto* list : {&again_, &taken_again_})
    std::replace(list->begin(), list->end(), &handler, static_cast<ReadinessHandler*>(nullptr));
  handler.called_again_ = false;
  if (!std::exchange(handler.watched_, false) || --watched_ > 0) return;
  boost::system::error_code ignored;
  epoll_.cancel(ignored);
}

void ReadinessLoop::wait() {
  if (watched_ == 0 || std::exchange(waiting_, true)) return;
  epoll_.async_wait(asio::posix::stream_descriptor::wait_read,
                    [this](const boost::system::error_code& error) {
                      waiting_ = false;
                      if (!error) turn();
                      if (epoll_.is_open()) wait();
                    });
}

void ReadinessLoop::turn() {
  for (int batches = 0; batches < kBatchesMax; ++batches) {
    if (!take_events()) return;
  }
}

bool ReadinessLoop::take_events() {
  std::array<epoll_event, kBatchMax> events;
  const int count = ::epoll_wait(epoll_.native_handle(), events.data(), kBatchMax, 0);
  if (count <= 0) return false;
  batch_ = {events.data(), static_cast<std::size_t>(count)};
  for (const epoll_event& event : batch_) {
    // Read at its turn: an earlier one may have forgotten it.
    if (event.data.ptr != nullptr)
      static_cast<ReadinessHandler*>(event.data.ptr)->on_ready(event.events);
  }
  batch_ = {};
  return count == static_cast<int>(kBatchMax);
}

void ReadinessLoop::take_again() {
  taken_again_.swap(again_);
  for (ReadinessHandler* handler : taken_again_) {
    if (handler == nullptr) continue;
    handler->called_again_ = false;
    handler->on_ready(0);
  }
  taken_again_.clear();
}

}  // namespace prophecy::transport
