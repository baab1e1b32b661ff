// Writes answers down as HTTP/1.1.
#pragma once

#include <cstdint>
#include <string>

#include "sketcher/answer/answer.hpp"

namespace prophecy::sketcher {

// What the client is told of the connection.
struct ConnectionFate {
  bool keep_alive = true;
  std::uint8_t version_minor = 1;  // the request's
  bool chunked = false;            // the body's framing
};

// Appends the head. The answer's body has to follow.
void append_head(std::string& out, const Answer& answer, ConnectionFate fate);

}  // namespace prophecy::sketcher
