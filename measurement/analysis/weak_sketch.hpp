// Sketches of answers whose bodies are not in the inputs: equal for answers that look alike, and
// never compared with sketches of bodies.
//
// No I/O. Plain functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "measurement/analysis/answer.hpp"

namespace prophecy::measurement {

// The properties of an answer that are known without its body.
struct WeakAnswer {
  std::uint64_t status = 0;
  std::uint64_t body_bytes = 0;
  std::string_view etag{};
  std::string_view last_modified{};
};
[[nodiscard]] sketch::Sketch weak_sketch_of(const WeakAnswer& answer);

// The sketch of an answer of which only the payload's digest is known, with "sha1:" before it or
// not.
[[nodiscard]] sketch::Sketch weak_sketch_of_digest(std::string_view digest);

// `weak`, or `weak_transient` by the status.
[[nodiscard]] AnswerKind weak_kind_of(std::uint64_t status);

}  // namespace prophecy::measurement
