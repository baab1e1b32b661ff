// Why answers changed: words of bodies, and fields of heads.
#include <catch2/catch.hpp>

#include "measurement/analysis/change_causes.hpp"
#include "measurement/analysis/token_difference.hpp"

namespace prophecy::measurement {
namespace {

TokenClass class_in(std::string_view before, std::string_view after) {
  const TokenDifference difference = difference_of(before, after);
  REQUIRE(difference.followed);
  std::uint64_t all = 0;
  for (const std::uint64_t each : difference.tokens)
    all += each;
  REQUIRE(all == 1);
  for (std::size_t i = 0; i < kTokenClasses; ++i) {
    if (difference.tokens[i] == 1) return static_cast<TokenClass>(i);
  }
  return TokenClass::other;
}

std::string words(std::string_view name, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text.append(name).append(std::to_string(i)).append(" ");
  return text;
}

}  // namespace

TEST_CASE("what a differing word looks like") {
  CHECK(class_in("a id=3f9ac21b77 b", "a id=c0ffee1234 b") == TokenClass::random_identifier);
  CHECK(class_in("<img src=\"https://img1.example.org/a\">",
                 "<img src=\"https://img12.example.org/a\">") == TokenClass::host_number);
  CHECK(class_in("at 1748779200 now", "at 1748779260 now") == TokenClass::timestamp);
  CHECK(class_in("at 2025-06-01 now", "at 2025-06-02 now") == TokenClass::timestamp);
  CHECK(class_in("at 12:01 now", "at 12:02 now") == TokenClass::timestamp);
  CHECK(class_in("in Jun now", "in Jul now") == TokenClass::timestamp);
  CHECK(class_in("<script nonce=\"abc\">", "<script nonce=\"xyz\">") == TokenClass::nonce);
  CHECK(class_in("name=\"csrf_token\" value=\"a\"", "name=\"csrf_token\" value=\"b\"") ==
        TokenClass::csrf_token);
  CHECK(class_in("seen 41 times", "seen 42 times") == TokenClass::counter);
  CHECK(class_in("seen 42 times", "seen 7 times") == TokenClass::other);
  CHECK(class_in("good news here", "bad news here") == TokenClass::other);
  CHECK(class_in("see /a1/b", "see /a2/b") == TokenClass::other);
}

TEST_CASE("texts are followed over insertions and deletions") {
  const std::string page = words("w", 300);
  std::string changed = page;
  changed.insert(changed.find("w50 "), "three new words ");
  changed.erase(changed.find("w200 "), 5);
  const TokenDifference difference = difference_of(page, changed);
  CHECK(difference.followed);
  CHECK(difference.of(TokenClass::other) == 8);  // with their spaces
  CHECK(page.substr(difference.begin, 4) == "w50 ");
  CHECK(changed.substr(difference.begin, 5) == "three");
  CHECK(page.substr(difference.end_before).starts_with(" w201 "));
  CHECK(changed.substr(difference.end_after).starts_with(" w201 "));

  CHECK_FALSE(difference_of(words("a", 300), words("b", 300)).followed);
  CHECK(difference_of("same", "same").followed);
  CHECK(difference_of("", "new").of(TokenClass::other) == 1);
  CHECK(difference_of("old", "").of(TokenClass::other) == 1);
  CHECK(difference_of("aa", "aaa").of(TokenClass::other) == 1);
}

TEST_CASE("fields that differ") {
  const std::string_view fields = "status: 200\na: 1\nb: 2\n";
  CHECK(differing_fields(fields, fields).empty());
  CHECK(differing_fields(fields, "status: 404\na: 1\nb: 3\nc: 4\n") ==
        std::vector<std::string>{"b", "c", "status"});
}

TEST_CASE("causes of transitions are summed up") {
  ChangeCauses causes;
  causes.add(3, {"status: 200\nx: 1\n", "same"}, {"status: 200\nx: 2\n", "same"});
  causes.add(4, {"status: 200\n", "id 3f9ac21b77."}, {"status: 200\n", "id c0ffee1234."});
  causes.add(4, {"status: 200\n", "one word"}, {"status: 200\n", "two words"});
  causes.add(5, {"", words("a", 300)}, {"", words("b", 300)});
  CHECK(causes.by_fields() == std::map<std::string, std::uint64_t>{{"x", 1}});
  CHECK(causes.bodies() == 3);
  CHECK(causes.followed() == 2);
  CHECK(causes.avoidable() == 1);
  CHECK(causes.words()[static_cast<std::size_t>(TokenClass::random_identifier)] == 1);
  CHECK(causes.transitions()[static_cast<std::size_t>(TokenClass::other)] == 1);
  CHECK(causes.examples().at(3).fields == std::vector<std::string>{"x"});
  CHECK(causes.examples().at(4).before == "one word");
  CHECK(causes.examples().at(4).after == "two words");
  CHECK(causes.examples().at(5).before.size() == kExampleBytesMax);
}

TEST_CASE("examples are of the URLs that change most") {
  ChangeCauses causes;
  const ChangeSide before{"", "a"};
  const ChangeSide after{"", "b"};
  for (int round = 0; round < 5; ++round)
    causes.add(7, before, after);
  for (UrlNumber url = 10; url < 10 + 3 * kExamplesMax; ++url)
    causes.add(url, before, after);
  CHECK(causes.examples().size() == kExamplesMax);
  CHECK(causes.examples().contains(7));
}

}  // namespace prophecy::measurement
