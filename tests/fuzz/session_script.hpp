// A client's connection by a script: what it sends and takes, when, and when its requests are
// answered: in any order, in pieces, late, or never. The session holds no more than it may, and
// nothing once the connection is over.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "choices.hpp"
#include "expect.hpp"
#include "sketcher/core/admission/shedding.hpp"
#include "unit/sketcher/session_world.hpp"

namespace prophecy::sketcher::session_test {

// What a request was answered.
struct Given {
  std::string method;
  std::uint16_t status = 200;
  std::string body{};  // of a 200
  bool is_large = false;
};

template <class SessionKind>
class SessionScript {
 public:
  static constexpr std::size_t kEventsMax = 300;

  SessionScript(fuzz::Choices& choices, World& world, Client<SessionKind>& client)
      : choices_(choices), world_(world), client_(client) {}
  virtual ~SessionScript() = default;

  void run() {
    for (std::size_t event = 0; event < kEventsMax && !choices_.done(); ++event) {
      step();
      check();
    }
    settle();
    take_requests_back();
    check_answers(taken_);
    // Nothing is left of a client that is gone, once its reads have ended.
    if (!client_.over()) client_.reset();
    while (Handler* const handler = busy_handler([](const Handler&) { return true; })) {
      if (handler->has_begun) {
        handler->end_large(false);
      } else {
        handler->fail(503);
      }
    }
    world_.advance(std::chrono::hours(1));
    REQUIRE(client_.over());
    check();
  }

 protected:
  // What a client of this protocol would say.
  [[nodiscard]] virtual std::string fragment() = 0;
  // Where the protocol can.
  virtual void take_requests_back() {}
  // All that the client has got.
  virtual void check_answers(const std::string& taken) = 0;
  // Of answers, in the order in which they were given.
  [[nodiscard]] const std::vector<Given>& given() const { return given_; }
  // All that the session has to say is taken.
  void settle() {
    taken_ += client_.take_all();
    for (int turns = 0; client_.turn(); ++turns) {
      REQUIRE(turns < 10'000);
      taken_ += client_.take_all();
    }
  }
  // Of this client's requests.
  [[nodiscard]] std::uint64_t arriving() const {
    return world_.counters.arriving_bytes.get() - others_arriving_.bytes();
  }
  // The client has sent bytes that need not be of the protocol.
  [[nodiscard]] bool is_odd() const { return is_odd_; }

  fuzz::Choices& choices_;
  World& world_;
  Client<SessionKind>& client_;

 private:
  static constexpr std::size_t kAnswerBytesMax = 600'000;
  static constexpr std::size_t kBodyBytesMax = 1 << 20;       // of an answer, held
  static constexpr std::uint64_t kRequestBytesMax = 4 << 20;  // before they go to a file

  void step() {
    switch (choices_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return client_.over() ? void() : client_.send(fragment());
      case 4:
        is_odd_ = true;
        return client_.over() ? void() : client_.send(choices_.bytes(choices_.below(48)));
      case 5:
      case 6:
      case 7:
        return answer();
      case 8:
      case 9:
        return go_on();
      case 10:
        return world_.advance(
            choices_.one_of<Duration>({milliseconds(1), milliseconds(200), seconds(1), seconds(9),
                                       seconds(10), seconds(20), seconds(30), seconds(60)}));
      case 11:
        return take(choices_.one_of<std::size_t>({1, 100, 4096, 100'000}));
      case 12:
        taken_ += client_.take_all();
        return;
      case 13:
        static_cast<void>(client_.turn());
        return;
      case 14:
        return change_modes();
      default:
        return trouble();
    }
  }

  // The kernel says that there is room at the latest when it holds nothing more.
  void take(std::size_t bytes) {
    const bool is_quiet = choices_.one_in(4) && bytes < client_.queued().size();
    taken_ += client_.take(bytes, is_quiet);
  }

  // One of those under way; null: there is none.
  [[nodiscard]] Handler* busy_handler(bool (*is_wanted)(const Handler&)) {
    std::vector<Handler*> busy;
    for (Handler* handler : world_.handlers()) {
      if (handler->busy && is_wanted(*handler)) busy.push_back(handler);
    }
    return busy.empty() ? nullptr : busy[choices_.below(busy.size())];
  }

  void answer() {
    Handler* const handler = busy_handler([](const Handler& one) { return !one.relays; });
    if (handler == nullptr) return;
    const std::uint8_t how = choices_.byte();
    // HEAD is answered as a whole.
    if (how % 8 == 6 && handler->method != "HEAD") return begin_large(*handler);
    if (how % 8 == 7) {
      const auto status = choices_.one_of<std::uint16_t>({503, 502, 421, 400});
      note({.method = handler->method, .status = status});
      return handler->fail(status);
    }
    const auto size = choices_.one_of<std::size_t>({0, 1, 50, 5'000, 140'000, 700'000});
    std::string body(size, static_cast<char>('a' + given_.size() % 26));
    note({.method = handler->method, .body = body});
    handler->answer(std::move(body));
  }
  void begin_large(Handler& handler) {
    if (handler.has_left()) return handler.fail(503);
    static_cast<void>(handler.may_begin_large(256 << 10));
    to_come_[&handler] = 0;
  }

  // Of an answer in blocks: its head, some more of it, or its end.
  void go_on() {
    Handler* const handler = busy_handler([](const Handler& one) { return one.relays; });
    if (handler == nullptr) return;
    const std::uint8_t how = choices_.byte();
    std::uint64_t& to_come = to_come_[handler];
    if (handler->has_begun && how < 8) return handler->end_large(false);  // origins break off
    if (!handler->has_room) return;
    if (!handler->has_begun) {
      const std::uint64_t size = 1 + choices_.below(64) * (kAnswerBytesMax / 64);
      to_come = handler->wanted_of_large(size);
      note({.method = handler->method, .is_large = true});
      handler->begin_large(size);
    } else {
      const auto part = std::min<std::uint64_t>(to_come, 1 + choices_.below(16) * (16U << 10));
      to_come -= part;
      static_cast<void>(handler->part_of_large(std::string(part, 'L')));
    }
    // The session may be gone, and the request with it.
    const bool goes_on = is_there(handler) && handler->busy && handler->relays;
    if (goes_on && handler->has_begun && to_come == 0) handler->end_large();
  }

  void change_modes() {
    if (world_.handlers().empty()) return;
    Handler& handler = *world_.handlers()[choices_.below(world_.handlers().size())];
    const std::uint8_t how = choices_.byte();
    handler.group = how % 2 == 1;
    // An answer at once is not noted.
    handler.refusal = how % 16 == 15 ? std::optional(sketch::Refusal{405, "test"}) : std::nullopt;
    handler.tunnels = how >= 250;
  }

  void trouble() {
    const std::uint8_t how = choices_.byte();
    // Other connections take what all have.
    if (how < 32) return others_arriving_.set(how % 2 == 0 ? 0 : 600 << 10);
    if (how < 64) return others_asking_.set(how % 2 == 0 ? 0 : 2 << 20);
    if (how < 128) {
      const auto ends_after_one = [] { return true; };
      static_cast<void>(
          shed({&world_.timeouts_of.send, &world_.timeouts_of.body, &world_.timeouts_of.header},
               world_.now, ends_after_one));
      return;
    }
    if (client_.over()) return;
    if (how < 160) return client_.drain();
    if (how < 192) {
      static_cast<void>(shed({&world_.timeouts_of.send, &world_.timeouts_of.body}, world_.now,
                             [] { return false; }));
      return;
    }
    if (how < 240) return client_.end_sending();
    client_.reset();
  }

  void check() const {
    const std::uint64_t asking = world_.counters.asking_bytes.get() - others_asking_.bytes();
    REQUIRE(arriving() <= kRequestBytesMax);
    REQUIRE(asking <= kRequestBytesMax);
    REQUIRE(world_.counters.untaken_bytes.get() <=
            kRequestBytesMax + given_.size() * kBodyBytesMax);
    if (!client_.over()) return;
    REQUIRE(arriving() == 0);
    REQUIRE(asking == 0);
    REQUIRE(world_.counters.untaken_bytes.get() == 0);
    REQUIRE(!world_.waits());
    REQUIRE(std::none_of(world_.handlers().begin(), world_.handlers().end(),
                         [](const Handler* handler) { return handler->busy; }));
  }

  [[nodiscard]] bool is_there(const Handler* handler) const {
    const auto& all = world_.handlers();
    return std::find(all.begin(), all.end(), handler) != all.end();
  }
  void note(Given given) {
    if (!client_.over()) given_.push_back(std::move(given));
  }

  HeldBytes::Share others_arriving_{world_.arriving};
  HeldBytes::Share others_asking_{world_.asking};
  bool is_odd_ = false;
  std::vector<Given> given_;
  std::map<const Handler*, std::uint64_t> to_come_;  // of answers in blocks
  std::string taken_;
};

}  // namespace prophecy::sketcher::session_test
