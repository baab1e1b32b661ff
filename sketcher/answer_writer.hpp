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
  std::uint8_t version_minor = 1;               // the request's
  const http::FieldList* conditions = nullptr;  // the request's fields; null: it is no read
  std::string_view date;                        // IMF-fixdate
};

// Appends the answer. With a sketch, the 200 that answers a GET carries it as its strong ETag. What
// the request makes a 200 depend on, and the part of it that it asks for, are seen to here.
void append_answer(std::string& out, const sketch::AnswerForm& form,
                   const std::optional<sketch::Sketch>& sketch, const AnswerFraming& framing);

// Appends an answer of our own, with `reason` in the field prophecy-reason and in the body.
void append_error(std::string& out, std::uint16_t status, std::string_view reason,
                  const AnswerFraming& framing);

}  // namespace prophecy::sketcher
