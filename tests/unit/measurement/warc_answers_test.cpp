#include "measurement/readers/warc_answers.hpp"

#include <catch2/catch.hpp>

#include "base/bytes.hpp"
#include "compressed.hpp"
#include "warc_text.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kUrl = "https://a.example/page";
constexpr std::string_view kDate = "2025-06-01T12:30:01Z";

struct Seen : AnswerSink {
  std::vector<Answer> answers;
  std::vector<std::string> urls;
  std::vector<std::string> damage;
  int other_methods = 0;

  void on_answer(const Answer& answer) override {
    answers.push_back(answer);
    urls.emplace_back(answer.url);
  }
  void on_damage(Damage each) override { damage.push_back(each.problem); }
  void on_other_method() override { ++other_methods; }
};

Seen read(const std::string& bytes) {
  static const sketch::Profile profile;
  Seen seen;
  KnownPayloads payloads;
  WarcAnswers answers(profile, payloads, seen);
  WarcReader reader(answers);
  reader.on_bytes(bytes, 0, true);
  reader.finish();
  answers.finish();
  return seen;
}

std::string response(std::string_view answer, std::string_view fields = "") {
  return response_record(kUrl, kDate, answer, fields);
}

std::string digest_field(std::string_view payload) {
  Sha1 hash;
  hash.update(as_bytes(payload));
  return "WARC-Payload-Digest: sha1:" + to_hex(hash.finish()) + "\r\n";
}

std::string revisit(std::string_view fields, std::string_view block) {
  std::string head = "WARC-Target-URI: ";
  head.append(kUrl).append("\r\nWARC-Date: ").append(kDate).append("\r\n");
  head.append("Content-Type: application/http; msgtype=response\r\n").append(fields);
  return warc_record("revisit", head, block);
}

bool same(const std::string& one, const std::string& other) {
  const Seen seen = read(response(one) + response(other));
  REQUIRE(seen.damage == std::vector<std::string>{});
  REQUIRE(seen.answers.size() == 2);
  return seen.answers[0].sketch == seen.answers[1].sketch;
}

}  // namespace

TEST_CASE("answers are equal when the sketcher's canonical form says so") {
  const std::string page = http_answer("page", "Date: 1\r\nServer: a\r\nX-A: 1\r\nX-B: 2\r\n");
  CHECK(same(page, http_answer("page", "x-b: 2\r\nX-A: 1\r\nDate: 2\r\nServer: b\r\n")));
  CHECK_FALSE(same(page, http_answer("Page", "X-A: 1\r\nX-B: 2\r\n")));
  CHECK_FALSE(same(page, http_answer("page", "X-A: 2\r\nX-B: 2\r\n")));
  CHECK_FALSE(same(page, http_answer("page", "X-A: 1\r\nX-B: 2\r\n", "404 Not Found")));
  CHECK(
      same(http_answer("page"),
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\npa\r\n2\r\nge\r\n0\r\n\r\n"));
  CHECK(same(http_answer("page"), "HTTP/2 200 OK\r\nContent-Length: 4\r\n\r\npage"));
  CHECK(same(http_answer("page"), "HTTP/1.0 200 OK\r\n\r\npage"));
}

TEST_CASE("one answer under two codings is one answer") {
  const std::string page = http_answer("page");
  CHECK(same(page, http_answer(deflated("page"), "Content-Encoding: gzip\r\n")));
  CHECK(same(page, http_answer(deflated("page", 15), "Content-Encoding: deflate\r\n")));
  CHECK_FALSE(same(page, http_answer(deflated("Page"), "Content-Encoding: gzip\r\n")));
}

TEST_CASE("answers say what they are good for") {
  const auto kind = [](const std::string& answer) {
    return read(response(answer)).answers.at(0).kind;
  };
  CHECK(kind(http_answer("page")) == AnswerKind::sketched);
  CHECK(kind(http_answer("page", "", "404 Not Found")) == AnswerKind::sketched);
  CHECK(kind(http_answer("page", "", "503 Busy")) == AnswerKind::transient);
  CHECK(kind(http_answer("page", "Set-Cookie: a=b\r\n")) == AnswerKind::sets_cookie);
  CHECK(kind(http_answer("page", "Vary: *\r\n")) == AnswerKind::varies);
  CHECK(kind(http_answer("page", "Vary: Accept\r\n")) == AnswerKind::sketched);
}

TEST_CASE("a revisit repeats the payload that it refers to") {
  const std::string fields = digest_field("page");
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
  const Seen seen =
      read(response(http_answer("page"), fields) + revisit(fields, head) + revisit(fields, ""));
  REQUIRE(seen.answers.size() == 3);
  CHECK(seen.damage.empty());
  CHECK(seen.answers[1].kind == AnswerKind::sketched);
  CHECK(seen.answers[1].sketch == seen.answers[0].sketch);
  CHECK(seen.answers[1].body_bytes == 4);
  CHECK(seen.answers[2].sketch == seen.answers[0].sketch);
}

TEST_CASE("a revisit of an unknown payload is weak") {
  const Seen seen = read(revisit(digest_field("page"), "") + revisit("", ""));
  REQUIRE(seen.answers.size() == 1);
  CHECK(seen.answers[0].kind == AnswerKind::weak);
  CHECK(seen.damage.size() == 1);
}

TEST_CASE("payload digests are computed again") {
  const std::string page = http_answer("page");
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n";
  CHECK(read(response(page, digest_field("page"))).answers.size() == 1);
  CHECK(read(response(chunked, digest_field("page"))).answers.size() == 1);
  CHECK(read(response(chunked, digest_field("4\r\npage\r\n0\r\n\r\n"))).answers.size() == 1);
  CHECK(read(response(page, "WARC-Payload-Digest: md5:x\r\n")).answers.size() == 1);
  const Seen seen = read(response(page, digest_field("other")) + response(page));
  CHECK(seen.answers.size() == 1);
  CHECK(seen.damage == std::vector<std::string>{"the payload is not that of WARC-Payload-Digest"});
}

TEST_CASE("a damaged answer is none") {
  const std::string page = http_answer("page");
  for (const std::string& answer :
       {page.substr(0, page.size() - 1), page + "x", std::string("no answer at all, none"),
        std::string(""), http_answer("not coded", "Content-Encoding: gzip\r\n"),
        http_answer(deflated("cut short").substr(0, 12), "Content-Encoding: gzip\r\n"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\npa")}) {
    const Seen seen = read(response(answer));
    CAPTURE(answer);
    CHECK(seen.answers.empty());
    CHECK(seen.damage.size() == 1);
  }
  CHECK(read(response(page, "WARC-Truncated: length\r\n")).damage.size() == 1);
  CHECK(read(response_record(kUrl, "yesterday", page)).damage.size() == 1);
  CHECK(read(response_record("dns:a.example", kDate, page)).answers.empty());
}

TEST_CASE("the request record says the method, in front of the answer or behind it") {
  const auto request = [](std::string_view method, std::string_view to) {
    return warc_record(
        "request",
        "Content-Type: application/http\r\nWARC-Concurrent-To: " + std::string(to) + "\r\n",
        std::string(method) + " /page HTTP/1.1\r\nHost: a.example\r\n\r\n");
  };
  const std::string page = response(http_answer("page"), "WARC-Record-ID: <1>\r\n");
  CHECK(read(page + request("POST", "<1>")).other_methods == 1);
  CHECK(read(request("POST", "<1>") + page).other_methods == 1);
  CHECK(read(page + request("POST", "<2>")).urls ==
        std::vector<std::string>{"GET https://a.example/page"});
  const std::string head =
      response("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", "WARC-Record-ID: <1>\r\n");
  CHECK(read(request("HEAD", "<1>") + head).urls ==
        std::vector<std::string>{"HEAD https://a.example/page"});
}

TEST_CASE("an answer is forgotten when its gzip member turns out to be damaged") {
  static const sketch::Profile profile;
  Seen seen;
  KnownPayloads payloads;
  WarcAnswers answers(profile, payloads, seen);
  WarcReader reader(answers);
  reader.on_bytes(response(http_answer("page")), 0, false);
  reader.on_gap({0, "a gzip member is damaged"});
  reader.finish();
  answers.finish();
  CHECK(seen.answers.empty());
  CHECK(seen.damage.size() == 1);
}

}  // namespace prophecy::measurement
