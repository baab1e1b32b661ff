// `AnswerSketcher` makes the sketch of an observed answer: canonical form and s(r) are the
// sketcher's own code. Two deviations let it work on captures of any size and on revisit records,
// and neither changes which answers are equal:
//  - in the body's place stands its SHA-1, so no body is held, and a revisit that names a payload
//    digest needs none;
//  - a content coding is undone first, and Content-Encoding left out, as if the origin had been
//    asked for `identity`, which a sketcher does.
// The key of the digest is a constant: sketches are compared with one another here, never stored.
//
// No I/O. For one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.hpp"
#include "canonical/answer_form.hpp"
#include "http/parser.hpp"
#include "measurement/analysis/answer.hpp"
#include "measurement/input/byte_decoder.hpp"
#include "sketch/sketch.hpp"

namespace prophecy::measurement {

// A body after transfer and content decoding.
struct Payload {
  Sha1::Digest digest{};
  std::uint64_t bytes = 0;
};

struct AnswerSketch {
  AnswerKind kind = AnswerKind::sketched;
  std::uint16_t status = 0;
  sketch::Sketch sketch{};
  Payload payload;
};

// The part of an answer that is at hand.
enum class AnswerPart : std::uint8_t {
  whole,
  to_head,  // of an answer to HEAD, which has no body
  head,     // the body is elsewhere: a revisit record
};

struct SketchLimits {
  std::size_t held_bytes_max = 16 << 20;                  // of a body, for comparisons
  std::uint64_t body_bytes_max = std::uint64_t{4} << 30;  // after all decoding
};

class AnswerSketcher {
 public:
  // The profile must outlive it.
  explicit AnswerSketcher(const sketch::Profile& profile, SketchLimits limits = {});

  // Starts on an answer as it stood on the wire; `sha256` asks for that digest, too.
  void begin(AnswerPart part, bool sha256 = false);
  void feed(std::string_view bytes);
  // For answers one behind the other: how many of the bytes belong to this one.
  [[nodiscard]] std::size_t take(std::string_view bytes);
  [[nodiscard]] bool is_complete() const { return complete_; }
  // Empty, or what is wrong so far.
  [[nodiscard]] std::string_view problem() const { return problem_; }
  [[nodiscard]] std::uint16_t status() const { return response_.status; }
  // Empty: the answer is whole, and the digests below are its own. Else what is wrong with it.
  [[nodiscard]] std::string_view finish();

  // The payload as WARC means it, before content decoding.
  [[nodiscard]] const Sha1::Digest& wire_sha1() const { return wire_sha1_digest_; }
  [[nodiscard]] const std::optional<Sha256::Digest>& wire_sha256() const {
    return wire_sha256_digest_;
  }
  // The SHA-1 of what lies behind the head, as some writers mean it: with its transfer coding.
  [[nodiscard]] const std::optional<Sha1::Digest>& raw_sha1() const { return raw_sha1_digest_; }
  [[nodiscard]] const Payload& payload() const { return payload_; }

  // The decoded body, until the next begin(), if it is not larger than what is held.
  [[nodiscard]] BodyState body_state() const;
  [[nodiscard]] std::string_view body() const { return body_; }
  // The status and the fields that the last sketch covers, a line each.
  [[nodiscard]] std::string_view fields() const { return fields_; }

  // Requires a whole answer. An error is a static text.
  [[nodiscard]] std::optional<AnswerSketch> sketch(std::string_view& problem);
  // The same head with another payload: a revisit.
  [[nodiscard]] std::optional<AnswerSketch> sketch(const Payload& payload,
                                                   std::string_view& problem);

 private:
  void parse(std::string_view& bytes);
  void on_head();
  void on_body();
  void on_decoded(std::string_view bytes);
  void decode(std::string_view bytes);
  void write_fields(const sketch::AnswerForm& form);
  [[nodiscard]] AnswerKind kind_of(const sketch::AnswerForm& form) const;

  const sketch::Profile& profile_;
  SketchLimits limits_;
  http::MessageLimits parser_limits_;
  http::Response response_;
  http::ResponseParser parser_;
  sketch::AnswerCanonicalizer canonicalizer_;
  sketch::SketchFunction function_;
  bool answers_head_ = false;
  bool complete_ = false;
  bool has_head_ = false;
  std::string first_line_;  // until it is known to be of HTTP/1
  std::string_view problem_;
  Coding coding_ = Coding::identity;
  std::unique_ptr<ByteDecoder> decoder_;
  bool decoded_whole_ = false;
  bool has_body_ = false;
  std::string decoded_;
  std::string body_;  // empty beyond the limit
  std::string fields_;
  AnswerPart part_ = AnswerPart::whole;
  Sha1 wire_sha1_;
  std::optional<Sha256> wire_sha256_;
  std::optional<Sha1> raw_sha1_;
  Sha1 payload_sha1_;
  Sha1::Digest wire_sha1_digest_{};
  std::optional<Sha256::Digest> wire_sha256_digest_;
  std::optional<Sha1::Digest> raw_sha1_digest_;
  Payload payload_;
};

}  // namespace prophecy::measurement
