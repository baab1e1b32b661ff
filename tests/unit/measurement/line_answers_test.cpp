#include "measurement/readers/line_answers.hpp"

#include <catch2/catch.hpp>

#include "measurement/readers/access_log_answers.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kLine =
    "192.0.2.1 - - [01/Jun/2025:14:30:01 +0200] \"GET /a?b HTTP/1.1\" 200 12 \"-\" \"x\"\n";

struct SeenLines : AnswerSink {
  std::string text;
  void on_answer(const Answer& answer) override {
    text.append(answer.url).append(" ").append(std::to_string(answer.time / 1'000'000));
    text.append(answer.kind == AnswerKind::weak ? " weak;" : " transient;");
  }
  void on_damage(Damage damage) override { text += "!" + std::to_string(damage.offset) + ";"; }
  void on_other_method() override { text += "other;"; }
};

std::string read_lines(LineFormat format, std::string_view bytes) {
  std::string first;
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, bytes.size() + 1}) {
    SeenLines seen;
    LineAnswers answers(format, "https://a", seen);
    for (std::size_t begin = 0; begin < bytes.size(); begin += piece)
      answers.on_bytes(bytes.substr(begin, piece), begin, true);
    answers.finish();
    if (piece == 1) first = seen.text;
    CHECK(seen.text == first);
  }
  return first;
}

}  // namespace

TEST_CASE("lines of a log, good and bad") {
  const std::string good(kLine);
  const std::string told = "GET https://a/a?b 1748781001 weak;";
  CHECK(begins_like_log(kLine));
  CHECK_FALSE(begins_like_log("nonsense\n"));
  CHECK(read_lines(LineFormat::access_log, good + good) == told + told);
  CHECK(read_lines(LineFormat::access_log, "x\n" + good) == "!0;" + told);
  CHECK(read_lines(LineFormat::access_log, good.substr(0, good.size() - 9)) == "!0;");
  CHECK(read_lines(LineFormat::access_log, std::string(100'000, 'x') + "\n" + good) ==
        "!0;" + told);
  CHECK(read_lines(LineFormat::access_log, "").empty());
}

TEST_CASE("lines of HAProxy's log") {
  const std::string line =
      "Feb  6 12:14:14 host haproxy[143]: 10.0.1.2:33317 [01/Jun/2025:12:30:01.655] in back/srv "
      "10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} \"GET /a HTTP/1.1\"\n";
  const std::string told = "GET https://a/a 1748781001 weak;";
  CHECK(begins_like_log(line));
  CHECK(read_lines(LineFormat::access_log, line + std::string(kLine)) ==
        told + "GET https://a/a?b 1748781001 weak;");
  // Without a syslog daemon's prefix.
  CHECK(read_lines(LineFormat::access_log, line.substr(line.find("10.0"))) == told);
  CHECK(read_lines(LineFormat::access_log, line.substr(0, line.find(" 200")) + "\n") == "!0;");
}

TEST_CASE("lines of a sketcher's access log") {
  const std::string begin = R"({"prophecy_access":1,"time":1748781001.500000,"method":"GET",)"
                            R"("url":"http://a/x","status":200,"bytes":12,"by":"fast")";
  const std::string sketch =
      R"(,"variant":"01","sketch":"00112233445566778899aabbccddeeff00112233")";
  const auto read_lines = [](const std::string& lines) {
    SeenLines seen;
    AccessLogAnswers answers(seen);
    answers.on_bytes(lines, 0, true);
    answers.finish();
    return seen.text;
  };
  CHECK(begins_like_access_log(begin));
  CHECK(read_lines(begin + sketch + "}\n") == "GET http://a/x#01 1748781001 transient;");
  // Without a key nothing is known but status and size.
  CHECK(read_lines(begin + "}\n") == "GET http://a/x 1748781001 weak;");
  for (const char* wrong : {R"(,"sketch":"0011"})", R"(,"time":17487.5})", R"(,"status":9})",
                            R"(,"url":"x"})", R"(,"method":""})", ""}) {
    CHECK(read_lines(begin + wrong + "\n") == "!0;");
  }
  CHECK(read_lines(begin + R"(,"method":"PUT"})"
                           "\n") == "other;");
  CHECK(read_lines(begin + R"(,"by":"sketcher"})"
                           "\n")
            .empty());
}

TEST_CASE("lines of a CDXJ index") {
  const std::string line =
      R"(a)/ 20250601123001 {"url":"http://a/","status":"200","digest":"sha1:ABCDEFGHIJ"})"
      "\n";
  CHECK(begins_like_cdxj(line));
  CHECK(begins_like_cdxj("!OpenWayback-CDXJ 1.0\n"));
  CHECK_FALSE(begins_like_cdxj(kLine));
  CHECK_FALSE(begins_like_cdxj("a 20250601123001 x\n"));
  const std::string told = "GET http://a/ 1748781001 weak;";
  CHECK(read_lines(LineFormat::cdxj, "!meta 0 {}\n" + line + line) == told + told);
  CHECK(read_lines(LineFormat::cdxj, "a 20250601123001 {\n" + line) == "!0;" + told);
  CHECK(read_lines(LineFormat::cdxj, "a noon {\"url\":\"http://a/\"}\n" + line) == "!0;" + told);
  CHECK(read_lines(LineFormat::cdxj,
                   "a 20250601123001 {\"url\":\"http://a/\",\"method\":\"POST\"}\n") == "other;");
}

TEST_CASE("lines of an index need a header that is known") {
  const std::string line = "a 20250601123001 http://a/ text/html 200 ABCDEFGHIJ - - 1 2 f\n";
  CHECK(read_lines(LineFormat::cdx, " CDX N b a m s k r\n" + line) ==
        "GET http://a/ 1748781001 weak;");
  CHECK(read_lines(LineFormat::cdx, " CDX a b\n" + line) == "!0;!9;");
  CHECK(read_lines(LineFormat::cdx, " CDX N b a m s k r\nshort\n") == "!19;");
}

}  // namespace prophecy::measurement
