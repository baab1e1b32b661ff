// The result of a write that a group has ordered and not executed, because of the epoch that it
// names (core/execution/epoch_fence.hpp). Replicas agree on it as on any result.
//
//   refusal := mark:u32 kind:u8 newest:u64      (little endian)
//
// No answer of a service may begin with the mark; an encoded answer (canonical/answer_form.hpp)
// never does.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.hpp"

namespace prophecy::pbft {

constexpr std::uint32_t kEpochRefusalMark = 0xfffffffe;

struct EpochRefusal {
  enum class Kind : std::uint8_t {
    too_old = 1,
    too_new = 2,  // by more than one request may raise the epoch
  };
  Kind kind = Kind::too_old;
  std::uint64_t newest = 0;  // that the group had ordered

  bool operator==(const EpochRefusal&) const = default;
};

[[nodiscard]] Bytes encode(const EpochRefusal& refusal);
// Nothing: the result is none.
[[nodiscard]] std::optional<EpochRefusal> decode_epoch_refusal(ByteView result);

}  // namespace prophecy::pbft
