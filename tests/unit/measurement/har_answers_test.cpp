#include "measurement/readers/har_answers.hpp"

#include <catch2/catch.hpp>

#include "base/bytes.hpp"
#include "measurement/analysis/answer_sketcher.hpp"
#include "measurement/readers/sketch_log.hpp"

namespace prophecy::measurement {
namespace {

struct SeenEntries : AnswerSink {
  std::string text;
  std::vector<sketch::Sketch> sketches;
  std::string log;
  void on_answer(const Answer& answer) override {
    text.append(answer.url).append(" ").append(std::to_string(answer.status));
    text.append(" ").append(std::to_string(answer.body_bytes));
    text.append(answer.kind == AnswerKind::weak ? " weak;" : ";");
    sketches.push_back(answer.sketch);
    append_sketch_line(answer, log);
  }
  void on_damage(Damage damage) override { text += "!" + std::to_string(damage.offset) + ";"; }
  void on_other_method() override { text += "other;"; }
};

struct Entry {
  std::string url = "https://a.example/x";
  std::string method = "GET";
  std::string time = "2025-06-01T12:00:00.500Z";
  std::string status = "200";
  std::string headers = R"({"name":"Content-Type","value":"text/plain"})";
  std::string content = R"({"size":5,"text":"hello"})";
  std::string more = {};
};

std::string json_of(const Entry& entry) {
  return R"({"pageref":"p","startedDateTime":")" + entry.time + R"(",)" + entry.more +
         R"("request":{"method":")" + entry.method + R"(","url":")" + entry.url +
         R"(","headers":[{"name":"a","value":"b"}]},"response":{"status":)" + entry.status +
         R"(,"headers":[)" + entry.headers + R"(],"content":)" + entry.content + "}}";
}

std::string har(const std::vector<Entry>& entries) {
  std::string text = R"({"log":{"version":"1.2","pages":[{"id":"p"}],"entries":[)";
  for (const Entry& entry : entries)
    text += (text.ends_with('[') ? "" : ",") + json_of(entry);
  return text + "]}}";
}

SeenEntries read_har(std::string_view bytes, std::size_t text_bytes_max = 1 << 20) {
  const sketch::Profile profile;
  SeenEntries first;
  for (const std::size_t piece : {std::size_t{1}, std::size_t{11}, bytes.size() + 1}) {
    SeenEntries seen;
    HarAnswers answers(profile, seen, text_bytes_max);
    for (std::size_t begin = 0; begin < bytes.size(); begin += piece)
      answers.on_bytes(bytes.substr(begin, piece), begin, true);
    answers.finish();
    if (piece == 1) first = seen;
    CHECK(seen.text == first.text);
    CHECK(seen.sketches == first.sketches);
  }
  return first;
}

sketch::Sketch sketch_on_the_wire(std::string_view bytes) {
  const sketch::Profile profile;
  AnswerSketcher sketcher(profile);
  sketcher.begin(AnswerPart::whole);
  sketcher.feed(bytes);
  REQUIRE(sketcher.finish().empty());
  std::string_view problem;
  return sketcher.sketch(problem).value().sketch;
}

}  // namespace

TEST_CASE("an entry has the sketch of the answer on the wire") {
  const Entry coded{
      .headers = R"({"name":"content-type","value":"text/plain"},{"name":":status","value":"200"},
                    {"name":"Content-Encoding","value":"br"},{"name":"content-length","value":"3"},
                    {"name":"Transfer-Encoding","value":"chunked"})",
      .content = R"({"size":5,"text":"aGVsbG8=","encoding":"base64"})"};
  const SeenEntries seen = read_har(har({{}, coded}));
  CHECK(seen.text == "GET https://a.example/x 200 5;GET https://a.example/x 200 5;");
  const auto wire = sketch_on_the_wire(
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello");
  REQUIRE(seen.sketches.size() == 2);
  CHECK(seen.sketches[0] == wire);
  CHECK(seen.sketches[1] == wire);
}

TEST_CASE("fields of one name that share a value are told apart") {
  const Entry entry{.headers = R"({"name":"set-cookie","value":"a=1\nb=2"})"};
  const SeenEntries seen = read_har(har({entry}));
  REQUIRE(seen.sketches.size() == 1);
  CHECK(seen.sketches[0] == sketch_on_the_wire("HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: "
                                               "b=2\r\nContent-Length: 5\r\n\r\nhello"));
}

TEST_CASE("bodies that are left out or too large make weak answers") {
  const Entry left_out{.content = R"({"size":5})"};
  const Entry empty{.content = R"({"size":0})"};
  CHECK(read_har(har({left_out})).text == "GET https://a.example/x 200 5 weak;");
  CHECK(read_har(har({empty})).text == "GET https://a.example/x 200 0;");
  CHECK(read_har(har({{}}), 4).text == "GET https://a.example/x 200 5 weak;");
  CHECK(read_har(har({{.status = "304", .content = R"({"size":7})"}})).text ==
        "GET https://a.example/x 304 0;");
  CHECK(read_har(har({{.method = "HEAD", .content = R"({"size":7})"}})).text ==
        "HEAD https://a.example/x 200 0;");
}

TEST_CASE("entries that are no answers") {
  CHECK(read_har(har({{.status = "0"}})).text.empty());
  CHECK(read_har(har({{.more = R"("_fromCache":"memory",)"}})).text.empty());
  CHECK(read_har(har({{.url = "data:text/plain,x"}})).text.empty());
  CHECK(read_har(har({{.method = "POST"}})).text == "other;");
  CHECK(read_har(har({})).text.empty());
}

TEST_CASE("damage in a HAR") {
  const std::string good = "GET https://a.example/x 200 5;";
  const std::string offset = std::to_string(har({}).size() - 3);
  CHECK(read_har(har({{.time = "noon"}, {}})).text == "!" + offset + ";" + good);
  CHECK(read_har(har({{.status = "1000"}, {}})).text == "!" + offset + ";" + good);
  CHECK(read_har(har({{.content = R"({"size":5,"text":"a","encoding":"base64"})"}, {}})).text ==
        "!" + offset + ";" + good);
  CHECK(read_har(har({{.content = R"({"size":5,"text":"a","encoding":"rot13"})"}, {}})).text ==
        "!" + offset + ";" + good);
  const std::string whole = har({{}, {}});
  CHECK(read_har(whole.substr(0, whole.size() - 10)).text.starts_with(good + "!"));
  CHECK(read_har(har({}) + "x").text.starts_with("!"));
  CHECK(read_har("{}").text == "!0;");
  CHECK(read_har(R"({"log":{"entries":{}}})").text == "!0;");
}

TEST_CASE("a sketch log gives back what was written") {
  const sketch::Profile profile;
  const Entry weak{.url = "https://a.example/\\\"q", .content = R"({"size":5})"};
  const Entry addressed{.more = R"("serverIPAddress":"192.0.2.7",)"};
  const SeenEntries seen = read_har(har({{}, weak, addressed, {.status = "503"}}));
  const std::string log = sketch_log_header(profile) + seen.log;
  CHECK(begins_like_sketch_log(log));
  SeenEntries again;
  SketchLogAnswers answers(profile, again);
  answers.on_bytes(log, 0, true);
  answers.finish();
  CHECK(again.text == seen.text);
  CHECK(again.sketches == seen.sketches);
  CHECK(again.log == seen.log);
  CHECK(again.log.find("192.0.2.7") != std::string::npos);
  CHECK(answers.records() == 4);
}

TEST_CASE("lines of a sketch log that are wrong") {
  const sketch::Profile profile;
  const std::string header = sketch_log_header(profile);
  const std::string line =
      R"({"t":1,"u":"GET http://a/","c":200,"n":1,"s":")" + std::string(27, 'A') + "\"}\n";
  const auto text_of = [&](const std::string& log) {
    SeenEntries seen;
    SketchLogAnswers answers(profile, seen);
    answers.on_bytes(log, 0, true);
    answers.finish();
    return seen.text;
  };
  const auto changed = [&](std::string_view from, std::string_view into) {
    std::string text = line;
    return text.replace(text.find(from), from.size(), into);
  };
  const std::string good = "GET http://a/ 200 1;";
  const std::string bad = "!" + std::to_string(header.size()) + ";";
  CHECK(text_of(header + line) == good);
  CHECK(text_of("x\n" + line).empty());
  CHECK(text_of("{\"prophecy_sketch_log\":1,\"form\":\"00\"}\n" + line) == "!0;");
  for (const std::string& wrong :
       {changed("\"t\":1", "\"t\":1.5"), changed("GET http://a/", "http://a/"),
        changed("200", "70000"), changed("\"n\":1", "\"n\":-1"), changed("AAAA", "AAA"),
        changed("}", ",\"k\":\"odd\"}"), changed("}", ""), std::string("[]\n")}) {
    INFO(wrong);
    CHECK(text_of(header + wrong + line) == bad + good);
  }
}

}  // namespace prophecy::measurement
