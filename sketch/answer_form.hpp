// The canonical form of an answer: what replicas agree on, what s(r) covers, and all that a client
// receives. `head` encodes the status and the covered fields, sorted; the body follows unchanged.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "http/message.hpp"
#include "sketch/profile.hpp"

namespace prophecy::sketch {

// Views into a message or an encoded form that must outlive it.
struct AnswerForm {
  std::uint16_t status = 0;
  ByteView head;
  std::string_view body;
};

enum class AnswerFault : std::uint8_t {
  none,
  nominated_field,  // Connection names a field that may not be hop-by-hop (Set-Cookie, CSP, ...)
  internal_field,   // X-Accel-*, X-Sendfile: origin-internal control that leaked
  too_large,
};

// Turns an origin's parsed answer into its form. One object a worker: the form's head lies in the
// canonicalizer until its next call, the body in the response.
class AnswerCanonicalizer {
 public:
  explicit AnswerCanonicalizer(const Profile& profile);
  [[nodiscard]] AnswerFault canonicalize(const http::Response& response, bool answers_head,
                                         AnswerForm& form);
};

// What agents hand to PBFT as the result, and back.
[[nodiscard]] Bytes encode(const AnswerForm& form);
[[nodiscard]] Result<AnswerForm> decode(ByteView encoded);

// True when the history may hold it: 5xx, 408, 425 and 429 may be agreed and delivered, never
// sketched; neither may an answer whose Vary names a request field that is not keyed.
[[nodiscard]] bool may_be_sketched(const AnswerForm& form, const Profile& profile);

// Iterates the covered fields of a form, in order.
class AnswerFields {
 public:
  explicit AnswerFields(const AnswerForm& form);
  // False at the end.
  [[nodiscard]] bool next(std::string_view& name, std::string_view& value);
};

// Where two answers differ, for a divergence's evidence: "status", "header:NAME", "body".
struct AnswerDifference {
  std::string_view part;          // "status", "header" or "body"
  std::string header;             // the first differing field's name
  std::uint64_t body_offset = 0;  // of the first differing byte
};
[[nodiscard]] std::vector<AnswerDifference> compare(const AnswerForm& one, const AnswerForm& other);

}  // namespace prophecy::sketch
