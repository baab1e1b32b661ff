// The core of reads by scripts of events: requests of every kind, answers of origins in any form,
// votes, calls that end or fail, timers, clients that leave or take their time; partitions and
// leases that come and go, at a member of a ring which has all of them at first. Each request has
// exactly one end, nothing is asked for behind it, no exchange, call or timer is left over, and
// what the core holds is bounded. (ReadActions::kMax and the states are ASSERTs of the core.)
#include <array>
#include <memory>

#include "choices.hpp"
#include "expect.hpp"
#include "unit/sketcher/read/read_world.hpp"

namespace prophecy::sketcher {
namespace {

using namespace read_test;
using fuzz::Choices;

constexpr std::size_t kReaders = 4;
constexpr std::size_t kEventsMax = 400;
const std::string kLarge = body_of_blocks(3, 100);

class Script {
 public:
  explicit Script(Choices& choices) : choices_(choices), has_votes_(choices.one_in(4)) {
    world_.now = TimePoint(std::chrono::hours(1));
    for (auto& reader : readers_)
      reader = std::make_unique<Reader>(world_);
    for (NodeId origin = 0; origin < 2; ++origin) {
      for (std::uint32_t i = 0; i < replica_client::LatencyQuantile::kNeeded; ++i)
        world_.core.group.hedges().on_latency(origin, milliseconds(10));
    }
    for (int i = 0; i < 30; ++i)
      static_cast<void>(world_.core.group.hedges().on_read());
  }

  void run() {
    for (std::size_t event = 0; event < kEventsMax && !choices_.done(); ++event) {
      step();
      check();
    }
    finish();
  }

 private:
  void step() {
    Reader& reader = *readers_[choices_.below(kReaders)];
    switch (choices_.below(18)) {
      case 0:
      case 1:
      case 2:
        return start(reader);
      case 3:
      case 4:
      case 5:
        return on_origin(reader);
      case 6:
      case 7:
        return on_body(reader);
      case 8:
      case 9:
        return on_call();
      case 10:
        return on_own_call(reader);
      case 11:
        return on_vote();
      case 12:
        return on_confirmation();
      case 13:
        return on_timer(reader);
      case 14:
        reader.takes = choices_.byte() % 2 == 0;
        return reader.writable();
      case 15:
        return on_leaving(reader);
      case 16:
        return on_table(reader);
      default:
        world_.now += choices_.one_of<Duration>({milliseconds(1), milliseconds(300), seconds(2)});
        world_.roll = choices_.byte() * 5000U;
    }
  }

  void start(Reader& reader) {
    if (!reader.machine.is_idle()) return;
    ReadRequest& request = reader.request;
    const std::uint8_t how = choices_.byte();
    const std::string method =
        choices_.one_of({"GET", "GET", "GET", "GET", "HEAD", "POST", "OPTIONS"});
    request = {};
    request.is_options = method == "OPTIONS";
    request.mode =
        choices_.one_of({RouteMode::enforce, RouteMode::enforce, RouteMode::enforce,
                         RouteMode::observe, RouteMode::off, RouteMode::tunnel, RouteMode::stream});
    request.reads = choices_.one_of({Reads::delay_once, Reads::delay_once, Reads::delay_once,
                                     Reads::replicated, Reads::read_only});
    request.listed =
        choices_.one_of({Mark::none, Mark::none, Mark::none, Mark::whitelisted, Mark::blacklisted});
    request.may_hedge = how % 2 == 1;
    request.has_invalidation = how % 16 != 15;
    request.budget = how % 4 == 3 ? &budget_ : nullptr;
    reader.client = {};
    reader.wants_nothing = false;
    if (choices_.one_in(4)) {
      reader.client.has_left = choices_.one_in(4);
      reader.client.may_begin = choices_.one_in(2);
      // Within each body that is answered here.
      reader.client.first = choices_.below(4);
      reader.client.size = choices_.below(4);
      reader.wants_nothing = reader.client.size == 0;
    }
    reader.start(method, how % 8 < 4 ? "" : std::string(kAgent), how % 32 < 24 ? "/" : "/b");
  }

  [[nodiscard]] std::string body() {
    switch (choices_.below(8)) {
      case 0:
      case 1:
      case 2:
        return "AAAA";
      case 3:
        return "BBBB";
      case 4:
        return std::string(shared_reads_test::kCookie);
      case 5:
        return std::string(shared_reads_test::kVarying);
      case 6:
        return "";
      default:
        return kLarge;
    }
  }
  [[nodiscard]] std::uint16_t status() {
    return choices_.one_of<std::uint16_t>({200, 200, 200, 200, 200, 206, 404, 429, 503, 201});
  }
  [[nodiscard]] http::Response response() {
    http::Response made = response_of(body(), status());
    const std::uint8_t fields = choices_.byte();
    if (fields % 4 == 3) made.fields.add("content-length", std::to_string(made.body.size()));
    if (fields >= 128 && fields % 16 == 0) made.fields.add("connection", "set-cookie");
    if (fields >= 128 && fields % 16 == 1) made.fields.add("content-type", "text/plain");
    if (fields >= 128 && fields % 16 == 2) made.fields.add("location", "/b");
    return made;
  }
  [[nodiscard]] static bool is_in_pieces(const Reader& reader) {
    return reader.machine.asked().piece_bytes > 0;
  }

  void on_origin(Reader& reader) {
    const auto slot = static_cast<std::uint8_t>(choices_.byte() % 4 == 3 ? 1 : 0);
    if (!reader.is_asked[slot]) return;
    const std::uint8_t how = choices_.byte();
    if (how % 4 == 3) {
      const std::size_t ends = http::kExchangeEndCount - 1;
      return reader.fail(slot, static_cast<ExchangeEnd>(1 + (how / 4) % ends));
    }
    http::Response made = response();
    if (how % 4 == 2 && is_in_pieces(reader) && !reader.is_paused) {
      return reader.progress(made, slot);
    }
    reader.answer(slot, std::move(made));
  }

  // What the wire asks for, of the large body: right, or nearly.
  void on_body(Reader& reader) {
    if (!reader.is_asked[0] || !is_in_pieces(reader) || reader.is_paused) return;
    http::Response made = response_of(kLarge);
    std::size_t begin = 0;
    std::size_t end = kLarge.size();
    const std::string& wire = reader.wires.back();
    const std::size_t range = wire.find("range: bytes=");
    const std::uint8_t how = choices_.byte();
    if (range != std::string::npos && how % 8 != 7) {
      std::size_t digits = 0;
      begin = std::stoul(wire.substr(range + 13), &digits);
      end = std::stoul(wire.substr(range + 13 + digits + 1)) + 1;
      made = response_of(kLarge.substr(begin, end - begin), 206);
      made.fields.add("content-range",
                      fmt::format("bytes {}-{}/{}", begin, end - 1, kLarge.size()));
    } else {
      made.fields.add("content-length", std::to_string(kLarge.size()));
    }
    if (how >= 192 && !made.body.empty()) made.body[how * 61U % made.body.size()] ^= 1;
    const std::size_t size = choices_.one_of<std::size_t>({1, kBlock, 2 * kBlock, 1 << 20});
    if (size >= made.body.size()) {
      return how % 2 == 0 ? reader.progress(made) : reader.answer(0, std::move(made));
    }
    made.body.resize(size);
    reader.progress(made);
  }

  [[nodiscard]] Bytes group_answer() {
    const std::string text = body();
    return text == kLarge ? list_ : world_.encoded(text, status());
  }
  [[nodiscard]] Sigma sigma() {
    const std::uint8_t how = choices_.byte();
    if (how < 16) return how;  // it has begun anew, or says so
    return sigma_ += how % 4;
  }

  void on_call() {
    if (world_.calls.empty()) return;
    auto call = world_.calls.begin();
    std::advance(call, choices_.below(world_.calls.size()));
    const std::uint64_t number = call->first;
    if (choices_.one_in(5)) return world_.fail(number, failure());
    const bool is_strong = !choices_.one_in(3);
    if (has_votes_) {
      // The sketcher's own numbers: that of the answer, and one from before.
      const Sigma asked = sigma_ - choices_.below(4);
      world_.answer_in(number, group_answer(), ++sigma_, asked, is_strong);
    } else {
      world_.answer_in(number, group_answer(), sigma(), std::nullopt, is_strong);
    }
    if (choices_.one_in(3)) world_.core.shared.on_strong_agreement(number, world_.now);
    world_.settle();
    last_call_ = number;
  }
  [[nodiscard]] ReplicatedFailure failure() {
    return static_cast<ReplicatedFailure>(choices_.below(replica_client::kReplicatedFailureCount));
  }
  void on_own_call(Reader& reader) {
    if (!reader.asks_group) return;
    if (choices_.one_in(4)) return reader.group_failure(failure());
    reader.group_answer_in(group_answer(), sigma());
  }
  void on_vote() {
    const std::uint8_t how = choices_.byte();
    std::uint64_t number = how % 8 == 7 ? 0 : last_call_;
    if (how % 2 == 0 && !world_.calls.empty()) number = world_.calls.begin()->first;
    world_.refute(number, how / 8 % 4, status());
  }
  void on_confirmation() {
    if (world_.confirmations.empty()) return;
    const std::uint64_t number = world_.confirmations.back();
    world_.confirmations.pop_back();
    const bool fails = choices_.one_in(4);
    world_.core.shared.on_confirmed(number, fails ? ExchangeEnd::timed_out : ExchangeEnd::answered,
                                    response(), world_.now);
    world_.settle();
  }
  void on_timer(Reader& reader) {
    switch (choices_.below(4)) {
      case 0:
      case 1:
        return reader.has_hedge ? reader.hedge_time() : void();
      case 2:
        return reader.has_untaken ? reader.untaken_time() : void();
      default:
        return reader.has_deadline ? reader.deadline() : void();
    }
  }
  void on_leaving(Reader& reader) {
    const std::uint8_t how = choices_.byte();
    if (how % 4 == 0) return leave(reader);
    if (how % 4 == 1) on_ring(reader);
  }
  // Partitions and leases come and go; another member raises a floor.
  void on_ring(Reader& reader) {
    switch (choices_.below(6)) {
      case 0:
        return world_.set_word(dht::Stage::elsewhere);
      case 1:
      case 2:
        return world_.set_word(choices_.one_of({dht::Stage::taken, dht::Stage::group_only}));
      case 3:
        world_.timer.time = dht::BootTime(choices_.below(3) * ReadWorld::lease);
        return;
      default:
        return on_floors(reader);
    }
  }
  void on_floors(Reader& reader) {
    if (!reader.raises_floors) return;
    if (choices_.one_in(2)) return reader.floor_time();
    const OwedFloors& owed = reader.machine.owed_floors();
    for (std::size_t i = 0; i < owed.size(); ++i) {
      if (owed[i].group != nullptr) return reader.floor_raised(i);
    }
  }
  static void leave(Reader& reader) {
    if (!reader.machine.is_idle()) reader.leave();
  }
  void on_table(const Reader& reader) {
    const std::string target = choices_.byte() % 4 == 3 ? "/b" : "/";
    const Sketch key = reader.key("", target);
    switch (choices_.below(6)) {
      case 0:
        return world_.floors.raise(world_.floors.slot_of("a", target), sigma_);
      case 1:
        static_cast<void>(world_.table.set_mark(
            key, choices_.one_of({Mark::none, Mark::whitelisted, Mark::blacklisted})));
        return;
      case 2:
        static_cast<void>(world_.table.erase(key));
        return;
      case 3:
        static_cast<void>(world_.table.update(key, world_.sketch("AAAA"), ++sigma_));
        return;
      case 4:
        static_cast<void>(world_.table.blocks().put(world_.sketch_of_list(list_), list_));
        static_cast<void>(world_.table.update(key, world_.sketch_of_list(list_), ++sigma_));
        return;
      default:
        world_.health.publish(choices_.byte() % 16, 0);
        world_.worker.forced_share = choices_.one_in(4) ? 0.5 : 0;
    }
  }

  void check() {
    const SharedReads& shared = world_.core.shared;
    REQUIRE(shared.calls() == world_.calls.size());
    REQUIRE(shared.waiting() <= kReaders);
    REQUIRE(world_.core.accusations.under_way() == world_.confirmations.size());
    REQUIRE(world_.core.accusations.under_way() <= 4 * Accusations::kUnderWayMax);
    REQUIRE(world_.core.actions.empty());
    for (const auto& reader : readers_) {
      REQUIRE(reader->machine.actions().empty());
      REQUIRE(reader->machine.request_bytes() <= 4096);
      REQUIRE(reader->machine.is_idle() == (reader->ends > 0 || !reader->has_begun()));
      static_cast<void>(reader->took());
    }
  }

  // Every request that is left ends, and with them all that the core has under way.
  void finish() {
    for (const auto& reader : readers_) {
      if (reader->machine.is_idle()) continue;
      if (choices_.byte() % 2 == 0 || !reader->has_deadline) {
        leave(*reader);
      } else {
        reader->deadline();
      }
    }
    while (!world_.calls.empty() || !world_.confirmations.empty()) {
      if (!world_.calls.empty()) world_.fail(world_.calls.begin()->first);
      on_confirmation();
    }
    check();
    REQUIRE(world_.core.shared.waiting() == 0);
    for (const auto& reader : readers_)
      REQUIRE(reader->machine.is_idle());
  }

  Choices& choices_;
  const bool has_votes_;  // no order
  ReadWorld world_{VolatilityLimits::never(), ReadWorld::Ring::of_others};
  const Bytes list_ = world_.list_of(kLarge);
  SlowPathBudget budget_{{.share = 0.5, .per_second = 1, .per_client_second = 1}, 64, 0};
  std::array<std::unique_ptr<Reader>, kReaders> readers_;
  Sigma sigma_ = 20;
  std::uint64_t last_call_ = 0;
};

}  // namespace
}  // namespace prophecy::sketcher

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  prophecy::fuzz::Choices choices(data, size);
  prophecy::sketcher::Script(choices).run();
  return 0;
}
