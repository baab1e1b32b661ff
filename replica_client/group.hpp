// A replica group as the sketcher sees it (paper, section 3.1):
//
//   r          <- fast(q)        one origin, chosen by the caller
//   (r, sigma) <- replicated(q)  agreed by the group
//
// Every call ends in exactly one call of its handler, or is cancelled. A fast read may end before
// the call returns, a replicated one ends later. A handler may start another call.
//
// Single-threaded: all on the worker's event loop.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ids.hpp"
#include "http/client/origin_exchange.hpp"
#include "http/client/origin_pool.hpp"
#include "replica_client/core/call.hpp"
#include "replica_client/core/handlers.hpp"

namespace prophecy::replica_client {

class ReplicaGroup {
 public:
  virtual ~ReplicaGroup() = default;

  // Before any other call.
  virtual void start() = 0;
  [[nodiscard]] virtual std::uint32_t size() const = 0;
  [[nodiscard]] virtual std::uint32_t faults() const = 0;

  // `wire` is the text of one HTTP/1.1 request. It stays as it is until the exchange has ended.
  virtual void fast(http::OriginExchange& exchange, NodeId replica, std::string_view wire,
                    const FastForm& form) = 0;

  // Returns the call's id, which is never 0 and never used again: it serves to cancel, and names
  // the call in refutations.
  virtual std::uint64_t replicated(const ReplicatedRequest& request,
                                   ReplicatedHandler& handler) = 0;
  virtual void cancel_replicated(std::uint64_t id) = 0;
};

// How every kind of group asks one origin.
void start_fast_read(http::OriginPool& origin, http::OriginExchange& exchange,
                     std::string_view wire, const FastForm& form);

}  // namespace prophecy::replica_client
