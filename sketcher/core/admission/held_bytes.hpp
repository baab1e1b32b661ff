// What a worker holds for its clients in all, and the bound of it: of answers that they have not
// taken, or of requests that are not whole. Each session has a share, and says how much that is.
// Once it is too much, the worker is told, in a call of its own, and makes room
// (core/admission/shedding.hpp).
//
// Single-threaded, on the worker's loop.
#pragma once

#include <cstddef>
#include <functional>

#include "base/counter.hpp"

namespace prophecy::sketcher {

class HeldBytes {
 public:
  // `gauge` shows the bytes. `on_too_many` is called in the midst of a session's work, once until
  // it is rearmed.
  HeldBytes(std::size_t bytes_max, Counter& gauge, std::function<void()> on_too_many)
      : bytes_max_(bytes_max), gauge_(gauge), on_too_many_(std::move(on_too_many)) {}

  [[nodiscard]] bool too_many() const { return gauge_.get() > bytes_max_; }
  // So much is free that room need not be made again for the next few bytes.
  [[nodiscard]] bool has_spare() const { return gauge_.get() <= bytes_max_ - bytes_max_ / 8; }
  // What only waits may not take more: it is not there to be shed.
  [[nodiscard]] bool half_used() const { return gauge_.get() > bytes_max_ / 2; }
  void rearm() { told_ = false; }

  class Share {
   public:
    explicit Share(HeldBytes& all) : all_(all) {}
    ~Share() { set(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    void set(std::size_t bytes) {
      if (bytes == bytes_) return;
      all_.change(bytes_, bytes);
      bytes_ = bytes;
    }

   private:
    HeldBytes& all_;
    std::size_t bytes_ = 0;
  };

 private:
  void change(std::size_t from, std::size_t to) {
    gauge_.subtract(from);
    gauge_.add(to);
    if (!too_many() || told_) return;
    told_ = true;
    on_too_many_();
  }

  std::size_t bytes_max_;
  Counter& gauge_;
  std::function<void()> on_too_many_;
  bool told_ = false;
};

}  // namespace prophecy::sketcher
