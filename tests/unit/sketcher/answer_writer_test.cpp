#include "sketcher/answer_writer.hpp"

#include <catch2/catch.hpp>

#include "http/parser.hpp"

namespace prophecy::sketcher {
namespace {

// The form of an origin's answer, kept alive with all that it points into.
struct Answer {
  explicit Answer(const std::string& head_fields, std::string body = "hello") {
    response.status = 200;
    response.body = std::move(body);
    std::string_view rest = head_fields;
    while (!rest.empty()) {
      const std::size_t colon = rest.find(": ");
      const std::size_t end = rest.find('\n');
      response.fields.add(rest.substr(0, colon), rest.substr(colon + 2, end - colon - 2));
      rest.remove_prefix(end + 1);
    }
  }
  sketch::AnswerForm form(bool answers_head = false) {
    sketch::AnswerForm made;
    REQUIRE(canonicalizer.canonicalize(response, answers_head, made) == sketch::AnswerFault::none);
    return made;
  }
  sketch::Profile profile;
  sketch::AnswerCanonicalizer canonicalizer{profile};
  http::Response response;
};

constexpr std::string_view kDate = "Sun, 06 Nov 1994 08:49:37 GMT";

AnswerFraming framing() {
  return {.answers_head = false,
          .keep_alive = true,
          .version_minor = 1,
          .if_none_match = {},
          .date = kDate};
}

sketch::Sketch some_sketch() {
  sketch::Sketch sketch{};
  for (std::size_t i = 0; i < sketch.size(); ++i)
    sketch[i] = static_cast<std::uint8_t>(i * 11);
  return sketch;
}

constexpr std::string_view kTag = "\"000b16212c37424d5863\"";

}  // namespace

TEST_CASE("An answer is framed by us and carries only covered fields and our own") {
  Answer answer("content-type: text/plain\nserver: Apache/2.4 (evil)\nx-thing: 1\n");
  std::string out;
  append_answer(out, answer.form(), some_sketch(), framing());
  CHECK(out ==
        "HTTP/1.1 200 OK\r\n"
        "content-type: text/plain\r\n"
        "x-thing: 1\r\n"
        "etag: " +
            std::string(kTag) +
            "\r\n"
            "content-length: 5\r\n"
            "date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "server: prophecy\r\n"
            "via: 1.1 prophecy\r\n"
            "\r\n"
            "hello");
}

TEST_CASE("An answer without a sketch has no tag") {
  Answer answer("content-type: text/plain\n");
  std::string out;
  append_answer(out, answer.form(), std::nullopt, framing());
  CHECK(out.find("etag") == std::string::npos);
}

TEST_CASE("If-None-Match with the present tag is answered 304 without a body") {
  Answer answer("content-type: text/plain\ncache-control: max-age=60\n");
  AnswerFraming conditional = framing();
  const std::string list = "\"other\", W/" + std::string(kTag);
  conditional.if_none_match = list;
  std::string out;
  append_answer(out, answer.form(), some_sketch(), conditional);
  CHECK(out.starts_with("HTTP/1.1 304 Not Modified\r\n"));
  CHECK(out.find("cache-control: max-age=60\r\n") != std::string::npos);
  CHECK(out.find("content-type") == std::string::npos);
  CHECK(out.find("content-length") == std::string::npos);
  CHECK(out.ends_with("\r\n\r\n"));
}

TEST_CASE("The answer to HEAD has the fields, the length that the origin said, and no body") {
  Answer answer("content-type: text/plain\ncontent-length: 5\n", "");
  AnswerFraming head = framing();
  head.answers_head = true;
  std::string out;
  append_answer(out, answer.form(true), some_sketch(), head);
  CHECK(out.find("content-length: 5\r\n") != std::string::npos);
  CHECK(out.find("etag") == std::string::npos);
  CHECK(out.ends_with("\r\n\r\n"));
}

TEST_CASE("The connection's fate is said where it differs from the version's default") {
  Answer answer("content-type: text/plain\n");
  AnswerFraming closing = framing();
  closing.keep_alive = false;
  std::string out;
  append_answer(out, answer.form(), std::nullopt, closing);
  CHECK(out.find("connection: close\r\n") != std::string::npos);
  AnswerFraming old = framing();
  old.version_minor = 0;
  out.clear();
  append_answer(out, answer.form(), std::nullopt, old);
  CHECK(out.find("connection: keep-alive\r\n") != std::string::npos);
}

TEST_CASE("Errors of our own say why, and parse") {
  std::string out;
  append_error(out, 503, "too-few-replicas", framing());
  http::Response response;
  const http::MessageLimits limits;
  http::ResponseParser parser(response, limits);
  parser.reset(false);
  std::string_view rest = out;
  http::ParseProgress progress = parser.feed(rest);
  REQUIRE(progress.state == http::ParseState::head_done);
  rest.remove_prefix(progress.consumed);
  progress = parser.feed(rest);
  REQUIRE(progress.state == http::ParseState::complete);
  CHECK(progress.consumed == rest.size());
  CHECK(response.status == 503);
  CHECK(response.fields.find("prophecy-reason") == "too-few-replicas");
  CHECK(response.fields.find("retry-after").has_value());
  CHECK(response.body == "503 Service Unavailable: too-few-replicas\n");
}

TEST_CASE("Entity tags in a list") {
  CHECK(etag_matches("\"a\"", "\"a\""));
  CHECK(etag_matches("*", "\"a\""));
  CHECK(etag_matches("\"x\", \"a\"", "\"a\""));
  CHECK(etag_matches("\"x,y\",W/\"a\"", "\"a\""));
  CHECK_FALSE(etag_matches("\"ab\"", "\"a\""));
  CHECK_FALSE(etag_matches("", "\"a\""));
  CHECK_FALSE(etag_matches("\"x", "\"a\""));
  CHECK_FALSE(etag_matches("a", "\"a\""));
}

}  // namespace prophecy::sketcher
