// Which request an answer on a shared connection belongs to.
#include "http/pipeline/answer_queue.hpp"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

namespace prophecy::http {
namespace {

struct NamedAsk : QueuedAsk {
  char name = 0;
  bool wanted = true;
  int sent = 0;  // of two parts

  [[nodiscard]] bool is_wanted() const { return wanted; }
  [[nodiscard]] bool has_left() const { return sent > 0; }
  [[nodiscard]] bool is_sent() const { return sent == 2; }
  void forget() { wanted = false; }
};

struct QueueWorld {
  AnswerQueue<NamedAsk> queue;
  TimePoint now = TimePoint{} + seconds(100);

  void push(const std::string& names, int sent = 2) {
    for (const char name : names) {
      NamedAsk ask;
      ask.name = name;
      ask.since = now;
      ask.expected = {.time = milliseconds(1), .bytes = 100};
      queue.push(ask);
      queue.back().sent = sent;
    }
  }
  Leaving leave(char name, bool is_in_record = false) {
    const auto found =
        std::find_if(queue.begin(), queue.end(), [&](const auto& ask) { return ask.name == name; });
    REQUIRE(found != queue.end());
    return queue.leave(found, is_in_record);
  }
  // The owners of all answers that come; '-' for one that is skipped.
  std::string answer_all() {
    std::string owners;
    while (!queue.empty()) {
      const NamedAsk ask = queue.pop();
      owners += ask.is_wanted() ? ask.name : '-';
    }
    return owners;
  }
};

}  // namespace

TEST_CASE("Answers belong to the requests in their order") {
  QueueWorld world;
  CHECK_FALSE(world.queue.may_begin());
  world.push("abc");
  CHECK(world.queue.may_begin());
  CHECK(world.queue.may_go_on());
  CHECK(world.answer_all() == "abc");
  CHECK_FALSE(world.queue.may_begin());
}

TEST_CASE("Bytes that nothing was sent for belong to nobody") {
  QueueWorld world;
  world.push("a", 0);
  CHECK_FALSE(world.queue.may_begin());
  world.queue.front().sent = 1;
  CHECK(world.queue.may_begin());
  CHECK_FALSE(world.queue.may_go_on());
  world.push("b", 0);
  CHECK_FALSE(world.queue.may_go_on());
  world.queue.back().sent = 1;
  CHECK(world.queue.may_go_on());
}

TEST_CASE("A request whose owner leaves keeps its place once it was sent") {
  QueueWorld world;
  world.push("abc");
  const char leaving = GENERATE('a', 'b', 'c');
  CHECK(world.leave(leaving) == Leaving::goes_on);
  std::string expected = "abc";
  std::replace(expected.begin(), expected.end(), leaving, '-');
  CHECK(world.answer_all() == expected);
}

TEST_CASE("A request that was not sent leaves nothing behind") {
  QueueWorld world;
  world.push("a");
  world.push("bc", 0);
  CHECK(world.leave('b') == Leaving::goes_on);
  CHECK(world.queue.size() == 2);
  CHECK(world.answer_all() == "ac");
}

TEST_CASE("A request that was sent in part ends the connection when its owner leaves") {
  QueueWorld world;
  world.push("a");
  world.push("b", 1);
  SECTION("by what is sent") {
    CHECK(world.leave('b') == Leaving::ends);
  }
  SECTION("by what may be in a record of TLS") {
    world.push("c", 0);
    CHECK(world.leave('c', true) == Leaving::ends);
  }
}

TEST_CASE("A connection on which nobody waits any more ends") {
  QueueWorld world;
  world.push("ab");
  CHECK(world.leave('a') == Leaving::goes_on);
  CHECK(world.leave('b') == Leaving::ends);
}

TEST_CASE("What is expected in front of a read is what has not come yet") {
  QueueWorld world;
  world.push("abc");
  CHECK(world.queue.expected().time == milliseconds(3));
  CHECK(world.queue.expected().bytes == 300);
  static_cast<void>(world.queue.pop());
  CHECK(world.queue.expected().bytes == 200);
  static_cast<void>(world.queue.pop_back());
  CHECK(world.queue.expected().time == milliseconds(1));
  // One that is skipped is still to come.
  world.push("d");
  CHECK(world.leave('d') == Leaving::goes_on);
  CHECK(world.queue.expected().bytes == 200);
}

TEST_CASE("A read behind others that waits for too long is overdue, and the first one never is") {
  QueueWorld world;
  world.push("a");
  world.now += milliseconds(10);
  world.push("bc");
  const TimePoint then = world.now;
  CHECK(world.queue.find_overdue(then + OriginPace::kWaitMax) == world.queue.end());
  const TimePoint late = then + OriginPace::kWaitMax + milliseconds(1);
  const auto found = world.queue.find_overdue(late);
  REQUIRE(found != world.queue.end());
  CHECK(found->name == 'b');
  CHECK(world.queue.leave(found) == Leaving::goes_on);
  CHECK(world.queue.find_overdue(late)->name == 'c');
  CHECK(world.leave('c') == Leaving::goes_on);
  CHECK(world.queue.find_overdue(late) == world.queue.end());
  CHECK(world.queue.wanted_behind() == 0);
}

}  // namespace prophecy::http
