// What the workers' counters of one origin say since they were read last.
//
// A worker counts in several steps, and may be read between two of them. So what goes down from one
// reading to the next says nothing, and comes up again with what follows.
#pragma once

#include <cstdint>

#include "replica_client/core/health/origin_health.hpp"
#include "sketcher/totals.hpp"

namespace prophecy::sketcher {

class EvidenceReader {
 public:
  [[nodiscard]] replica_client::OriginEvidence read(const OriginTotals& totals);

 private:
  replica_client::OriginEvidence before_;
};

}  // namespace prophecy::sketcher
