// A worker's part in barriers: which groups are asked, with which view, and when one has ended.
#include "sketcher/worker/ring_turns.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <sys/eventfd.h>
#include <unistd.h>

#include "support/event_loop.hpp"

namespace prophecy::sketcher {
namespace {

using replica_client::ReplicatedAnswer;
using replica_client::ReplicatedFailure;
using replica_client::ReplicatedHandler;
using replica_client::ReplicatedRequest;

// Notes what is asked, and answers when it is told to.
class AskedGroup final : public replica_client::ReplicaGroup {
 public:
  void start() override {}
  [[nodiscard]] std::uint32_t size() const override { return 4; }
  [[nodiscard]] std::uint32_t faults() const override { return 1; }
  void fast(http::OriginExchange&, NodeId, std::string_view,
            const replica_client::FastForm&) override {
    FAIL("a barrier is no fast read");
  }
  std::uint64_t replicated(const ReplicatedRequest& request, ReplicatedHandler& handler) override {
    CHECK(request.is_safe());
    views.push_back(request.view);
    handler_ = &handler;
    return views.size();
  }
  void cancel_replicated(std::uint64_t) override { handler_ = nullptr; }

  [[nodiscard]] bool is_asked() const { return handler_ != nullptr; }
  void answer(Sigma sigma) {
    ReplicatedAnswer answer;
    answer.sigma = sigma;
    std::exchange(handler_, nullptr)->on_replicated_answer(std::move(answer));
  }
  void fail(ReplicatedFailure failure) {
    std::exchange(handler_, nullptr)->on_replicated_failure(failure);
  }

  std::vector<std::uint64_t> views;  // of all that it was asked
  SigmaOrder order;

 private:
  ReplicatedHandler* handler_ = nullptr;
};

struct Desk {
  explicit Desk(std::size_t count, bool is_only) {
    std::vector<RingTurns::OrderedGroup> ordered;
    for (std::size_t i = 0; i < count; ++i) {
      groups.push_back(std::make_unique<AskedGroup>());
      ordered.push_back({"group" + std::to_string(i), groups.back().get(), &groups.back()->order});
    }
    turns.begin(0);
    permissions.set_view(7);
    subject = std::make_unique<RingTurns>(
        loop, turns, permissions, 0, UniqueFd(::dup(wake.get())), std::move(ordered), is_only,
        [this] { ++wakes; }, log);
    subject->start();
  }
  // The ring's process asks for a barrier.
  void ask() {
    ticket = turns.ask();
    turns.ask_barrier(0, ticket);
    const std::uint64_t one = 1;
    REQUIRE(::write(wake.get(), &one, sizeof one) == sizeof one);
    const std::size_t before = groups.front()->views.size();
    REQUIRE(prophecy::test::run_until(loop, [&] { return groups.front()->views.size() > before; }));
  }
  [[nodiscard]] std::optional<WorkerTurns::Barrier> ended() const {
    return turns.ended_barrier(0, ticket);
  }

  boost::asio::io_context loop;
  UniqueFd wake{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::array<WorkerTurns::Place, 1> places;
  std::atomic<std::uint64_t> wanted{0};
  WorkerTurns turns{places, wanted};
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(8 + dht::Permissions::kExtraWords);
  dht::Permissions permissions{words};
  Logger log{"worker", {}};
  std::vector<std::unique_ptr<AskedGroup>> groups;
  std::unique_ptr<RingTurns> subject;
  std::uint64_t ticket = 0;
  int wakes = 0;  // of those that wait for partitions
};

TEST_CASE("The barrier of the only group has the number of its request") {
  Desk desk(1, true);
  desk.ask();
  CHECK(desk.groups.front()->views == std::vector<std::uint64_t>{7});
  CHECK_FALSE(desk.ended().has_value());
  CHECK(desk.wakes == 1);
  SECTION("which it has ordered") {
    desk.groups.front()->answer(5 << 16);
    REQUIRE(desk.ended().has_value());
    CHECK(desk.ended()->number == std::optional<Sigma>(5 << 16));
  }
  SECTION("if it orders it") {
    desk.groups.front()->fail(ReplicatedFailure::too_few_replicas);
    REQUIRE(desk.ended().has_value());
    CHECK_FALSE(desk.ended()->number.has_value());
  }
}

TEST_CASE("Each of several groups orders a request of the newest view before a barrier has ended") {
  Desk desk(2, false);
  desk.permissions.set_view(9);
  desk.ask();
  for (const auto& group : desk.groups)
    CHECK(group->views == std::vector<std::uint64_t>{9});
  desk.groups[1]->answer(3 << 16);
  CHECK_FALSE(desk.ended().has_value());
  desk.groups[0]->answer(5 << 16);
  REQUIRE(desk.ended().has_value());
  CHECK(desk.ended()->number == std::optional<Sigma>(1));
}

TEST_CASE("A group that is down does not hold up the sites of another one") {
  Desk desk(2, false);
  desk.ask();
  desk.groups[0]->answer(5 << 16);
  CHECK_FALSE(desk.ended().has_value());
  SECTION("when it says so") {
    desk.groups[1]->fail(ReplicatedFailure::too_few_replicas);
    REQUIRE(desk.ended().has_value());
    CHECK(desk.ended()->number == std::optional<Sigma>(0));
  }
  SECTION("when it says nothing; what it was asked stays under way") {
    REQUIRE(prophecy::test::run_until(desk.loop, [&] { return desk.ended().has_value(); }));
    CHECK(desk.ended()->number == std::optional<Sigma>(0));
    REQUIRE(desk.groups[1]->is_asked());
    desk.groups[1]->answer(5 << 16);
    desk.ask();
    CHECK_FALSE(desk.ended().has_value());
  }
}

TEST_CASE("While one group refuses the view no barrier ends well") {
  Desk desk(2, false);
  desk.ask();
  desk.groups[1]->fail(ReplicatedFailure::view_too_old);
  REQUIRE(desk.ended().has_value());
  CHECK_FALSE(desk.ended()->number.has_value());
  desk.groups[0]->answer(5 << 16);
  CHECK_FALSE(desk.ended()->number.has_value());
}

}  // namespace
}  // namespace prophecy::sketcher
