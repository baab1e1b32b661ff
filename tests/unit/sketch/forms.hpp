// Makes canonical forms out of HTTP text, as the programs do.
#pragma once

#include <string>
#include <string_view>

#include <catch2/catch.hpp>

#include "canonical/answer_form.hpp"
#include "canonical/request_form.hpp"
#include "http/parser.hpp"

namespace prophecy::sketch {

inline http::Request parse_request(std::string_view text) {
  http::Request request;
  const http::MessageLimits limits;
  http::RequestParser parser(request, limits);
  const auto head = parser.feed(text);
  INFO(text << parser.failure().reason);
  REQUIRE(head.state == http::ParseState::head_done);
  REQUIRE(parser.feed(text.substr(head.consumed)).state == http::ParseState::complete);
  return request;
}

inline http::Response parse_response(std::string_view text, bool answers_head = false) {
  http::Response response;
  const http::MessageLimits limits;
  http::ResponseParser parser(response, limits);
  parser.reset(answers_head);
  const auto head = parser.feed(text);
  INFO(text << parser.failure().reason);
  REQUIRE(head.state == http::ParseState::head_done);
  REQUIRE(parser.feed(text.substr(head.consumed)).state == http::ParseState::complete);
  return response;
}

// "HTTP/1.1 200 OK", these lines and a body with its length.
inline std::string answer_text(std::string_view lines, std::string_view body = "",
                               int status = 200) {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\n" + std::string(lines) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

// Keeps everything alive that a form looks into.
struct MadeAnswer {
  MadeAnswer(const Profile& profile, std::string_view text, bool answers_head = false,
             FieldCounters counters = {})
      : response(parse_response(text, answers_head)), canonicalizer(profile, counters) {
    fault = canonicalizer.canonicalize(response, answers_head, form);
  }
  [[nodiscard]] std::string fields() const {
    AnswerFields iterator(form);
    std::string_view name;
    std::string_view value;
    std::string text;
    while (iterator.next(name, value)) {
      text += "[" + std::string(name) + "=" + std::string(value) + "]";
    }
    return text;
  }

  http::Response response;
  AnswerCanonicalizer canonicalizer;
  AnswerForm form;
  AnswerFault fault = AnswerFault::none;
};

struct MadeRequest {
  MadeRequest(const Profile& profile, std::string_view text, RequestContext context = {},
              const FieldCounters& counters = {}) {
    RequestCanonicalizer canonicalizer;
    const http::Request request = parse_request(text);
    refusal = canonicalizer.locate(request, context, form);
    if (!refusal) refusal = canonicalizer.canonicalize(request, context, profile, form, counters);
  }

  RequestForm form;
  std::optional<Refusal> refusal;
};

}  // namespace prophecy::sketch
