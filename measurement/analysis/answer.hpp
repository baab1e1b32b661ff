// `Answer` is one observed answer of one URL. All readers of inputs hand it to the analysis.
#pragma once

#include <cstdint>
#include <string_view>

#include "measurement/input/timestamp.hpp"
#include "sketch/sketch_value.hpp"

namespace prophecy::measurement {

// Whether an answer counts, and as what. docs/measurement.md defines a transition by these.
enum class AnswerKind : std::uint8_t {
  sketched,        // the history could hold it
  transient,       // 5xx, 408, 425, 429, 206, 304, 412, 416: never sketched
  sets_cookie,     // never sketched, since it is for one client
  varies,          // never sketched: its Vary names a field outside the key
  weak,            // its body is missing: the sketch is one of status, size, ETag, Last-Modified
  weak_transient,  // of a status as above, and its body is missing
  for_one_client,  // never sketched: a sketcher's log says so, and has no sketch of it
};
constexpr std::size_t kAnswerKinds = 7;

// Whether the bytes of the body are at hand.
enum class BodyState : std::uint8_t { held, absent, too_large };

struct Answer {
  std::string_view url;  // METHOD SCHEME://AUTHORITY TARGET without spaces between the last two
  Microseconds time = 0;
  AnswerKind kind = AnswerKind::sketched;
  std::uint16_t status = 0;
  std::uint64_t body_bytes = 0;  // after all decoding
  sketch::Sketch sketch{};       // of every kind: also of an answer that the history would not hold
  BodyState body_state = BodyState::absent;
  std::string_view body{};  // decoded; valid as long as the URL's text
  std::string_view
      fields{};  // of the canonical form: "name: value" lines behind a line of the status
  std::string_view address{};  // of the server, as the capture has it; empty if it does not say
};

}  // namespace prophecy::measurement
