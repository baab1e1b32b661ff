// `Acceptance` decides whether what a request has found out may be accepted, where several
// sketchers serve one site: rules R4, R5 and R7 of docs/ring.md. A sketcher alone has no such
// object, and accepts everything.
//
// A request takes a claim when it begins: the word of its URI's partition. Its answer counts while
// the word is the same. An answer that was *looked up* is checked after the look-up. Where the
// history or a floor is to *change*, the check comes first, and the change follows in the same turn
// of the worker.
//
// Copies nothing and keeps nothing: the words lie in shared memory. Single-threaded.
#pragma once

#include <optional>

#include "dht/core/permissions.hpp"

namespace prophecy::sketcher {

// Reads CLOCK_BOOTTIME for cores, which read no clock.
class BootTimer {
 public:
  [[nodiscard]] virtual dht::BootTime now() = 0;

 protected:
  ~BootTimer() = default;
};

// The partition of a request's URI, and its word when the request began. Without a ring all zero.
struct Claim {
  dht::OwnerWord word;
  Partition partition = 0;

  bool operator==(const Claim&) const = default;
};

class Acceptance {
 public:
  Acceptance(dht::Permissions permissions, BootTimer& timer)
      : permissions_(permissions), timer_(timer) {}

  // To be read before the claim of what is asked for in this view.
  [[nodiscard]] std::uint64_t view() const { return permissions_.view(); }
  [[nodiscard]] Claim claim(Partition partition) const {
    return {permissions_.owner(partition), partition};
  }

  // The strongest ground on which an answer of this claim may be accepted now. Nothing: it may not
  // be, and has to be asked for again wherever the partition belongs by now.
  [[nodiscard]] std::optional<dht::Basis> basis(const Claim& claim) const {
    for (const dht::Basis basis : {dht::Basis::history, dht::Basis::group}) {
      if (may_accept(claim, basis)) return basis;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool may_accept(const Claim& claim, dht::Basis basis) const {
    return permissions_.may_accept(claim.partition, claim.word, basis,
                                   [this] { return timer_.now(); });
  }

 private:
  dht::Permissions permissions_;
  BootTimer& timer_;
};

}  // namespace prophecy::sketcher
