// A Session between a scripted server and a recording owner.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "dht/zookeeper/core/encode.hpp"
#include "dht/zookeeper/core/session.hpp"
#include "support/zookeeper_frames.hpp"

namespace prophecy::zookeeper {

inline constexpr std::int64_t kSessionId = 0x1122334455667788;

struct World {
  explicit World(SessionSettings given = {}) : session(given, [](std::uint32_t) { return 0; }) {}

  TimePoint now{seconds(1000)};
  Session session;
  std::vector<std::size_t> connects;
  std::size_t disconnects = 0;
  bool has_connection = false;
  std::vector<Bytes> sent;
  std::vector<Completion> completions;
  std::vector<Report> reports;

  void take() {
    for (Action& action : session.take_actions()) {
      if (const auto* const connect = std::get_if<Connect>(&action)) {
        CHECK_FALSE(has_connection);
        has_connection = true;
        connects.push_back(connect->server);
      } else if (auto* const send = std::get_if<Send>(&action)) {
        CHECK(has_connection);
        sent.push_back(std::move(send->bytes));
      } else if (std::holds_alternative<Disconnect>(action)) {
        CHECK(has_connection);
        has_connection = false;
        ++disconnects;
      } else if (auto* const completion = std::get_if<Completion>(&action)) {
        completions.push_back(std::move(*completion));
      } else {
        reports.push_back(std::get<Report>(action));
      }
    }
  }
  void receive(const Bytes& bytes) {
    session.on_bytes(bytes, now);
    take();
  }
  void call(std::uint64_t number, Request request) {
    session.call(number, std::move(request), now);
    take();
  }
  void lose(const std::string& reason = "cut") {
    session.on_lost(reason, now);
    take();
  }
  // To the next time that the session has asked for.
  void wait() {
    REQUIRE(session.next_time() != TimePoint::max());
    now = std::max(now, session.next_time());
    session.on_time(now);
    take();
  }
  void wait_for(Duration duration) {
    now += duration;
    session.on_time(now);
    take();
  }
  void open() {
    session.on_opened(now);
    take();
  }
  // Until the server's word on the session is awaited.
  void reach_greeting() {
    if (connects.empty()) session.start(now);
    take();
    while (!has_connection)
      wait();
    open();
  }
  void connect(std::int32_t timeout_ms = 3000) {
    reach_greeting();
    receive(frames::welcome(kSessionId, timeout_ms));
    REQUIRE(session.state() == Session::State::connected);
  }
  [[nodiscard]] Report::Kind last() const {
    REQUIRE_FALSE(reports.empty());
    return reports.back().kind;
  }
  [[nodiscard]] std::size_t count(Report::Kind kind) const {
    std::size_t found = 0;
    for (const Report& report : reports)
      found += report.kind == kind ? 1 : 0;
    return found;
  }
};

}  // namespace prophecy::zookeeper
