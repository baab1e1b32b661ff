// Reads method, target and Host out of the beginning of a request that we have serialised
// ourselves, for evidence. What is cut off or missing reads as empty.
#pragma once

#include <string_view>

namespace prophecy::sketcher {

struct RequestLine {
  std::string_view method;
  std::string_view target;
  std::string_view authority;
};

[[nodiscard]] RequestLine parse_request_line(std::string_view head);

}  // namespace prophecy::sketcher
