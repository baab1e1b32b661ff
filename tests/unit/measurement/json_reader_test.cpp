#include "measurement/input/json_reader.hpp"

#include <catch2/catch.hpp>

#include "base/json_text.hpp"
#include "measurement/input/base64.hpp"
#include "measurement/input/flat_object.hpp"

namespace prophecy::measurement {
namespace {

struct ToldJson : JsonHandler {
  std::string text;
  bool in_text = false;
  void on_begin(bool object) override { text += object ? '{' : '['; }
  void on_end(bool object) override { text += object ? '}' : ']'; }
  void on_key(std::string_view key) override { text.append(key).append("="); }
  void on_text(std::string_view piece) override {
    if (!in_text) text += '<';
    in_text = true;
    text.append(piece);
  }
  void on_text_end() override {
    text += in_text ? ">" : "<>";
    in_text = false;
  }
  void on_scalar(std::string_view value) override { text.append(value).append(";"); }
};

std::string read_json(std::string_view json) {
  std::string first;
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, json.size() + 1}) {
    ToldJson told;
    JsonReader reader(told);
    for (std::size_t begin = 0; begin < json.size(); begin += piece)
      reader.feed(json.substr(begin, piece));
    reader.finish();
    if (!reader.problem().empty()) told.text += "!";
    if (piece == 1) first = told.text;
    CHECK(told.text == first);
  }
  return first;
}

std::string decoded(std::string_view text, bool& whole) {
  Base64Decoder decoder;
  std::string out;
  whole = decoder.decode(text, out) && decoder.finish();
  return out;
}

}  // namespace

TEST_CASE("JSON that is right") {
  CHECK(read_json(R"({"a":[1,-2.5e+3,true,null,"x"],"b":{"c":""}})") ==
        "{a=[1;-2.5e+3;true;null;<x>]b={c=<>}}");
  CHECK(read_json("\xef\xbb\xbf [ ] \n") == "[]");
  CHECK(read_json("{}") == "{}");
  CHECK(read_json("7") == "7;");
  CHECK(read_json(R"("\"\\\/\b\f\n\r\t")") == "<\"\\/\b\f\n\r\t>");
  CHECK(read_json(R"("\u00e9\u20AC\ud83d\ude00")") == "<\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80>");
  // Halves of pairs stay different from each other.
  CHECK(read_json(R"("\ud83dx")") == "<\xed\xa0\xbdx>");
  CHECK(read_json(R"("\ude00\ud83d")") == "<\xed\xb8\x80\xed\xa0\xbd>");
  CHECK(read_json(R"("\ud83d\ud83d\ude00")") == "<\xed\xa0\xbd\xf0\x9f\x98\x80>");
}

TEST_CASE("JSON that is wrong") {
  for (const std::string_view wrong :
       {"",     "{",          "[1",       "{\"a\"}", "{\"a\":}", "{a:1}",       "[1 2]",
        "[1,]", "{\"a\":1,}", "[}",       "{]",      "tru",      "01",          "1.",
        "+1",   "-",          "1e",       "\"a",     "\"\\x\"",  "\"\\u12g4\"", "\"a\nb\"",
        "1 2",  "{}{}",       "\xef\xbb", "nonsense"}) {
    INFO(wrong);
    CHECK(read_json(wrong).ends_with('!'));
  }
  CHECK(read_json(std::string(kJsonDepthMax, '[') + std::string(kJsonDepthMax, ']')).back() == ']');
  CHECK(
      read_json(std::string(kJsonDepthMax + 1, '[') + std::string(kJsonDepthMax + 1, ']')).back() ==
      '!');
  CHECK(read_json("{\"" + std::string(kJsonKeyBytesMax + 1, 'k') + "\":1}").back() == '!');
  CHECK(read_json("[" + std::string(kJsonScalarBytesMax + 1, '1') + "]").back() == '!');
}

TEST_CASE("members of a flat object") {
  FlatObject object;
  CHECK(object.read(R"({"a":"x","b":{"a":"no","c":[1]},"n":12,"a":"y"})").empty());
  CHECK(object.text("a") == "y");
  CHECK(object.text("n") == "12");
  CHECK(object.text("b").empty());
  CHECK_FALSE(object.has("b"));
  CHECK_FALSE(object.has("c"));
  CHECK(object.read("{\"c\":true}").empty());
  CHECK_FALSE(object.has("a"));
  CHECK(object.text("c") == "true");
  CHECK_FALSE(object.read("[1]").empty());
  CHECK_FALSE(object.read("\"a\"").empty());
  CHECK_FALSE(object.read("{\"a\":1").empty());
}

TEST_CASE("texts written as JSON are read again") {
  std::string bytes;
  for (int i = 0; i < 256; ++i)
    bytes.push_back(static_cast<char>(i));
  std::string json = "{\"a\":\"";
  append_json_text(bytes, json);
  FlatObject object;
  CHECK(object.read(json + "\"}").empty());
  CHECK(object.text("a") == bytes);
}

TEST_CASE("base64, with padding and without") {
  bool whole = false;
  CHECK(decoded("aGVsbG8=", whole) == "hello");
  CHECK(whole);
  CHECK(decoded("aGVs\r\nbG8", whole) == "hello");
  CHECK(whole);
  CHECK(decoded("-_+/", whole) == "\xfb\xff\xbf");
  CHECK(whole);
  for (const std::string_view wrong :
       {"a", "aGVsb", "aGVsbG8==", "a=GV", "aGVs=", "a!GV", "===="}) {
    INFO(wrong);
    static_cast<void>(decoded(wrong, whole));
    CHECK_FALSE(whole);
  }
  std::string bytes;
  for (int i = 0; i < 100; ++i) {
    std::string text;
    append_base64(bytes, text);
    CHECK(decoded(text, whole) == bytes);
    CHECK(whole);
    bytes.push_back(static_cast<char>(i * 37));
  }
}

}  // namespace prophecy::measurement
