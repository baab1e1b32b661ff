#include "canonical/answer_form.hpp"

#include "forms.hpp"

namespace prophecy::sketch {
namespace {

std::string answer_fields(std::string_view lines, std::string_view body = "") {
  MadeAnswer made(Profile(), answer_text(lines, body));
  REQUIRE(made.fault == AnswerFault::none);
  return made.fields();
}

AnswerFault fault_of(std::string_view lines) {
  return MadeAnswer(Profile(), answer_text(lines)).fault;
}

bool sketchable(std::string_view lines, int status = 200) {
  const Profile profile;
  MadeAnswer made(profile, answer_text(lines, "", status));
  REQUIRE(made.fault == AnswerFault::none);
  return may_be_sketched(made.form, profile);
}

}  // namespace

TEST_CASE("covered fields are sorted, everything else is gone") {
  CHECK(answer_fields("X-Unknown: u\r\nDate: d\r\nServer: s\r\nVia: v\r\nAge: 1\r\n"
                      "Accept-Ranges: bytes\r\nETag: \"e\"\r\nX-Powered-By: p\r\nX-Cache: HIT\r\n"
                      "X-Cache-Hits: 2\r\nX-Varnish: 1\r\nServer-Timing: t\r\nNEL: n\r\n"
                      "Report-To: r\r\nReporting-Endpoints: r\r\nX-Runtime: 1\r\nX-Served-By: s\r\n"
                      "Keep-Alive: max=99\r\nConnection: Keep-Alive, Upgrade\r\nUpgrade: h2\r\n"
                      "Proxy-Authenticate: p\r\nTrailer: t\r\nProphecy-Sketch: forged\r\n"
                      "Content-Type: t/x\r\nLast-Modified: l\r\nX-Request-Id: 1\r\n",
                      "body") ==
        "[content-type=t/x][last-modified=l][x-request-id=1][x-unknown=u]");
}

TEST_CASE("repeats are joined, but for Set-Cookie") {
  CHECK(answer_fields("Vary: a\r\nSet-Cookie: 2\r\nLink: x\r\nVary: b\r\nSet-Cookie: 1\r\n") ==
        "[link=x][set-cookie=2][set-cookie=1][vary=a, b]");
  CHECK(answer_fields("Vary: \r\nVary: b\r\n") == "[vary=b]");
  CHECK(answer_fields("Vary: \r\nVary:\r\n") == "[vary=]");
}

TEST_CASE("Expires beside max-age is the sketcher's to write") {
  CHECK(answer_fields("Expires: e\r\n") == "[expires=e]");
  CHECK(answer_fields("Expires: e\r\nCache-Control: public, Max-Age=3\r\n") ==
        "[cache-control=public, Max-Age=3][expires=]");
  CHECK(answer_fields("Cache-Control: max-age = 3\r\nExpires: e\r\n") ==
        "[cache-control=max-age = 3][expires=]");
  CHECK(answer_fields("Cache-Control: max-age=3\r\nExpires: e\r\nExpires: f\r\n") ==
        "[cache-control=max-age=3][expires=]");
  CHECK(answer_fields("Cache-Control: max-age=x\r\nExpires: e\r\n") ==
        "[cache-control=max-age=x][expires=e]");
  CHECK(answer_fields("Cache-Control: s-maxage=3\r\nExpires: e\r\n") ==
        "[cache-control=s-maxage=3][expires=e]");
  CHECK(answer_fields("Cache-Control: x=\"max-age=1, max-age=2\"\r\nExpires: e\r\n") ==
        "[cache-control=x=\"max-age=1, max-age=2\"][expires=e]");
  // What several say is what they say together.
  CHECK(answer_fields("Cache-Control: max-age=1x\r\nCache-Control: max-age=10\r\nExpires: e\r\n") ==
        "[cache-control=max-age=1x, max-age=10][expires=e]");
  CHECK(
      answer_fields("Cache-Control: private=\"x\r\nCache-Control: max-age=10\r\nExpires: e\r\n") ==
      "[cache-control=private=\"x, max-age=10][expires=e]");
  CHECK(
      answer_fields("Cache-Control: no-transform\r\nExpires: e\r\nCache-Control: max-age=10\r\n") ==
      "[cache-control=no-transform, max-age=10][expires=]");
}

TEST_CASE("the length in an answer to HEAD is covered") {
  MadeAnswer made(Profile(), "HTTP/1.1 200 OK\r\nContent-Length: 42\r\n\r\n", true);
  CHECK(made.fault == AnswerFault::none);
  CHECK(made.fields() == "[content-length=42]");
  CHECK(made.form.body.empty());
}

TEST_CASE("faults") {
  for (const char* name :
       {"Set-Cookie", "Content-Security-Policy", "Content-Type", "Cache-Control", "Vary",
        "Strict-Transport-Security", "Access-Control-Allow-Origin", "Content-Length",
        "Transfer-Encoding", "Date", "Cross-Origin-Opener-Policy", "X-Frame-Options"}) {
    INFO(name);
    CHECK(fault_of("Connection: close, " + std::string(name) + "\r\n") ==
          AnswerFault::nominated_field);
  }
  CHECK(answer_fields("Connection: X-Own\r\nX-Own: 1\r\nX-Other: 2\r\n") == "[x-other=2]");
}

TEST_CASE("what may be sketched") {
  for (const int status : {200, 203, 204, 301, 302, 400, 401, 403, 404, 410}) {
    INFO(status);
    CHECK(sketchable("", status));
  }
  for (const int status : {206, 304, 408, 412, 416, 425, 429, 500, 502, 503, 599}) {
    INFO(status);
    CHECK_FALSE(sketchable("", status));
  }
  CHECK(sketchable("Vary: Accept, Cookie\r\n"));
  CHECK(sketchable("Vary: Accept-Encoding\r\n"));
  CHECK(sketchable("Vary: Sec-Fetch-Mode\r\n"));
  CHECK_FALSE(sketchable("Vary: Accept, User-Agent\r\n"));
  CHECK_FALSE(sketchable("Vary: Accept\r\nVary: REFERER\r\n"));
  CHECK_FALSE(sketchable("Vary: X-Forwarded-For\r\n"));
  CHECK_FALSE(sketchable("Vary: *\r\n"));
}

TEST_CASE("forms survive the way over the wire") {
  for (const std::string& text :
       {answer_text("A: 1\r\nSet-Cookie: x\r\nSet-Cookie: x\r\n", "body"), answer_text(""),
        answer_text("X: \r\nX: \r\n", std::string(3, '\0'), 404)}) {
    MadeAnswer made(Profile(), text);
    const Bytes encoded = encode(made.form);
    const auto decoded = decode(encoded);
    REQUIRE(decoded.has_value());
    CHECK(decoded->status == made.form.status);
    CHECK(as_text(decoded->head) == as_text(made.form.head));
    CHECK(decoded->body == made.form.body);
    CHECK(encode(*decoded) == encoded);
    // No beginning of it is a form, and nothing may follow it.
    for (std::size_t size = 0; size < encoded.size(); ++size) {
      CHECK_FALSE(decode(ByteView(encoded).first(size)).has_value());
    }
    Bytes longer = encoded;
    longer.push_back(0);
    CHECK_FALSE(decode(longer).has_value());
  }
}

TEST_CASE("forms that nobody can have made are refused") {
  const auto decodes = [](std::uint16_t status,
                          std::initializer_list<std::pair<std::string, std::string>> fields) {
    Bytes head;
    Writer writer(head);
    writer.integer(status);
    for (const auto& [name, value] : fields) {
      writer.sized(as_bytes(name));
      writer.sized(as_bytes(value));
    }
    const AnswerForm form{status, head, "body"};
    const Bytes encoded = encode(form);
    return decode(encoded).has_value();
  };
  CHECK(decodes(200, {{"a", "1"}, {"b", ""}}));
  CHECK(decodes(200, {{"set-cookie", "1"}, {"set-cookie", "1"}}));
  CHECK_FALSE(decodes(100, {}));
  CHECK_FALSE(decodes(600, {}));
  CHECK_FALSE(decodes(200, {{"b", "1"}, {"a", "1"}}));
  CHECK_FALSE(decodes(200, {{"a", "1"}, {"a", "1"}}));
  CHECK_FALSE(decodes(200, {{"A", "1"}}));
  CHECK_FALSE(decodes(200, {{"", "1"}}));
  CHECK_FALSE(decodes(200, {{"a b", "1"}}));
  CHECK_FALSE(decodes(200, {{"a", "1\r\nx: y"}}));
  CHECK_FALSE(decodes(200, {{"a", " 1"}}));
}

TEST_CASE("differences are found and named") {
  const Profile profile;
  const auto differences = [&](const std::string& one, const std::string& other) {
    MadeAnswer a(profile, one);
    MadeAnswer b(profile, other);
    std::string text;
    for (const AnswerDifference& difference : compare(a.form, b.form)) {
      text += std::string(difference.part) + ":" + difference.header + ":" +
              std::to_string(difference.body_offset) + " ";
    }
    return text;
  };
  const std::string base = answer_text("A: 1\r\nB: 2\r\nSet-Cookie: x\r\n", "hello");
  CHECK(differences(base, base).empty());
  CHECK(differences(base, answer_text("A: 1\r\nB: 3\r\nSet-Cookie: x\r\n", "help!")) ==
        "header:b:0 body::3 ");
  CHECK(differences(base, answer_text("B: 2\r\nC: 2\r\nSet-Cookie: x\r\n", "hell", 404)) ==
        "status::0 header:a:0 header:c:0 body::4 ");
  CHECK(differences(base, answer_text("A: 1\r\nB: 2\r\nSet-Cookie: y\r\nSet-Cookie: z\r\n",
                                      "hello")) == "header:set-cookie:0 ");
  std::string many;
  for (int i = 10; i < 60; ++i)
    many += "X-" + std::to_string(i) + ": 1\r\n";
  MadeAnswer a(profile, answer_text(""));
  MadeAnswer b(profile, answer_text(many));
  CHECK(compare(a.form, b.form).size() == kHeaderDifferencesMax);
}

}  // namespace prophecy::sketch
