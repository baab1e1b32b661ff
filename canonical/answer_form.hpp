// The canonical form of an answer: what replicas agree on, what s(r) covers, and all that a client
// receives. (An empty Expires beside max-age stands for one that the sketcher writes: now and
// max-age.) `head` encodes the status and the covered fields, sorted; the body follows unchanged,
// or, in a 200 that is larger than the profile's whole answers, the digests of its blocks.
// docs/canonical-form.md holds the encoding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/codec.hpp"
#include "base/error.hpp"
#include "canonical/block_list.hpp"
#include "canonical/field_counters.hpp"
#include "canonical/nominated.hpp"
#include "canonical/profile.hpp"
#include "http/message.hpp"

namespace prophecy::sketch {

// An answer beyond these has no canonical form.
constexpr std::size_t kAnswerHeadBytesMax = 1 << 20;
constexpr std::size_t kAnswerBodyBytesMax = 1 << 30;

// Views into a message or an encoded form that must outlive it.
struct AnswerForm {
  std::uint16_t status = 0;
  ByteView head;
  std::string_view body;
  BlockList blocks{};  // in place of the body, if it has a length

  [[nodiscard]] bool in_blocks() const { return blocks.length > 0; }
  [[nodiscard]] bool is_open_ended() const { return blocks.length == kOpenEnded; }
  [[nodiscard]] std::uint64_t body_bytes() const {
    return in_blocks() ? blocks.length : body.size();
  }
};

// Any but `none` makes the answer useless: a failure of the origin that gave it.
enum class AnswerFault : std::uint8_t {
  none,
  nominated_field,  // Connection names a field that may not be hop-by-hop (Set-Cookie, CSP, ...)
  too_large,
};

// Turns an origin's parsed answer into its form. One object a worker: the form's head lies in the
// canonicalizer until its next call, the body in the response. Not thread-safe.
class AnswerCanonicalizer {
 public:
  // The profile must outlive it; `counters` are of that profile.
  explicit AnswerCanonicalizer(const Profile& profile, FieldCounters counters = {});
  [[nodiscard]] AnswerFault canonicalize(const http::Response& response, bool answers_head,
                                         AnswerForm& form);
  // The last answer's first field by which an origin controls its own front end (X-Accel-*,
  // X-Sendfile), if it had one: it was dropped, and somebody should be told that it leaked. Looks
  // into that response, which the next one need not find there any more.
  [[nodiscard]] std::string_view leaked() const { return leaked_; }
  // For who asks for a form and may find none without looking at the answer's fields.
  void forget_leak() { leaked_ = {}; }

 private:
  [[nodiscard]] AnswerFault take_fields(const http::Response& response, bool answers_head);
  void write_head(const http::Response& response);
  void clamp_last_modified(std::string& value) const;

  const Profile& profile_;
  FieldCounters counters_;
  std::string_view leaked_;
  NominatedNames nominated_;
  std::vector<std::size_t> covered_;  // positions in the response's fields, sorted by name
  std::string joined_;
  Bytes head_;
};

// What agents hand to PBFT as the result, and back. decode() accepts what encode() can have made
// of a canonical form and nothing else, so that encode(decode(x)) is x. The form it returns looks
// into `encoded`.
[[nodiscard]] Bytes encode(const AnswerForm& form);
[[nodiscard]] Result<AnswerForm> decode(ByteView encoded);

// 5xx, 408, 425 and 429: the origin is busy or in trouble, and may answer otherwise the next time.
[[nodiscard]] bool is_transient_status(std::uint16_t status);
// False for a transient status, and for one that answers a range or a condition: none was asked
// for.
[[nodiscard]] bool has_sketchable_status(const AnswerForm& form);
// The answer was made for one request, and no other request may be given it: it sets a cookie
// (unless the profile says that cookies are the same for all), or its Vary names a request field
// that origins see and s(q) does not cover.
[[nodiscard]] bool is_for_one_request(const AnswerForm& form, const Profile& profile);
// Whether the history may hold it: its status is sketchable, and it is not for one request alone.
// Any answer may be agreed on and delivered.
[[nodiscard]] bool may_be_sketched(const AnswerForm& form, const Profile& profile);

// Iterates the covered fields of a form, in order.
class AnswerFields {
 public:
  explicit AnswerFields(const AnswerForm& form);
  // False at the end. The views are into the form's head.
  [[nodiscard]] bool next(std::string_view& name, std::string_view& value);

 private:
  Reader reader_;
};

// Where two answers differ, for a divergence's evidence: "status", "header:NAME", "body".
struct AnswerDifference {
  std::string_view part;          // "status", "header" or "body"
  std::string header;             // the differing field's name
  std::uint64_t body_offset = 0;  // of the first differing byte, or of its block
};

// At most this many differences are listed; the status and the body always are.
constexpr std::size_t kHeaderDifferencesMax = 16;
[[nodiscard]] std::vector<AnswerDifference> compare(const AnswerForm& one, const AnswerForm& other);

}  // namespace prophecy::sketch
