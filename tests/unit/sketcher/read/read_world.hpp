// Clients' requests in the core of their reads, in virtual time: origins, the group and the client
// do what a test says, and each action of the core is noted as a line of text. The world checks of
// every request that it has one end, nothing behind that, and no exchange or timer left over.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "http/parser.hpp"
#include "shared_reads_world.hpp"
#include "sketcher/core/read/history_key.hpp"
#include "sketcher/core/read/read_machine.hpp"

namespace prophecy::sketcher::read_test {

using http::ExchangeEnd;
using shared_reads_test::ReplicatedFailure;
using Lines = std::vector<std::string>;

inline constexpr std::string_view kClient = "192.0.2.1";  // the constant one
inline constexpr std::string_view kAgent = "User-Agent: curl\r\n";

// Without fields of its own, a request is the one that the group is asked: it has no exceptions.
inline sketch::RequestForm form_of(const std::string& method, const std::string& lines,
                                   const std::string& target = "/") {
  http::Request request;
  const http::MessageLimits limits;
  http::RequestParser parser(request, limits);
  const std::string agent = lines.empty() ? "User-Agent: Prophecy\r\n" : "";
  const std::string text =
      method + " " + target + " HTTP/1.1\r\nHost: a\r\n" + agent + lines + "\r\n";
  const auto head = parser.feed(text);
  REQUIRE(parser.feed(std::string_view(text).substr(head.consumed)).state ==
          http::ParseState::complete);
  sketch::RequestCanonicalizer canonicalizer;
  sketch::RequestForm form;
  const sketch::RequestContext context{.client_address = kClient};
  REQUIRE_FALSE(canonicalizer.locate(request, context, form).has_value());
  REQUIRE_FALSE(canonicalizer.canonicalize(request, context, {}, form).has_value());
  return form;
}

inline http::Response response_of(std::string body, std::uint16_t status = 200) {
  http::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

// A body of `blocks` blocks, each of another letter, and some bytes of one more.
inline constexpr std::uint32_t kBlock = sketch::kBlockBytesMin;
inline std::string body_of_blocks(std::size_t blocks, std::size_t more = 0) {
  std::string body;
  for (std::size_t i = 0; i < blocks; ++i)
    body.append(kBlock, static_cast<char>('a' + i));
  return body.append(more, 'z');
}

class ReadWorld : public shared_reads_test::World {
 public:
  using World::World;

  // The list of blocks that the group agrees on for this body.
  [[nodiscard]] Bytes list_of(const std::string& body) {
    sketch::BlockHasher hasher(kBlock);
    REQUIRE(hasher.update(body));
    const Bytes empty = encoded("", 200);
    sketch::AnswerForm form = *sketch::decode(empty);
    form.blocks = hasher.finish();
    return sketch::encode(form);
  }
  [[nodiscard]] Sketch sketch_of_list(const Bytes& list) const {
    return function.of(*sketch::decode(list));
  }
  void remember(const Sketch& key, const Sketch& answer, Sigma sigma = 1) {
    REQUIRE(table.update(key, answer, sigma) != UpdateOutcome::older);
  }
  [[nodiscard]] std::uint64_t ended(NodeId origin, ExchangeEnd end) const {
    return origins[origin].exchanges[static_cast<std::size_t>(end)].get();
  }

  LargeCounters large{};
  WorkerReads worker{.routes = {{.group = &core}},
                     .large = large,
                     .answer_bytes_max = 1 << 20,
                     .target_bytes_max = 1 << 10};
};

// Of a sketcher that shares a site with others.
struct RingWorld : ReadWorld {
  RingWorld() : ReadWorld(VolatilityLimits::never(), Ring::of_others) {}
};
constexpr dht::Span kLease = ReadWorld::lease;

class Reader final : private SharedReadWaiter {
 public:
  explicit Reader(ReadWorld& in) : world(in), machine(in.worker, *this) {}
  ~Reader() { leave(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void start(const std::string& method = "GET", const std::string& lines = "",
             const std::string& target = "/") {
    form = form_of(method, lines, target);
    request.form = &form;
    method_ = method;
    request.method = method_;
    request.scheme = "http";
    request.counters = &world.counters;
    ends = 0;
    body.clear();
    wires.clear();
    machine.start(request, world.core, world.now);
    perform();
  }
  // What the history holds of a GET without further fields.
  [[nodiscard]] Sketch key(const std::string& lines = "", const std::string& target = "/") const {
    return history_key(world.floors, world.function, form_of("GET", lines, target));
  }

  // ---- Events.
  void answer(std::uint8_t slot, http::Response response) {
    end_exchange(slot);
    machine.on_origin_answer(slot, response, world.now);
    perform();
  }
  void answer(const std::string& text, std::uint16_t status = 200) {
    answer(0, response_of(text, status));
  }
  void fail(std::uint8_t slot, ExchangeEnd end) {
    end_exchange(slot);
    machine.on_origin_failure(slot, end, world.now);
    perform();
  }
  void fail(ExchangeEnd end) { fail(0, end); }
  void progress(http::Response& response, std::uint8_t slot = 0) {
    REQUIRE(is_asked[slot]);
    machine.on_origin_progress(slot, response, world.now);
    perform();
  }
  void group_answer(const std::string& text, Sigma sigma, std::uint16_t status = 200) {
    group_answer_in(world.encoded(text, status), sigma);
  }
  void group_answer_in(Bytes encoded, Sigma sigma) {
    REQUIRE(std::exchange(asks_group, false));
    const auto answer = shared_reads_test::World::answer_of(std::move(encoded), sigma);
    machine.on_group_answer(answer);
    perform();
  }
  void group_failure(ReplicatedFailure failure) {
    REQUIRE(std::exchange(asks_group, false));
    machine.on_group_failure(failure);
    perform();
  }
  void deadline(ReadMachine::Ends ends_of = {ExchangeEnd::timed_out, ExchangeEnd::timed_out}) {
    REQUIRE(std::exchange(has_deadline, false));
    machine.on_deadline(ends_of);
    perform();
  }
  void floor_raised(std::size_t index) {
    REQUIRE(raises_floors);
    machine.on_floor_raised(index);
    perform();
  }
  void floor_time() {
    REQUIRE(raises_floors);
    machine.on_floor_time();
    perform();
  }
  void hedge_time() {
    REQUIRE(std::exchange(has_hedge, false));
    machine.on_hedge_time(world.now);
    perform();
  }
  void untaken_time() {
    REQUIRE(std::exchange(has_untaken, false));
    machine.on_untaken_time();
    perform();
  }
  void writable() {
    machine.on_writable(world.now);
    perform();
  }
  void leave() {
    machine.abandon();
    perform();
    if (machine.is_idle()) check_idle();
    ++ends;
  }

  [[nodiscard]] bool has_begun() const { return request.form != nullptr; }
  // The lines since the last call.
  [[nodiscard]] Lines took() { return std::exchange(log_, {}); }

  ReadWorld& world;
  sketch::RequestForm form;
  ReadRequest request;
  ReadMachine machine;
  ReadMachine::ClientView client{};  // the answer to ask_client, whose `size` is of all
  bool takes = true;                 // the answer to send_body
  std::string body;                  // what the client has of it
  std::vector<std::string> wires;    // that origins were sent
  std::array<bool, 2> is_asked{};    // by slot
  std::array<NodeId, 2> asked_of{};  // by slot
  bool is_paused = false;            // the exchange of the body
  bool raises_floors = false;
  bool asks_group = false, has_deadline = false, has_hedge = false, has_untaken = false;
  int ends = 0;

 private:
  using Kind = ReadAction::Kind;

  void on_shared_result(const SharedResult& result) override {
    machine.on_shared_result(result, world.now);
    perform();
  }
  void end_exchange(std::uint8_t slot) { REQUIRE(std::exchange(is_asked[slot], false)); }
  void perform() {
    for (;;) {
      world.perform();
      if (machine.actions().empty()) return;
      carry_out(machine.actions().take());
    }
  }
  void note(std::string line) {
    REQUIRE(ends == 0);
    log_.push_back(std::move(line));
  }
  void end(std::string line) {
    note(std::move(line));
    ++ends;
    CHECK(machine.is_idle());
    check_idle();
  }
  void check_idle() const {
    CHECK_FALSE((is_asked[0] || is_asked[1] || asks_group));
    CHECK_FALSE((has_deadline || has_hedge || has_untaken || raises_floors));
  }
  void arm(bool& timer, bool armed, std::string line) {
    REQUIRE(std::exchange(timer, armed) != armed);
    note(std::move(line));
  }
  void carry_out(const ReadAction& action) {
    const int slot = action.slot;
    switch (action.kind) {
      case Kind::ask_origin:
        REQUIRE_FALSE(std::exchange(is_asked[action.slot], true));
        asked_of[action.slot] = action.replica;
        is_paused = false;
        wires.emplace_back(machine.wire());
        return note(slot == 0 ? fmt::format("ask {}", action.replica)
                              : fmt::format("ask {} as well", action.replica));
      case Kind::cancel_origin:
        REQUIRE(std::exchange(is_asked[action.slot], false));
        return note(fmt::format("cancel {}", asked_of[action.slot]));
      case Kind::extend_origin:
        return note("extend");
      case Kind::pause_origin:
        is_paused = true;
        return note("pause");
      case Kind::resume_origin:
        is_paused = false;
        return note("resume");
      case Kind::ask_group:
        REQUIRE_FALSE(std::exchange(asks_group, true));
        return note(machine.call_kind() == replica_client::ReplicatedKind::ordered
                        ? "order"
                        : "ask for votes");
      case Kind::cancel_group:
        REQUIRE(std::exchange(asks_group, false));
        return note("cancel the call");
      case Kind::move:
        return end("move");
      case Kind::raise_floors:
        raises_floors = true;
        return note("raise floors");
      case Kind::cancel_floors:
        REQUIRE(std::exchange(raises_floors, false));
        return note("no floors");
      case Kind::arm_deadline:
        return arm(has_deadline, true, "deadline");
      case Kind::disarm_deadline:
        return arm(has_deadline, false, "no deadline");
      case Kind::arm_hedge:
        return arm(has_hedge, true,
                   fmt::format("hedge after {} us",
                               std::chrono::duration_cast<microseconds>(action.delay).count()));
      case Kind::disarm_hedge:
        return arm(has_hedge, false, "no hedge");
      case Kind::arm_untaken:
        return arm(has_untaken, true, "untaken");
      case Kind::disarm_untaken:
        return arm(has_untaken, false, "no untaken");
      case Kind::deliver:
        return end(fmt::format("deliver {} {}{}{}", machine.answer().status, machine.answer().body,
                               action.whole ? ", verified" : "",
                               action.storage != nullptr ? ", an origin's" : ""));
      case Kind::refuse:
        return end(fmt::format("refuse {} {}", machine.refusal().status, machine.refusal().reason));
      case Kind::ask_client:
        note(fmt::format("ask the client for {}", action.size));
        if (client.size == 0 && !wants_nothing) client.size = machine.answer().body_bytes();
        return machine.on_client(client, world.now);
      case Kind::begin_body:
        note("begin");
        return machine.on_begun(world.now);
      case Kind::send_body:
        note(fmt::format("send {}", action.size));
        body.append(*action.storage, action.begin, action.size);
        return machine.on_sent(takes, world.now);
      case Kind::end_body:
        return end(action.whole ? "end" : "cut off");
    }
  }

  std::string method_;
  Lines log_;

 public:
  bool wants_nothing = false;  // of a body: a HEAD's answer, or a condition's
};

}  // namespace prophecy::sketcher::read_test
