// Deadlines for many objects at a constant price. All entries of one queue wait equally long (but
// see arm_for), so the one armed first expires first: arming and disarming are a few pointer
// writes, and one coarse ticker a process serves all queues. An entry waits in one queue at a time.
//
// Not thread-safe. An entry disarms itself when it is destroyed; a queue outlives its entries.
#pragma once

#include <cstddef>
#include <optional>

#include "base/assert.hpp"
#include "base/clock.hpp"

namespace prophecy {

class TimeoutQueue;

class TimeoutEntry {
 public:
  TimeoutEntry() = default;
  TimeoutEntry(const TimeoutEntry&) = delete;
  TimeoutEntry& operator=(const TimeoutEntry&) = delete;

  void disarm() {
    if (previous_ == nullptr) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    previous_ = next_ = nullptr;
  }
  [[nodiscard]] bool armed() const { return previous_ != nullptr; }
  // Its time is over at once. REQUIRES: armed.
  void expire() {
    disarm();
    on_timeout();
  }
  // Likewise, to make room for others. REQUIRES: armed.
  void give_way() {
    disarm();
    on_give_way();
  }
  // Likewise, for its place alone. REQUIRES: armed and is_idle().
  void give_place() {
    disarm();
    on_give_place();
  }
  // It has waited for so long now: whether that is only for its peer to begin something, and its
  // end costs nobody an answer.
  [[nodiscard]] virtual bool is_idle(Duration /*waited*/) const { return false; }
  // What its end would free, for whoever has to choose whose time is over sooner.
  [[nodiscard]] virtual std::size_t held_bytes() const { return 0; }

 protected:
  virtual ~TimeoutEntry() { disarm(); }
  // The entry is disarmed already. May destroy the entry.
  virtual void on_timeout() = 0;
  // Likewise, for one that may go on when its time is over.
  virtual void on_give_way() { on_timeout(); }
  // Likewise, for one that is_idle().
  virtual void on_give_place() { on_timeout(); }

 private:
  friend class TimeoutQueue;
  TimeoutEntry* previous_ = nullptr;
  TimeoutEntry* next_ = nullptr;
  TimePoint deadline_;
};

class TimeoutQueue {
 public:
  explicit TimeoutQueue(Duration length) : length_(length) {
    head_.previous_ = head_.next_ = &head_;
  }
  TimeoutQueue(const TimeoutQueue&) = delete;
  TimeoutQueue& operator=(const TimeoutQueue&) = delete;
  ~TimeoutQueue() {
    while (head_.next_ != &head_)
      head_.next_->disarm();
  }

  // Takes the entry out of whatever queue it waits in, and starts its time anew.
  void arm(TimeoutEntry& entry, TimePoint now) {
    entry.disarm();
    entry.deadline_ = now + length_;
    entry.previous_ = head_.previous_;
    entry.next_ = &head_;
    head_.previous_->next_ = &entry;
    head_.previous_ = &entry;
  }

  // For another time than the others. Never before those that were armed earlier.
  void arm_for(TimeoutEntry& entry, TimePoint now, Duration length) {
    arm(entry, now);
    entry.deadline_ = now + length;
  }

  // When the entry that was armed first expires.
  [[nodiscard]] std::optional<TimePoint> next() const {
    if (head_.next_ == &head_) return std::nullopt;
    return head_.next_->deadline_;
  }

  // Calls on_timeout() of every entry whose time is over.
  void expire(TimePoint now) {
    while (head_.next_ != &head_ && head_.next_->deadline_ <= now)
      head_.next_->expire();
  }

  // Expires every entry that is armed now, however long it has yet to wait. Those that are armed
  // meanwhile stay.
  void expire_all() {
    if (head_.next_ == &head_) return;
    Head due;
    due.next_ = head_.next_;
    due.previous_ = head_.previous_;
    due.next_->previous_ = due.previous_->next_ = &due;
    head_.next_ = head_.previous_ = &head_;
    while (due.next_ != &due)
      due.next_->expire();
  }

  // Calls `visit(entry, when it was armed)`, those first that were armed first. It may not change
  // the queue. (Of arm_for's entries, the time is that at which the others of the same deadline
  // were.)
  template <class Visit>
  void for_each(Visit visit) const {
    for_each_while([&visit](TimeoutEntry& entry, TimePoint armed) {
      visit(entry, armed);
      return true;
    });
  }
  // Likewise, until `visit` yields false.
  template <class Visit>
  void for_each_while(Visit visit) const {
    for (TimeoutEntry* entry = head_.next_; entry != &head_; entry = entry->next_) {
      if (!visit(*entry, entry->deadline_ - length_)) return;
    }
  }

 private:
  struct Head final : TimeoutEntry {
    void on_timeout() override { UNREACHABLE(); }
  };

  Duration length_;
  Head head_;
};

}  // namespace prophecy
