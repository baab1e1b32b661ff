#include "http/exchange_end.hpp"

namespace prophecy::http {

std::string_view to_string(ExchangeEnd end) {
  switch (end) {
    case ExchangeEnd::answered:
      return "answered";
    case ExchangeEnd::not_sent:
      return "not-sent";
    case ExchangeEnd::stale:
      return "stale";
    case ExchangeEnd::broken:
      return "broken";
    case ExchangeEnd::timed_out:
      return "timed-out";
    case ExchangeEnd::malformed:
      return "malformed";
    case ExchangeEnd::too_large:
      return "too-large";
    case ExchangeEnd::overloaded:
      return "overloaded";
    case ExchangeEnd::untrusted:
      return "untrusted-certificate";
    case ExchangeEnd::expired:
      return "expired-certificate";
    case ExchangeEnd::wrong_name:
      return "wrong-name";
    case ExchangeEnd::tls_failed:
      return "tls-failed";
    case ExchangeEnd::shed:
      return "shed";
    case ExchangeEnd::delayed:
      return "delayed";
    case ExchangeEnd::quiet:
      return "quiet";
  }
  return "";
}

}  // namespace prophecy::http
