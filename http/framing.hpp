// How long a message's body is (RFC 9112, 6.3), and whether the connection outlives the message.
// Any doubt about the length is a failure: two parsers that disagree about it are how requests get
// smuggled. Internal to http/.
#pragma once

#include <cstdint>

#include "http/body_decoder.hpp"
#include "http/message.hpp"

namespace prophecy::http {

// Memory that is set aside before a byte of a declared body has come.
inline constexpr std::uint64_t kBodyReserveMax = 64 << 10;

struct Framing {
  BodyFraming kind = BodyFraming::none;
  std::uint64_t length = 0;
  ParseFailure failure;  // with a reason: the message is refused
};

// For a message without either field, `otherwise`.
[[nodiscard]] Framing framing_of(const FieldList& fields, std::uint8_t version_minor,
                                 BodyFraming otherwise);

// What the version and the Connection field ask for.
[[nodiscard]] bool asks_to_keep_alive(const FieldList& fields, std::uint8_t version_minor);

}  // namespace prophecy::http
