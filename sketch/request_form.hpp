// The canonical form of a request: what s(q) covers, and what an origin gets to see. On a read
// the two are the same but for the visible exceptions (RequestRule::forwarded).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "http/message.hpp"
#include "sketch/profile.hpp"

namespace prophecy::sketch {

// What the sketcher knows of a request beyond its bytes.
struct RequestContext {
  std::string_view scheme = "http";
  std::string_view client_address;  // numeric, for X-Forwarded-For
};

struct RequestForm {
  bool is_read = false;
  bool is_head = false;
  Bytes key;         // typed and length-prefixed: method, scheme, authority, target, keyed fields
  std::string wire;  // the request for the origin: an HTTP/1.1 head framed by us, and the body

  void clear();  // keeps the storage
};

// Why a request is refused, and with which status (400, 421, 501).
struct Refusal {
  std::uint16_t status;
  std::string_view reason;  // static text
};

// Fills `form` from a parsed request. One object a worker, for its scratch space.
class RequestCanonicalizer {
 public:
  explicit RequestCanonicalizer(const Profile& profile);
  [[nodiscard]] std::optional<Refusal> canonicalize(const http::Request& request,
                                                    const RequestContext& context,
                                                    RequestForm& form);
};

}  // namespace prophecy::sketch
