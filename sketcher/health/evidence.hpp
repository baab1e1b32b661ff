// What the workers' counters of one origin say since they were read last.
//
// A worker counts in several steps, and may be read between two of them. So what goes down from one
// reading to the next says nothing, and comes up again with what follows.
#pragma once

#include <array>
#include <cstdint>

#include "replica_client/core/health/origin_health.hpp"
#include "sketcher/shared/totals.hpp"

namespace prophecy::sketcher {

class EvidenceReader {
 public:
  [[nodiscard]] replica_client::OriginEvidence read(const OriginTotals& totals);

 private:
  // Neither a queue of ours that is full nor a limit of ours speaks against the origin.
  static constexpr std::array kFailures{
      http::ExchangeEnd::not_sent,  http::ExchangeEnd::stale,      http::ExchangeEnd::broken,
      http::ExchangeEnd::timed_out, http::ExchangeEnd::malformed,  http::ExchangeEnd::untrusted,
      http::ExchangeEnd::expired,   http::ExchangeEnd::wrong_name, http::ExchangeEnd::tls_failed};

  replica_client::OriginEvidence before_;
  std::array<std::uint64_t, kFailures.size()> failures_before_{};
  std::uint64_t errors_before_ = 0;
};

}  // namespace prophecy::sketcher
