#include "replica_client/core/health/check_rule.hpp"

#include <algorithm>

namespace prophecy::replica_client {

std::string_view to_string(CheckOutcome outcome) {
  switch (outcome) {
    case CheckOutcome::passed:
      return "passed";
    case CheckOutcome::no_connection:
      return "no-connection";
    case CheckOutcome::broken:
      return "broken";
    case CheckOutcome::timed_out:
      return "timed-out";
    case CheckOutcome::malformed:
      return "malformed";
    case CheckOutcome::too_large:
      return "too-large";
    case CheckOutcome::wrong_status:
      return "wrong-status";
    case CheckOutcome::wrong_body:
      return "wrong-body";
    case CheckOutcome::untrusted:
      return "untrusted-certificate";
    case CheckOutcome::expired:
      return "expired-certificate";
    case CheckOutcome::wrong_name:
      return "wrong-name";
    case CheckOutcome::tls_failed:
      return "tls-failed";
  }
  return "";
}

CheckOutcome judge(const CheckRule& rule, std::uint16_t status, std::string_view body) {
  const bool expected = std::any_of(
      rule.statuses.begin(), rule.statuses.end(),
      [&](const StatusRange& range) { return range.first <= status && status <= range.last; });
  if (!expected) return CheckOutcome::wrong_status;
  const bool found = body.find(rule.body) != std::string_view::npos;
  return found ? CheckOutcome::passed : CheckOutcome::wrong_body;
}

}  // namespace prophecy::replica_client
