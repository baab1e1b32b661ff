// Serialises answers for clients. All that a client receives is made here, out of a verified form
// or by ourselves; no byte is passed through.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.hpp"
#include "sketch/answer_form.hpp"
#include "sketch/sketch_value.hpp"

namespace prophecy::sketcher {

// What the answer's framing depends on.
struct AnswerFraming {
  bool answers_head = false;
  bool keep_alive = true;
  std::uint8_t version_minor = 1;  // the request's
  std::string_view if_none_match;  // empty: none
  std::string_view date;           // IMF-fixdate
};

// Appends the answer. With a sketch, a 200 carries it as its strong ETag, and becomes a 304 where
// if_none_match names it.
void append_answer(std::string& out, const sketch::AnswerForm& form,
                   const std::optional<sketch::Sketch>& sketch, const AnswerFraming& framing);

// Appends an answer of our own, with `reason` in the field prophecy-reason and in the body.
void append_error(std::string& out, std::uint16_t status, std::string_view reason,
                  const AnswerFraming& framing);

// True when the list of entity tags in an If-None-Match field names `tag` or is "*"
// (weak comparison, RFC 9110, 13.1.2).
[[nodiscard]] bool etag_matches(std::string_view if_none_match, std::string_view tag);

}  // namespace prophecy::sketcher
