// What an origin's answer to a check has to be. Deterministic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prophecy::replica_client {

struct StatusRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;  // inclusive
};

struct CheckRule {
  std::vector<StatusRange> statuses;
  std::string body;  // somewhere in the answer's; empty: any
};

enum class CheckOutcome : std::uint8_t {
  passed,
  no_connection,
  broken,  // closed within the exchange
  timed_out,
  malformed,
  too_large,
  wrong_status,
  wrong_body,
  untrusted,   // no authority that we believe has signed its certificate
  expired,     // its certificate
  wrong_name,  // its certificate is somebody else's
  tls_failed,  // another failure of the TLS handshake
};
constexpr std::size_t kCheckOutcomeCount = 12;
[[nodiscard]] std::string_view to_string(CheckOutcome outcome);

// Of a well-formed answer.
[[nodiscard]] CheckOutcome judge(const CheckRule& rule, std::uint16_t status,
                                 std::string_view body);

}  // namespace prophecy::replica_client
