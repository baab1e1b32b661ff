#include "measurement/live/live_figures.hpp"

#include <catch2/catch.hpp>

namespace prophecy::measurement {
namespace {

constexpr Microseconds kSecond = 1'000'000;

struct World {
  MeasurementResult result;
  LiveFigures live{result};
  World() {
    result.inputs.resize(1);
    live.begin(result.inputs.front());
  }
  void add(Microseconds time, std::uint8_t version, AnswerKind kind = AnswerKind::sketched) {
    Answer answer;
    answer.url = "GET http://a/";
    answer.time = time;
    answer.kind = kind;
    answer.sketch[0] = version;
    live.on_answer(answer);
  }
  [[nodiscard]] const Pairs& pairs() const { return result.figures.front().sketched; }
};

}  // namespace

TEST_CASE("answers of several workers are put in order") {
  World world;
  // One worker's lines of a second, then those of another.
  world.add(5 * kSecond, 1);
  world.add(7 * kSecond, 2);
  world.add(4 * kSecond, 1);
  world.add(6 * kSecond, 1);
  CHECK(world.pairs().pairs == 0);
  world.live.finish();
  CHECK(world.pairs().pairs == 3);
  CHECK(world.pairs().transitions == 1);
}

TEST_CASE("an answer is counted once the log has one that is later by the window") {
  World world;
  world.add(kSecond, 1);
  world.add(2 * kSecond, 2);
  world.add(2 * kSecond + LiveFigures::kReorder, 2);
  CHECK(world.pairs().pairs == 1);
  CHECK(world.pairs().transitions == 1);
}

TEST_CASE("an answer that comes too late is in no pair") {
  World world;
  world.add(10 * kSecond, 1);
  world.live.finish();
  world.add(5 * kSecond, 2);
  world.add(11 * kSecond, 1);
  world.live.finish();
  CHECK(world.live.late() == 1);
  CHECK(world.result.figures.front().all_answers() == 3);
  CHECK(world.pairs().pairs == 1);
  CHECK(world.pairs().transitions == 0);
}

TEST_CASE("answers for one client are counted and in no pair") {
  World world;
  world.add(kSecond, 1);
  world.add(2 * kSecond, 2, AnswerKind::for_one_client);
  world.add(3 * kSecond, 1);
  world.live.finish();
  CHECK(world.pairs().pairs == 1);
  CHECK(world.pairs().transitions == 0);
  CHECK(world.result.figures.front().strong.pairs == 1);
  CHECK(world.result.figures.front().answers_of(AnswerKind::for_one_client) == 1);
}

}  // namespace prophecy::measurement
