// An HttpService, with a scripted origin in front of which it works.
#pragma once

#include <algorithm>
#include <fstream>
#include <vector>

#include <catch2/catch.hpp>

#include "pbft/services/http_service.hpp"
#include "state_runs.hpp"
#include "support/scripted_origin.hpp"

namespace prophecy::pbft::test {

using prophecy::test::answer;
using prophecy::test::ScriptedOrigin;
using prophecy::test::Step;

inline const std::string kGet = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n";
inline const std::string kPut = "PUT /a HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
inline const std::string kPost = "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
inline const Step kHangUp{"", true};
inline const Step kSilence{"", false};

struct Outcome {
  bool done = false;
  ExecutionStatus status = ExecutionStatus::done;
  Bytes result;

  [[nodiscard]] sketch::AnswerForm form() const {
    const auto decoded = sketch::decode(result);
    REQUIRE(decoded.has_value());
    return *decoded;
  }
};

struct World {
  explicit World(const Endpoint& origin, NodeId replica = 2, std::size_t connections = 4)
      : service(io_of(*this), settings(origin, replica, connections), profile) {}
  // The state is a folder.
  World(const Endpoint& origin, const std::filesystem::path& folder)
      : service(io_of(*this), settings(origin, folder), profile) {}
  explicit World(const HttpServiceSettings& settings) : service(io_of(*this), settings, profile) {
    REQUIRE(service.open().has_value());
  }
  ~World() { service.stop(); }

  static boost::asio::io_context& io_of(World& world) { return *world.io; }
  static HttpServiceSettings settings(const Endpoint& origin, NodeId replica,
                                      std::size_t connections) {
    HttpServiceSettings made;
    made.replica = replica;
    made.origin.address = origin;
    made.origin.connections_max = connections;
    made.times.connect = milliseconds(200);
    made.times.answer = milliseconds(200);
    made.origin.answer_limits.body_bytes_max = 1000;
    made.operation_bytes_max = 1 << 20;
    made.result_bytes_max = 1 << 20;
    return made;
  }

  static HttpServiceSettings settings(const Endpoint& origin, const std::filesystem::path& folder) {
    HttpServiceSettings made = settings(origin, 2, 4);
    made.state.kind = StateKind::directory;
    made.times.write_settle = milliseconds(500);
    made.state.folder.folder = folder;
    return made;
  }

  void start(const std::string& operation, Outcome& outcome) {
    Execution execution;
    execution.storage = std::make_shared<const Bytes>(to_bytes(operation));
    execution.operation = *execution.storage;
    service.execute(execution, [&outcome](ExecutionStatus status, Bytes result) {
      CHECK_FALSE(outcome.done);
      outcome = {true, status, std::move(result)};
    });
  }
  Outcome run(const std::string& operation) {
    Outcome outcome;
    start(operation, outcome);
    REQUIRE(run_until(*io, [&] { return outcome.done; }));
    return outcome;
  }

  static inline boost::asio::io_context* io = nullptr;
  sketch::Profile profile;
  HttpService service;
};

struct Loop {
  Loop() { World::io = &io; }
  boost::asio::io_context io{1};
};

// An origin that is down, until it comes back under the same address.
struct Absence {
  explicit Absence(Loop& loop) : io(loop.io) { address = ScriptedOrigin(io, {}).address(); }
  ScriptedOrigin& come_back(std::deque<Step> script) {
    origin = std::make_unique<ScriptedOrigin>(io, std::move(script), address);
    return *origin;
  }
  boost::asio::io_context& io;
  Endpoint address;
  std::unique_ptr<ScriptedOrigin> origin;
};

// A write that waits for its origin.
struct WaitingWrite {
  WaitingWrite(Loop& loop, const std::string& write) : absence(loop), world(absence.address) {
    world.start(write, outcome);
    REQUIRE(run_until(loop.io, [&] { return world.service.counters().repeated >= 2; }));
    CHECK_FALSE(outcome.done);
  }
  void wait_for_end() {
    REQUIRE(run_until(absence.io, [&] { return outcome.done; }));
  }
  Absence absence;
  World world;
  Outcome outcome;
};

}  // namespace prophecy::pbft::test
