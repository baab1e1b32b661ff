// A session with ZooKeeper by a script: an owner that calls anything, a server that says anything,
// from honest answers to rubbish, and time that passes. Whatever comes, each call ends once, the
// shell is asked for what it can do, and the next time lies ahead.
#include <map>
#include <string>

#include "choices.hpp"
#include "dht/zookeeper/core/session.hpp"
#include "expect.hpp"
#include "support/zookeeper_frames.hpp"

namespace {

using namespace prophecy;
using namespace prophecy::zookeeper;
using fuzz::Choices;

class World {
 public:
  World(const std::uint8_t* data, std::size_t size)
      : choices_(data, size), session_(settings(choices_), [this](std::uint32_t bound) {
          return static_cast<std::uint32_t>(choices_.byte()) % bound;
        }) {}

  void run() {
    session_.start(now_);
    take();
    while (!choices_.done())
      step();
    session_.close(now_);
    take();
    for (int i = 0; i < 2 && session_.state() != Session::State::closed; ++i)
      pass(session_.next_time() - now_);
    REQUIRE(session_.state() == Session::State::closed);
    REQUIRE(!has_connection_);
    for (const auto& [number, ends] : calls_)
      REQUIRE(ends == 1);
  }

 private:
  static SessionSettings settings(Choices& choices) {
    SessionSettings settings;
    settings.servers = 1 + choices.below(3);
    settings.identities.resize(choices.below(3), {"digest", "a:b"});
    return settings;
  }

  void step() {
    switch (choices_.below(12)) {
      case 0:
        return pass(milliseconds(choices_.byte() * 8));
      case 1:
        if (session_.next_time() != TimePoint::max()) pass(session_.next_time() - now_);
        return;
      case 2:
        if (has_connection_) session_.on_lost("cut", now_);
        return take();
      case 3:
        return open();
      case 4: {
        open();
        const auto id = static_cast<std::int64_t>(choices_.below(3));
        return receive(frames::welcome(id, 200 + choices_.byte() * 40));
      }
      case 5: {
        const auto xid = -static_cast<std::int32_t>(choices_.below(9));
        return receive(frames::answer(xid, code()));
      }
      case 6: {
        const auto type = static_cast<std::int32_t>(choices_.below(6));
        return receive(frames::event(type, path()));
      }
      case 7:
      case 8:
        calls_[next_number_] = 0;
        session_.call(next_number_++, request(), now_);
        return take();
      case 9: {
        const ErrorCode answered = code();
        return receive(frames::answer(++answered_, answered, body()));
      }
      case 10:
        return receive(frames::framed(to_bytes(choices_.bytes(choices_.byte()))));
      default:
        return receive(to_bytes(choices_.bytes(choices_.byte())));
    }
  }

  // The session asks for no earlier time than it has been given, time and again.
  void pass(Duration duration) {
    now_ += std::max(duration, Duration::zero());
    for (int i = 0; i < 4; ++i) {
      session_.on_time(now_);
      take();
    }
    REQUIRE(session_.next_time() > now_);
  }

  void open() {
    if (!has_connection_ || is_open_) return;
    is_open_ = true;
    session_.on_opened(now_);
    take();
  }

  // In pieces.
  void receive(const Bytes& bytes) {
    const std::size_t piece = 1 + choices_.byte();
    for (std::size_t at = 0; at < bytes.size() && is_open_; at += piece) {
      session_.on_bytes(ByteView(bytes).subspan(at, std::min(piece, bytes.size() - at)), now_);
      take();
    }
  }

  std::string path() { return choices_.one_of({"/", "/a", "/a/b", "/c", "no-path"}); }
  ErrorCode code() {
    return static_cast<ErrorCode>(
        choices_.one_of({0, 0, 0, 0, -1, -101, -103, -110, -112, -115, -118}));
  }

  Request request() {
    const bool watch = choices_.one_in(2);
    switch (choices_.below(8)) {
      case 0:
        return Create{path(), to_bytes(choices_.bytes(3)), watch};
      case 1:
        return Delete{path(), 1};
      case 2:
        return SetData{path(), to_bytes(choices_.bytes(3)), 2};
      case 3:
        return GetData{path(), watch};
      case 4:
        return GetChildren{path(), watch};
      case 5:
        return Exists{path(), watch};
      case 6:
        return Sync{path()};
      default: {
        Multi multi;
        for (std::size_t i = choices_.below(4); i > 0; --i) {
          multi.steps.push_back(
              choices_.one_of<Step>({Check{"/a", 1}, Create{"/b"}, SetData{"/a"}, Delete{"/c"}}));
        }
        return multi;
      }
    }
  }

  // Of some request, as a rule.
  Bytes body() {
    Bytes body;
    switch (choices_.below(7)) {
      case 0:
        return frames::stat(choices_.byte());
      case 1:
        return frames::data("text", choices_.byte());
      case 2:
        return frames::text(path());
      case 3:
        return {};
      case 4:
        JuteWriter(body).length(choices_.below(4));
        JuteWriter(body).string("child");
        return body;
      case 5:
        for (std::size_t i = choices_.below(4); i > 0; --i)
          frames::failed_step(body, code());
        frames::last_step(body);
        return body;
      default:
        return to_bytes(choices_.bytes(16));
    }
  }

  void take() {
    for (const Action& action : session_.take_actions()) {
      if (const auto* const connect = std::get_if<Connect>(&action)) {
        REQUIRE(!has_connection_);
        REQUIRE(connect->server < 3);
        has_connection_ = true;
      } else if (const auto* const send = std::get_if<Send>(&action)) {
        REQUIRE(is_open_);
        REQUIRE(send->bytes.size() <= kRequestBytesMax);
      } else if (std::holds_alternative<Disconnect>(action)) {
        REQUIRE(has_connection_);
        has_connection_ = is_open_ = false;
      } else if (const auto* const completion = std::get_if<Completion>(&action)) {
        const auto call = calls_.find(completion->number);
        REQUIRE(call != calls_.end());
        REQUIRE(++call->second == 1);
      }
    }
    const SessionCounters& counters = session_.counters();
    REQUIRE(counters.sessions <= counters.connections);
    REQUIRE(counters.connections <= counters.attempts);
    REQUIRE((session_.session_id() != 0) || session_.state() != Session::State::connected);
  }

  Choices choices_;
  TimePoint now_{seconds(1000)};
  bool has_connection_ = false;
  bool is_open_ = false;
  std::uint64_t next_number_ = 1;
  std::int32_t answered_ = 0;
  std::map<std::uint64_t, int> calls_;  // by number: how often each has ended
  Session session_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  World(data, size).run();
  return 0;
}
