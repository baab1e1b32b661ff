#include "base/timeout_queue.hpp"

#include <vector>

#include <catch2/catch.hpp>

using namespace prophecy;

namespace {

const TimePoint kStart = TimePoint(std::chrono::hours(1));

struct Entry final : TimeoutEntry {
  Entry(std::vector<int>& log, int n) : expired(log), number(n) {}
  void on_timeout() override { expired.push_back(number); }
  std::vector<int>& expired;
  int number;
};

}  // namespace

TEST_CASE("Entries expire in the order in which they were armed") {
  std::vector<int> expired;
  TimeoutQueue queue(seconds(10));
  Entry one(expired, 1), two(expired, 2), three(expired, 3);
  CHECK_FALSE(queue.next().has_value());
  queue.arm(one, kStart);
  queue.arm(two, kStart + seconds(1));
  queue.arm(three, kStart + seconds(2));
  two.disarm();
  queue.arm(one, kStart + seconds(3));  // anew
  CHECK(queue.next() == kStart + seconds(12));
  queue.expire(kStart + seconds(12) - Duration(1));
  CHECK(expired.empty());
  queue.expire(kStart + seconds(13));
  CHECK(expired == std::vector<int>{3, 1});
  CHECK_FALSE(three.armed());
}

TEST_CASE("One with a time of its own waits for it, and for those in front of it") {
  std::vector<int> expired;
  TimeoutQueue queue(seconds(10));
  Entry one(expired, 1), two(expired, 2), three(expired, 3);
  queue.arm_for(one, kStart, seconds(5));
  queue.arm_for(two, kStart, seconds(1));
  queue.arm_for(three, kStart, seconds(7));
  CHECK(queue.next() == kStart + seconds(5));
  queue.expire(kStart + seconds(2));
  CHECK(expired.empty());
  queue.expire(kStart + seconds(5));
  CHECK(expired == std::vector<int>{1, 2});
  CHECK(queue.next() == kStart + seconds(7));
}

TEST_CASE("All that are armed expire at once, and those that are armed meanwhile stay") {
  struct Again final : TimeoutEntry {
    Again(TimeoutQueue& of, Entry& next) : queue(of), other(next) {}
    void on_timeout() override {
      ++count;
      queue.arm(*this, kStart);
      other.disarm();
    }
    TimeoutQueue& queue;
    Entry& other;
    int count = 0;
  };
  std::vector<int> expired;
  TimeoutQueue queue(seconds(10));
  queue.expire_all();
  Entry one(expired, 1), two(expired, 2), three(expired, 3);
  Again again(queue, two);
  queue.arm(one, kStart);
  queue.arm(again, kStart);
  queue.arm(two, kStart);
  queue.arm(three, kStart);
  queue.expire_all();
  CHECK(expired == std::vector<int>{1, 3});
  CHECK(again.count == 1);
  CHECK(again.armed());
  CHECK(queue.next() == kStart + seconds(10));
}

TEST_CASE("An entry can be made to expire before its time, and all can be looked at") {
  std::vector<int> expired;
  TimeoutQueue queue(seconds(10));
  Entry one(expired, 1), two(expired, 2), three(expired, 3);
  queue.arm(one, kStart);
  queue.arm(two, kStart + seconds(1));
  queue.arm(three, kStart + seconds(2));
  two.expire();
  CHECK(expired == std::vector<int>{2});
  CHECK_FALSE(two.armed());
  std::vector<std::pair<TimeoutEntry*, TimePoint>> seen;
  queue.for_each(
      [&seen](TimeoutEntry& entry, TimePoint armed) { seen.emplace_back(&entry, armed); });
  CHECK(seen == std::vector<std::pair<TimeoutEntry*, TimePoint>>{{&one, kStart},
                                                                 {&three, kStart + seconds(2)}});
}
