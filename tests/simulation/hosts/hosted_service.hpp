// `HostedService` is the service that a simulated replica executes operations on: the registers of
// prophecy-sim, or the origin of another simulated world. It belongs to one replica, outlasts its
// process, and takes no time of its own.
#pragma once

#include <cstdint>
#include <optional>

#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/part_store.hpp"

namespace prophecy::simulation {

class HostedService {
 public:
  // Of an operation, for what may befall it.
  struct Traits {
    bool is_read = false;
    bool frees = false;        // a write that is carried out also where the state is full
    std::uint64_t number = 0;  // the same at each replica
  };

  // How this replica's service honestly differs from the others' in one operation: in the state
  // that it leaves, and in its answer. 0: not.
  struct Noise {
    std::uint64_t state = 0;
    std::uint64_t answer = 0;
  };

  virtual ~HostedService() = default;

  // Nothing of what a correct client has not made.
  [[nodiscard]] virtual std::optional<Traits> traits_of(ByteView operation) const = 0;
  // The result. Nothing: the service cannot answer; an operation of the order has been executed for
  // all that. One outside the order changes nothing, whatever it says.
  virtual std::optional<Bytes> execute(const pbft::Execution& execution, const Noise& noise) = 0;

  // As parts, whose root it yields.
  virtual pbft::Digest keep_state(pbft::PartStore& parts) const = 0;
  // False, and nothing is changed, when a part is missing.
  virtual bool restore_from(const pbft::PartStore& parts, const pbft::Digest& root) = 0;
  [[nodiscard]] virtual Bytes state() const = 0;
  // It is as it was at the beginning.
  virtual void lose_state() = 0;
  // How much its state holds, and what it answers to a write that it has no room for.
  [[nodiscard]] virtual std::uint64_t size() const { return 0; }
  [[nodiscard]] virtual Bytes full_result() const { return {}; }
  // Something of its state changes. False: it has none.
  virtual bool rot(std::uint64_t noise) = 0;
};

}  // namespace prophecy::simulation
