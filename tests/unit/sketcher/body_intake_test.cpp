// Bodies that go to files: what is kept where, the bounds, and what is left behind.
#include "sketcher/spool/body_intake.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>

#include <catch2/catch.hpp>
#include <fcntl.h>

#include "pbft/wire/body.hpp"
#include "support/start_time.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::size_t kPiece = kSourcePieceBytes;
constexpr std::size_t kFrom = 200'000;

struct IntakeWorld final : BodyOwner {
  explicit IntakeWorld(std::uint64_t bytes_max = 1 << 30, std::filesystem::path where = "/tmp")
      : settings{kFrom, std::move(where), bytes_max, kPiece},
        shared(*SharedState::map({.workers = 2, .groups = 1, .routes = 1, .origins = 1}, numbers)),
        spool{settings,
              SpoolSpace(shared, shared.worker(0).spool, bytes_max),
              shared.worker(0).spool,
              true,
              SlowBodies(kPiece),
              seconds(100)} {}

  // The body comes in pieces of this size.
  bool take(BodyIntake& intake, const std::string& body, std::size_t step) {
    request.clear();
    for (std::size_t at = 0; at < body.size(); at += step) {
      request.body += body.substr(at, step);
      if (!intake.take(request.body)) return false;
      in_memory_max = std::max(in_memory_max, request.body.size());
    }
    return intake.finish(request);
  }
  void on_body_refused() override { ++refused; }
  std::uint64_t held() { return shared.worker(0).spool.bytes.get(); }

  SpoolSettings settings;
  alignas(64) std::array<std::byte, 4096> numbers{};
  SharedState shared;
  Spool spool;
  http::Request request;
  std::size_t in_memory_max = 0;
  int refused = 0;
};

std::string text_of(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    text[i] = static_cast<char>(i * i >> 9);
  return text;
}

TEST_CASE("a body is in memory up to the threshold, and in a file beyond it") {
  const auto size =
      GENERATE(std::size_t{0}, kFrom, kFrom + 1, 2 * kPiece, 2 * kPiece + 1, 9 * kPiece);
  const auto step = GENERATE(std::size_t{1000}, std::size_t{65536}, std::size_t{300'001});
  const std::string body = text_of(size);
  IntakeWorld world;
  BodyIntake intake(world.spool, world);
  REQUIRE(world.take(intake, body, step));
  CHECK(world.request.body_size() == size);
  if (size <= kFrom) {
    CHECK(world.request.large_body == nullptr);
    CHECK(world.request.body == body);
    CHECK(world.held() == 0);
    return;
  }
  REQUIRE(world.request.large_body != nullptr);
  CHECK(world.request.body.empty());
  CHECK(world.in_memory_max <= kFrom);
  CHECK(world.held() == size);
  std::string read(size, '\0');
  REQUIRE(world.request.large_body->read(0, read));
  CHECK(read == body);
  read.resize(size - 777);
  REQUIRE(world.request.large_body->read(777, read));
  CHECK(read == body.substr(777));
  const auto leaves = world.request.large_body->leaf_digests();
  REQUIRE(leaves.size() == (size + kPiece - 1) / kPiece);
  CHECK(leaves.back() ==
        pbft::digest_of_leaf(as_bytes(body).subspan((leaves.size() - 1) * kPiece)));
  const ByteSourcePtr other = world.request.large_body;
  world.request.clear();
  CHECK(world.held() == size);
}

TEST_CASE("what is dropped, or delivered and let go, holds nothing") {
  IntakeWorld world;
  BodyIntake intake(world.spool, world);
  world.request.body = text_of(3 * kPiece);
  REQUIRE(intake.take(world.request.body));
  CHECK(world.held() == 3 * kPiece);
  intake.drop();
  CHECK(world.held() == 0);
  REQUIRE(world.take(intake, text_of(3 * kPiece + 5), 65536));
  CHECK(world.held() == 3 * kPiece + 5);
  world.request.clear();
  CHECK(world.held() == 0);
  CHECK(world.spool.counters.bodies.get() == 2);
}

TEST_CASE("all workers' files are bounded together") {
  IntakeWorld world(10 * kPiece);
  world.shared.worker(1).spool.bytes.set(6 * kPiece);
  BodyIntake intake(world.spool, world);
  CHECK(world.take(intake, text_of(4 * kPiece), 65536));
  world.request.clear();
  CHECK_FALSE(world.take(intake, text_of(4 * kPiece + 1), 65536));
  CHECK(intake.failure().status == 503);
  CHECK(intake.failure().reason == "spool-full");
  CHECK(world.held() == 0);
  CHECK(world.spool.counters.refused.get() == 1);
  world.shared.worker(1).spool.bytes.set(0);
  CHECK(world.take(intake, text_of(4 * kPiece + 1), 65536));
}

TEST_CASE("so many files are open at a time, and no more") {
  IntakeWorld world;
  BodyIntake intake(world.spool, world);
  world.spool.counters.files.set(kSpooledFilesMax - 1);
  REQUIRE(world.take(intake, text_of(3 * kPiece), 65536));
  CHECK(world.spool.counters.files.get() == kSpooledFilesMax);
  BodyIntake other(world.spool, world);
  std::string body = text_of(3 * kPiece);
  CHECK_FALSE(other.take(body));
  CHECK(other.failure().reason == "spool-full");
  world.request.clear();
  CHECK(other.take(body));
}

using test::kStart;

TEST_CASE("when room is short, the slowest bodies give way until it is not") {
  IntakeWorld world(16 * kPiece);  // short beyond 14
  BodyIntake slow(world.spool, world), slowest(world.spool, world), young(world.spool, world),
      fast(world.spool, world);
  const auto fill = [&](BodyIntake& intake, TimePoint began, std::size_t pieces) {
    intake.begin(began);
    std::string body = text_of(pieces * kPiece);
    REQUIRE(intake.take(body));
  };
  fill(slow, kStart, 4);
  fill(slowest, kStart, 3);
  fill(fast, kStart + seconds(95), 5);
  fill(young, kStart + seconds(96), 2);
  const TimePoint now = kStart + seconds(100);
  world.spool.slow_bodies.make_room(world.spool.space, now);
  CHECK(world.refused == 0);  // there is room
  fill(young, kStart + seconds(96), 1);
  world.spool.slow_bodies.make_room(world.spool.space, now);
  CHECK(world.refused == 1);
  CHECK(slowest.spooled() == 0);
  CHECK(slowest.failure().status == 408);
  CHECK(slowest.failure().reason == "body-too-slow");
  CHECK(slow.spooled() == 4 * kPiece);
  CHECK(world.held() == 12 * kPiece);
  // Those that are fast enough, or of which nothing can be said yet, do not.
  fill(young, kStart + seconds(96), 4);
  world.spool.slow_bodies.make_room(world.spool.space, now);
  world.spool.slow_bodies.make_room(world.spool.space, now);
  CHECK(slow.spooled() == 0);
  CHECK(world.refused == 2);
  fill(slowest, now, 4);
  world.spool.slow_bodies.make_room(world.spool.space, now);
  CHECK(world.held() == 16 * kPiece);
  CHECK(world.refused == 2);
  CHECK(world.spool.counters.too_slow.get() == 2);
}

TEST_CASE("many files are short of room as well; and a body that is whole does not give way") {
  IntakeWorld world;
  BodyIntake intake(world.spool, world);
  intake.begin(kStart);
  world.spool.counters.files.set(kSpooledFilesMax * 7 / 8);
  REQUIRE(world.take(intake, text_of(3 * kPiece), 65536));
  CHECK(world.spool.space.is_short());
  world.spool.slow_bodies.make_room(world.spool.space, kStart + seconds(1000));
  CHECK(world.refused == 0);
  world.request.clear();
  std::string body = text_of(3 * kPiece);
  REQUIRE(intake.take(body));
  world.spool.slow_bodies.make_room(world.spool.space, kStart + seconds(1000));
  CHECK(world.refused == 1);
}

TEST_CASE("a body has so much time in all") {
  IntakeWorld world;
  BodyIntake intake(world.spool, world);
  intake.begin(kStart);
  std::string body = text_of(3 * kPiece);
  REQUIRE(intake.take(body));
  CHECK(intake.has_time(kStart + seconds(100)));
  CHECK_FALSE(intake.has_time(kStart + seconds(101)));
  CHECK(intake.failure().status == 408);
  CHECK(intake.failure().reason == "body-takes-too-long");
  CHECK(world.held() == 0);
}

TEST_CASE("a folder that takes no file is told") {
  IntakeWorld world(1 << 30, "/proc/none");
  CHECK_FALSE(check(world.settings).has_value());
  CHECK(check(IntakeWorld().settings).has_value());
  BodyIntake intake(world.spool, world);
  CHECK_FALSE(world.take(intake, text_of(3 * kPiece), 65536));
  CHECK(intake.failure().reason == "spool-failed");
}

TEST_CASE("a disk that is full is told") {
  IntakeWorld world;
  SpooledBody body(UniqueFd(::open("/dev/full", O_WRONLY | O_CLOEXEC)), false,
                   world.shared.worker(0).spool);
  world.shared.worker(0).spool.bytes.add(1);
  CHECK(body.append("x") == ENOSPC);
}

}  // namespace
}  // namespace prophecy::sketcher
