#include <catch2/catch.hpp>

#include "dht/zookeeper/core/coordination_calls.hpp"

namespace prophecy::zookeeper {
namespace {

using dht::CoordinationCall;
using dht::CoordinationStatus;
using dht::WriteStep;

CoordinationCall read(std::uint64_t number, bool watches = false) {
  return {.number = number, .kind = CoordinationCall::Kind::read, .path = "/a", .watches = watches};
}

CoordinationCall write(std::uint64_t number) {
  return {.number = number,
          .kind = CoordinationCall::Kind::write,
          .steps = {{.kind = WriteStep::Kind::check, .path = "/view", .version = 4}}};
}

CoordinationStatus status_of(Outcome outcome, ErrorCode code) {
  CoordinationCalls calls;
  const auto requests = calls.begin(write(1));
  return calls.complete({.number = requests.at(0).number, .outcome = outcome, .code = code})
      ->status;
}

}  // namespace

TEST_CASE("A read is one request, and with a watch Exists goes before it") {
  CoordinationCalls calls;
  auto requests = calls.begin(read(7));
  REQUIRE(requests.size() == 1);
  CHECK(std::get<GetData>(requests[0].request) == GetData{"/a", false});
  Answer answer{.data = to_bytes("x"), .stat = {.version = 3, .ephemeral_owner = -2}};
  auto result =
      calls.complete({.number = requests[0].number, .outcome = Outcome::done, .answer = answer});
  REQUIRE(result);
  CHECK(result->number == 7);
  CHECK(result->status == CoordinationStatus::done);
  CHECK(result->data == to_bytes("x"));
  CHECK(result->version == 3);
  CHECK(result->owner_session == 0xfffffffffffffffe);

  requests = calls.begin(read(8, true));
  REQUIRE(requests.size() == 2);
  CHECK(std::get<Exists>(requests[0].request) == Exists{"/a", true});
  CHECK(std::get<GetData>(requests[1].request) == GetData{"/a", false});
  CHECK_FALSE(calls.complete(
      {.number = requests[0].number, .outcome = Outcome::refused, .code = ErrorCode::no_node}));
  result = calls.complete(
      {.number = requests[1].number, .outcome = Outcome::refused, .code = ErrorCode::no_node});
  REQUIRE(result);
  CHECK(result->status == CoordinationStatus::absent);
  CHECK(calls.under_way() == 0);
}

TEST_CASE("A read whose watch does not stand is not taken for one") {
  CoordinationCalls calls;
  const auto requests = calls.begin(read(8, true));
  CHECK_FALSE(calls.complete(
      {.number = requests[0].number, .outcome = Outcome::not_sent, .message = "too many watches"}));
  const auto result = calls.complete({.number = requests[1].number, .outcome = Outcome::done});
  REQUIRE(result);
  CHECK(result->status == CoordinationStatus::unknown);
  CHECK(result->message == "too many watches");
}

TEST_CASE("Calls under way are told apart") {
  CoordinationCalls calls;
  const auto first = calls.begin(read(1, true));
  const auto second = calls.begin(write(2));
  const auto third = calls.begin(
      {.number = 3, .kind = CoordinationCall::Kind::children, .path = "/", .watches = true});
  CHECK(std::get<GetChildren>(third.at(1).request) == GetChildren{"/", true});
  CHECK(calls.under_way() == 3);
  const auto complete = [&](const CoordinationCalls::Numbered& request) {
    return calls.complete({.number = request.number, .outcome = Outcome::done});
  };
  CHECK_FALSE(complete(first[0]));
  CHECK(complete(first[1])->number == 1);
  CHECK(complete(second[0])->number == 2);
  CHECK_FALSE(complete(third[0]));
  CHECK(complete(third[1])->number == 3);
}

TEST_CASE("A write is a transaction, of one step as well") {
  CoordinationCalls calls;
  CoordinationCall call = write(1);
  const auto add = [&](WriteStep::Kind kind) {
    call.steps.push_back({.kind = kind, .path = "/b", .version = 2, .data = to_bytes("d")});
  };
  using enum WriteStep::Kind;
  for (const auto kind : {create, create_ephemeral, set, remove})
    add(kind);
  const auto requests = calls.begin(call);
  REQUIRE(requests.size() == 1);
  const Bytes data = to_bytes("d");
  CHECK(std::get<Multi>(requests[0].request) ==
        Multi{{Check{"/view", 4}, Create{"/b", data, false}, Create{"/b", data, true},
               SetData{"/b", data, 2}, Delete{"/b", 2}}});
  CHECK(std::holds_alternative<Multi>(calls.begin(write(2)).at(0).request));
}

TEST_CASE("Outcomes become the ring's") {
  using enum CoordinationStatus;
  CHECK(status_of(Outcome::done, ErrorCode::ok) == done);
  CHECK(status_of(Outcome::unknown, ErrorCode::ok) == unknown);
  CHECK(status_of(Outcome::not_sent, ErrorCode::ok) == unknown);
  CHECK(status_of(Outcome::refused, ErrorCode::no_node) == absent);
  CHECK(status_of(Outcome::refused, ErrorCode::node_exists) == exists);
  CHECK(status_of(Outcome::refused, ErrorCode::bad_version) == wrong_version);
  CHECK(status_of(Outcome::refused, ErrorCode::no_auth) == refused);
  CHECK(status_of(Outcome::refused, ErrorCode::throttled) == unknown);
  CHECK(CoordinationCalls::event(Report::Kind::session_begun) == dht::SessionEvent::connected);
  CHECK(CoordinationCalls::event(Report::Kind::disconnected) == dht::SessionEvent::disconnected);
  CHECK(CoordinationCalls::event(Report::Kind::expired) == dht::SessionEvent::expired);
  CHECK_FALSE(CoordinationCalls::event(Report::Kind::attempt_failed));
}

}  // namespace prophecy::zookeeper
