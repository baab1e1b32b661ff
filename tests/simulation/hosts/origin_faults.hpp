// How writes fail at origins: the state is full, or a handler crashes, hangs until its time is
// over, or answers too much or nonsense. To its agent the latter is all one: the write has ended,
// and nobody knows how far it got.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

struct WriteFault {
  bool has_effect = false;  // the write was carried out all the same; alike at all replicas
  std::uint32_t times = 0;  // so often at one origin, and well then; 0: always
  Duration settles_in{};
};

// Of this operation at this replica; nothing: it goes well there.
[[nodiscard]] std::optional<WriteFault> write_fault(const Scenario& scenario, NodeId replica,
                                                    std::uint64_t operation);
// It is carried out nowhere, however often.
[[nodiscard]] bool is_without_effect(const Scenario& scenario, std::uint64_t operation);
// Its client may be told that nobody knows.
[[nodiscard]] bool may_be_uncertain(const Scenario& scenario, std::uint64_t operation);

// The state holds too much for more writes, as it is behind the checkpoint at this number.
[[nodiscard]] bool is_full(const Scenario& scenario, NodeId replica, std::uint64_t checkpoint,
                           std::uint64_t size);
// Likewise, of all replicas that are correct.
[[nodiscard]] bool is_full(const Scenario& scenario, std::uint64_t checkpoint, std::uint64_t size);
// It holds more than requests between two checkpoints can add to one that was not full.
[[nodiscard]] bool is_too_large(const Scenario& scenario, NodeId replica, std::uint64_t checkpoint,
                                std::uint64_t size);

// What the client is told of a write of which nobody knows.
[[nodiscard]] const Bytes& uncertain_result();

}  // namespace prophecy::simulation
