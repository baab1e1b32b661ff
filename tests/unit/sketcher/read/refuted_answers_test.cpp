#include "sketcher/core/read/refuted_answers.hpp"

#include <catch2/catch.hpp>

namespace prophecy::sketcher {

TEST_CASE("The last refuted answers of each replica are remembered, and no more") {
  RefutedAnswers refuted(4);
  const Sketch key{'k'};
  const auto answer = [](std::size_t number) {
    Sketch sketch{};
    sketch[0] = static_cast<std::uint8_t>(number);
    sketch[1] = static_cast<std::uint8_t>(1 + (number >> 8));
    return sketch;
  };
  refuted.add(key, answer(5), 1);
  refuted.add(key, answer(7), 1);
  // One that makes up answers pushes out its own.
  for (std::size_t i = 0; i < RefutedAnswers::kKept + 7; ++i) {
    refuted.add(key, answer(i), 3);
    refuted.add(key, answer(i), 3);
  }
  CHECK(refuted.take(key, answer(5)) == 0b0010);
  CHECK(refuted.take(key, answer(6)) == 0);
  CHECK(refuted.take(key, answer(7)) == 0b1010);
  CHECK(refuted.take(key, answer(7)) == 0);
  CHECK(refuted.take(Sketch{'o'}, answer(8)) == 0);
  CHECK(refuted.take(key, answer(8)) == 0b1000);
}

}  // namespace prophecy::sketcher
