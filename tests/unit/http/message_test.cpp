#include "http/message.hpp"

#include <catch2/catch.hpp>

#include "http/text.hpp"

namespace prophecy::http {

TEST_CASE("fields keep their order, lower their names and trim their values") {
  FieldList fields;
  fields.add("X-One", "  a  ");
  fields.add("set-cookie", "1");
  fields.add("Set-Cookie", "2");
  REQUIRE(fields.size() == 3);
  CHECK(fields.name(0) == "x-one");
  CHECK(fields.value(0) == "a");
  CHECK(fields.find("set-cookie") == "1");
  CHECK(fields.count("set-cookie") == 2);
  CHECK_FALSE(fields.find("Set-Cookie").has_value());
  CHECK(fields.count("x-two") == 0);
  fields.clear();
  CHECK(fields.size() == 0);
  CHECK_FALSE(fields.find("x-one").has_value());
  fields.add("y", "");
  CHECK(fields.find("y") == "");
  fields.clear_and_shrink(1);
  CHECK(fields.size() == 0);
}

TEST_CASE("a field in pieces is the field as a whole, and is not counted before its end") {
  FieldList fields;
  fields.add("a", "1");
  fields.extend_name("X-");
  CHECK(fields.open_name() == "x-");
  fields.extend_name("One");
  for (const char* piece : {"", " \t", " b ", "\t", "C \t", " "})
    fields.extend_value(piece);
  CHECK(fields.size() == 1);
  CHECK(fields.open_name() == "x-one");
  CHECK(fields.open_value() == "b \tC \t ");
  fields.end_field();
  CHECK(fields.open_name().empty());
  CHECK(fields.open_value().empty());
  fields.add("b", " 2 ");
  REQUIRE(fields.size() == 3);
  CHECK(fields.name(1) == "x-one");
  CHECK(fields.value(1) == "b \tC");
  CHECK(fields.value(2) == "2");

  fields.extend_name("open");
  fields.extend_value("c");
  fields.clear();
  CHECK(fields.open_name().empty());
  fields.add("d", "3");
  CHECK(fields.name(0) == "d");
  CHECK(fields.value(0) == "3");
}

TEST_CASE("a cleared message gives a large body's memory back, and keeps a small one's") {
  Request request;
  request.body.assign(1000, 'b');
  request.clear();
  CHECK(request.body.empty());
  CHECK(request.body.capacity() >= 1000);
  Response response;
  response.body.assign(kKeptBodyBytesMax + 1, 'b');
  response.clear();
  CHECK(response.body.capacity() < 1000);
}

TEST_CASE("methods") {
  CHECK(is_read_method("GET"));
  CHECK(is_read_method("HEAD"));
  CHECK_FALSE(is_read_method("get"));
  CHECK_FALSE(is_read_method("OPTIONS"));
  CHECK_FALSE(is_read_method("POST"));
  for (const char* method : {"GET", "HEAD", "OPTIONS", "TRACE"})
    CHECK(is_safe_method(method));
  for (const char* method : {"get", "POST", "PUT", "PROPFIND", ""})
    CHECK_FALSE(is_safe_method(method));
  CHECK(is_idempotent_method("PUT"));
  CHECK(is_idempotent_method("DELETE"));
  CHECK_FALSE(is_idempotent_method("POST"));
  CHECK_FALSE(is_idempotent_method("PATCH"));
  CHECK_FALSE(is_idempotent_method("LOCK"));
}

TEST_CASE("lists") {
  std::string_view rest = " a ,, b;q=\"x,y\\\",z\" ,\tc,";
  std::string_view element;
  REQUIRE(next_list_element(rest, element));
  CHECK(element == "a");
  REQUIRE(next_list_element(rest, element));
  CHECK(element == "b;q=\"x,y\\\",z\"");
  REQUIRE(next_list_element(rest, element));
  CHECK(element == "c");
  CHECK_FALSE(next_list_element(rest, element));
}

TEST_CASE("tokens, values and numbers") {
  CHECK(is_token("x-a_b.c!#$%&'*+^`|~9"));
  for (const char* text : {"", "a b", "a:", "a/b", "\"a\"", "a\x80", "(a)"}) {
    CHECK_FALSE(is_token(text));
  }
  CHECK(is_field_value("a\tb \xff"));
  CHECK_FALSE(is_field_value("a\r"));
  CHECK_FALSE(is_field_value("a\x7f"));
  std::uint64_t value = 0;
  CHECK(parse_decimal("999999999999999999", value));
  CHECK(value == 999'999'999'999'999'999);
  for (const char* text : {"", " 1", "1 ", "+1", "0x1", "1000000000000000000", "1,1"}) {
    CHECK_FALSE(parse_decimal(text, value));
  }
}

TEST_CASE("each byte is allowed in a field's value, or not, wherever it stands") {
  for (int byte = 0; byte < 256; ++byte) {
    const bool allowed = byte == '\t' || (byte >= 0x20 && byte != 0x7f);
    for (std::size_t place = 0; place < 20; ++place) {
      for (const char neighbour : {'a', '\t', ' ', '\xff'}) {
        std::string value(20, neighbour);
        value[place] = static_cast<char>(byte);
        CAPTURE(byte);
        CAPTURE(place);
        CHECK(is_field_value(value) == allowed);
      }
    }
  }
}

TEST_CASE("capital letters become small ones, and nothing else changes, wherever it stands") {
  for (int byte = 0; byte < 256; ++byte) {
    const char lower = static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 0x20 : byte);
    for (std::size_t size = 1; size <= 20; ++size) {
      for (std::size_t place = 0; place < size; ++place) {
        std::string text(size, 'Q');
        std::string expected = "AB" + std::string(size, 'q');
        text[place] = static_cast<char>(byte);
        expected[2 + place] = lower;
        std::string out = "AB";
        append_lower(out, text);
        if (out != expected) FAIL("byte " << byte << " at " << place << " of " << size);
      }
    }
  }
}

}  // namespace prophecy::http
