#include "base/endpoint.hpp"

#include <charconv>

#include <arpa/inet.h>

namespace prophecy {
namespace {

// "0:0::1" to "::1", so that equal addresses are equal texts; empty for what is no address.
std::string usual_spelling(const std::string& address) {
  in6_addr buffer{};
  char text[INET6_ADDRSTRLEN] = "";
  for (const int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, address.c_str(), &buffer) != 1) continue;
    ::inet_ntop(family, &buffer, text, sizeof text);
  }
  return text;
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text) {
  const Error wrong{ErrorKind::invalid,
                    "expected ADDRESS:PORT with a numeric address, as in "
                    "\"127.0.0.1:8080\" or \"[::1]:8080\", got \"" +
                        std::string(text) + "\""};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong;
  std::string_view address = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);
  const bool bracketed = address.size() > 2 && address.front() == '[' && address.back() == ']';
  if (bracketed) address = address.substr(1, address.size() - 2);
  if (bracketed != (address.find(':') != std::string_view::npos)) return wrong;

  Endpoint endpoint{usual_spelling(std::string(address)), 0};
  const char* end = port_text.data() + port_text.size();
  const auto parsed = std::from_chars(port_text.data(), end, endpoint.port);
  if (port_text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return wrong;
  if (endpoint.address.empty()) return wrong;
  return endpoint;
}

std::string to_string(const Endpoint& endpoint) {
  const bool v6 = endpoint.address.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint.address + "]" : endpoint.address) + ":" +
         std::to_string(endpoint.port);
}

}  // namespace prophecy
