#include "sketcher/core/policy/shadow_gate.hpp"

#include <catch2/catch.hpp>

#include "support/start_time.hpp"

namespace prophecy::sketcher {
namespace {

using test::kStart;

int admitted(ShadowGate& gate, TimePoint now, int asked) {
  int count = 0;
  for (int i = 0; i < asked; ++i)
    count += gate.admit(now) ? 1 : 0;
  return count;
}

int reported(ShadowGate& gate, TimePoint now, int asked) {
  int count = 0;
  for (int i = 0; i < asked; ++i)
    count += gate.may_report(now) ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("A shadow has so many copies at a time, and a new one for each that has ended") {
  ShadowGate gate(3);
  CHECK(admitted(gate, kStart, 10) == 3);
  gate.on_end(true, kStart);
  CHECK(admitted(gate, kStart, 10) == 1);
}

TEST_CASE("One that fails is left alone, for longer each time, and is tried with one copy") {
  ShadowGate gate(3);
  TimePoint now = kStart;
  CHECK(admitted(gate, now, 3) == 3);
  // Those that fail together count once.
  for (int i = 0; i < 3; ++i)
    gate.on_end(false, now);
  Duration pause = ShadowGate::kPauseMin;
  for (int round = 0; round < 10; ++round) {
    CHECK_FALSE(gate.admit(now + pause - milliseconds(1)));
    now += pause;
    CHECK(admitted(gate, now, 3) == 1);
    gate.on_end(false, now);
    pause = std::min<Duration>(2 * pause, ShadowGate::kPauseMax);
  }
  CHECK(pause == ShadowGate::kPauseMax);
  now += pause;
  CHECK(admitted(gate, now, 3) == 1);
  gate.on_end(true, now);
  CHECK(admitted(gate, now, 3) == 3);
  // The next failure is the first one again.
  gate.on_end(false, now);
  CHECK_FALSE(gate.admit(now + ShadowGate::kPauseMin - milliseconds(1)));
  gate.on_end(true, now);
  CHECK(gate.admit(now));
}

TEST_CASE("Evidence is written of some answers at once, then of one in a while") {
  ShadowGate gate(1);
  CHECK(reported(gate, kStart, 100) == ShadowGate::kReportsSaved);
  TimePoint now = kStart + ShadowGate::kReportInterval;
  CHECK(reported(gate, now - milliseconds(1), 5) == 0);
  CHECK(reported(gate, now, 5) == 1);
  now += 3 * ShadowGate::kReportInterval;
  CHECK(reported(gate, now, 5) == 3);
  now += 1000 * ShadowGate::kReportInterval;
  CHECK(reported(gate, now, 100) == ShadowGate::kReportsSaved);
}

}  // namespace prophecy::sketcher
