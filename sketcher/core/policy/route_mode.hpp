// How the reads of a route are answered.
#pragma once

#include <cstdint>

namespace prophecy::sketcher {

// May be changed at run time.
enum class RouteMode : std::uint8_t {
  enforce,  // clients get nothing but verified answers
  observe,  // clients get the drawn replica's answer; answers that the group's agreement refutes
            // are recorded
  off,      // clients get the drawn replica's answer: a load balancer
  tunnel,   // as off; and requests to change the protocol are tunnelled
  maintenance,  // clients get 503; no origin is asked
  stream,       // as off; and answers are passed on as they come, without an end or with one
};
constexpr std::size_t kRouteModeCount = 6;

// One origin answers reads, and nothing is compared.
[[nodiscard]] constexpr bool is_unverified(RouteMode mode) {
  return mode == RouteMode::off || mode == RouteMode::tunnel || mode == RouteMode::stream;
}

// How reads are answered where they are enforced. The paper's evaluation compares the three.
enum class Reads : std::uint8_t {
  delay_once,  // Algorithm 1; delay-once consistency
  replicated,  // every read ordered; linearizable where the group has an order
  read_only,   // by PBFT's read-only optimisation; linearizable
};

}  // namespace prophecy::sketcher
