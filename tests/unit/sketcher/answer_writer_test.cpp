#include "sketcher/answer/answer_writer.hpp"

#include <initializer_list>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "http/parser.hpp"

namespace prophecy::sketcher {
namespace {

// The form of an origin's answer, kept alive with all that it points into.
struct OriginAnswer {
  explicit OriginAnswer(const std::string& head_fields, std::string body = "hello") {
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

struct AnswerFraming {
  bool answers_head = false;
  bool keep_alive = true;
  std::uint8_t version_minor = 1;
  const http::FieldList* conditions = nullptr;

  [[nodiscard]] AnswerContext context() const {
    return {.answers_head = answers_head, .conditions = conditions, .date = kDate};
  }
};

AnswerFraming framing() {
  return {};
}

void append(std::string& out, const Answer& made, const AnswerFraming& framed) {
  append_head(out, made, {.keep_alive = framed.keep_alive, .version_minor = framed.version_minor});
  out += made.body();
}

void append_answer(std::string& out, const sketch::AnswerForm& form,
                   const std::optional<sketch::Sketch>& sketch, const AnswerFraming& framed) {
  const AnswerContext context = framed.context();
  append(out, sketcher::Answer(form, sketch, context), framed);
}

void append_error(std::string& out, std::uint16_t status, std::string_view reason,
                  const AnswerFraming& framed) {
  const AnswerContext context = framed.context();
  append(out, sketcher::Answer(status, reason, context), framed);
}

// The framing of the answer to a GET with these fields.
struct Get {
  using Field = std::pair<std::string, std::string>;
  explicit Get(std::initializer_list<Field> fields = {}) {
    for (const auto& [name, value] : fields)
      request.add(name, value);
    framed.conditions = &request;
  }
  Get(const Get&) = delete;
  Get& operator=(const Get&) = delete;
  http::FieldList request;
  AnswerFraming framed = framing();
};

sketch::Sketch some_sketch() {
  sketch::Sketch sketch{};
  for (std::size_t i = 0; i < sketch.size(); ++i)
    sketch[i] = static_cast<std::uint8_t>(i * 11);
  return sketch;
}

constexpr std::string_view kTag = "\"000b16212c37424d5863\"";

}  // namespace

TEST_CASE("An answer is framed by us and carries only covered fields and our own") {
  OriginAnswer answer("content-type: text/plain\nserver: Apache/2.4 (evil)\nx-thing: 1\n");
  std::string out;
  append_answer(out, answer.form(), some_sketch(), Get().framed);
  CHECK(out ==
        "HTTP/1.1 200 OK\r\n"
        "content-type: text/plain\r\n"
        "x-thing: 1\r\n"
        "etag: " +
            std::string(kTag) +
            "\r\n"
            "accept-ranges: bytes\r\n"
            "content-length: 5\r\n"
            "date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "server: prophecy\r\n"
            "via: 1.1 prophecy\r\n"
            "\r\n"
            "hello");
}

TEST_CASE("An answer without a sketch has no tag") {
  OriginAnswer answer("content-type: text/plain\n");
  std::string out;
  append_answer(out, answer.form(), std::nullopt, Get().framed);
  CHECK(out.find("etag") == std::string::npos);
}

TEST_CASE("What answers a write is neither tagged nor cut") {
  OriginAnswer answer("content-type: text/plain\n");
  std::string out;
  append_answer(out, answer.form(), some_sketch(), framing());
  CHECK(out.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(out.find("etag") == std::string::npos);
  CHECK(out.find("accept-ranges") == std::string::npos);
  CHECK(out.ends_with("hello"));
}

TEST_CASE("A client that wants no transformation gets the plain body") {
  const std::string body(10'000, 'a');
  OriginAnswer origin("content-type: text/html\n", body);
  AnswerRules rules;
  rules.compression = CompressionRules{.codings = {http::ContentCoding::gzip},
                                       .types = {"text/html"},
                                       .bytes_min = 1,
                                       .bytes_max = 1 << 20};
  CompressionCounters counters;
  CodedBodies coded(1 << 20, 1, counters);
  const AnswerRuling ruling{.rules = &rules, .coded = &coded};
  const auto body_of = [&](const Get& get) {
    AnswerContext context = get.framed.context();
    context.ruling = &ruling;
    return std::string(sketcher::Answer(origin.form(), some_sketch(), context).body());
  };
  CHECK(body_of(Get({{"accept-encoding", "gzip"}})) != body);
  CHECK(body_of(Get({{"accept-encoding", "gzip"}, {"cache-control", "max-age=0"}})) != body);
  CHECK(body_of(Get({{"accept-encoding", "gzip"},
                     {"cache-control", "max-age=0"},
                     {"cache-control", "no-store, No-Transform"}})) == body);
}

TEST_CASE("If-None-Match with the present tag is answered 304 without a body") {
  OriginAnswer answer("content-type: text/plain\ncache-control: max-age=60\n");
  const Get conditional({{"if-none-match", "\"other\", W/" + std::string(kTag)}});
  std::string out;
  append_answer(out, answer.form(), some_sketch(), conditional.framed);
  CHECK(out.starts_with("HTTP/1.1 304 Not Modified\r\n"));
  CHECK(out.find("cache-control: max-age=60\r\n") != std::string::npos);
  CHECK(out.find("content-type") == std::string::npos);
  CHECK(out.find("content-length") == std::string::npos);
  CHECK(out.ends_with("\r\n\r\n"));
}

TEST_CASE("A range of the verified body is answered 206") {
  OriginAnswer answer("content-type: text/plain\n");
  std::string out;
  append_answer(out, answer.form(), some_sketch(), Get({{"range", "bytes=1-3"}}).framed);
  CHECK(out.starts_with("HTTP/1.1 206 Partial Content\r\n"));
  CHECK(out.find("content-range: bytes 1-3/5\r\n") != std::string::npos);
  CHECK(out.find("content-length: 3\r\n") != std::string::npos);
  CHECK(out.find("etag: " + std::string(kTag)) != std::string::npos);
  CHECK(out.ends_with("\r\n\r\nell"));
}

TEST_CASE("A range behind the end is answered 416, with the length") {
  OriginAnswer answer("content-type: text/plain\n");
  std::string out;
  append_answer(out, answer.form(), some_sketch(), Get({{"range", "bytes=5-"}}).framed);
  CHECK(out.starts_with("HTTP/1.1 416 Range Not Satisfiable\r\n"));
  CHECK(out.find("content-range: bytes */5\r\n") != std::string::npos);
}

TEST_CASE("Only a 200 is selected from") {
  OriginAnswer answer("content-type: text/plain\n");
  answer.response.status = 404;
  std::string out;
  append_answer(out, answer.form(), some_sketch(),
                Get({{"range", "bytes=1-3"}, {"if-none-match", "*"}}).framed);
  CHECK(out.starts_with("HTTP/1.1 404 Not Found\r\n"));
  CHECK(out.ends_with("hello"));
}

TEST_CASE("A failed precondition is answered 412") {
  OriginAnswer answer("last-modified: Sun, 06 Nov 1994 08:49:37 GMT\n");
  std::string out;
  append_answer(out, answer.form(), some_sketch(), Get({{"if-match", "\"other\""}}).framed);
  CHECK(out.starts_with("HTTP/1.1 412 Precondition Failed\r\n"));
}

TEST_CASE("The answer to HEAD has the fields, the length that the origin said, and no body") {
  OriginAnswer answer("content-type: text/plain\ncontent-length: 5\n", "");
  const Get get;
  AnswerFraming head = get.framed;
  head.answers_head = true;
  std::string out;
  append_answer(out, answer.form(true), some_sketch(), head);
  CHECK(out.find("content-length: 5\r\n") != std::string::npos);
  CHECK(out.find("etag") == std::string::npos);
  CHECK(out.ends_with("\r\n\r\n"));
}

TEST_CASE("The connection's fate is said where it differs from the version's default") {
  OriginAnswer answer("content-type: text/plain\n");
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

TEST_CASE("Expires beside max-age is made anew of the date") {
  const auto expires = [](const std::string& lines) {
    OriginAnswer made(lines, "x");
    std::string out;
    append_answer(out, made.form(), std::nullopt, framing());
    const std::size_t begin = out.find("expires: ");
    if (begin == std::string::npos) return std::string("none");
    return out.substr(begin + 9, out.find("\r\n", begin) - begin - 9);
  };
  CHECK(expires("Cache-Control: public, max-age=83\nExpires: Thu, 01 Jan 1970 00:00:00 GMT\n") ==
        "Sun, 06 Nov 1994 08:51:00 GMT");
  CHECK(expires("Cache-Control: max-age=99999999999999\nExpires: 0\n") ==
        "Fri, 24 Nov 2062 12:03:45 GMT");
  CHECK(expires("Expires: Thu, 01 Jan 1970 00:00:00 GMT\n") == "Thu, 01 Jan 1970 00:00:00 GMT");
  CHECK(expires("Cache-Control: max-age=83\n") == "none");
}

namespace {

// What clients get of an answer by rules, as lines.
std::string ruled(const AnswerRules& rules, const std::string& fields) {
  OriginAnswer origin(fields);
  AnswerRuling ruling{.rules = &rules, .scheme = "https", .authority = "a.example", .location = {}};
  const AnswerContext context{.date = kDate, .ruling = &ruling};
  std::string out;
  append(out, sketcher::Answer(origin.form(), some_sketch(), context), framing());
  return out;
}

std::string ruled_error(const AnswerRuling& ruling, std::uint16_t status, std::string_view reason) {
  const AnswerContext context{.date = kDate, .ruling = &ruling};
  std::string out;
  append(out, sketcher::Answer(status, reason, context), framing());
  return out;
}

bool has_line(const std::string& answer, const std::string& line) {
  return answer.find("\r\n" + line + "\r\n") != std::string::npos;
}

}  // namespace

TEST_CASE("Rules set, add and take out fields of verified answers, and change references back") {
  AnswerRules rules;
  rules.drop("x-debug");
  rules.set({"x-frame-options", "DENY"});
  rules.add({"link", "</a>"});
  rules.rewrite.emplace("/a", "/app");
  const std::string answer = ruled(rules,
                                   "x-debug: secret\nx-frame-options: ALLOW\nlink: </b>\n"
                                   "location: https://a.example/app/x\ncontent-location: /app/y\n");
  CHECK(answer.find("secret") == std::string::npos);
  CHECK(answer.find("ALLOW") == std::string::npos);
  for (const char* line : {"x-frame-options: DENY", "link: </a>", "link: </b>",
                           "location: https://a.example/a/x", "content-location: /a/y"}) {
    INFO(line);
    CHECK(has_line(answer, line));
  }
}

TEST_CASE("Answers of our own have the pages and fields of their route, and keep what they say") {
  AnswerRules rules;
  rules.set({"cache-control", "public"});
  rules.set({"x-frame-options", "DENY"});
  rules.pages.push_back({503, "text/html", "<p>Sorry</p>"});
  rules.maintenance_page = OwnPage{503, "text/plain; charset=utf-8", "Back soon"};
  AnswerRuling ruling{.rules = &rules, .location = "https://b.example/", .retry_after_s = 120};
  const std::string busy = ruled_error(ruling, 503, "overloaded");
  CHECK(busy.ends_with("\r\n\r\n<p>Sorry</p>"));
  for (const char* line : {"content-type: text/html", "content-length: 12", "retry-after: 120",
                           "cache-control: no-store", "x-frame-options: DENY"}) {
    INFO(line);
    CHECK(has_line(busy, line));
  }
  CHECK(ruled_error(ruling, 503, kMaintenance).ends_with("\r\n\r\nBack soon"));
  CHECK(ruled_error(ruling, 502, "owner-failed").ends_with("502 Bad Gateway: owner-failed\n"));
  const std::string moved = ruled_error(ruling, 308, "redirect");
  CHECK(has_line(moved, "location: https://b.example/"));
  CHECK(moved.find("no-store") == std::string::npos);
}

}  // namespace prophecy::sketcher
