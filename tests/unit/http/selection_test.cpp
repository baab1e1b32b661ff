#include "http/selection.hpp"

#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace prophecy::http {
namespace {

using Kind = Selection::Kind;
using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

constexpr std::string_view kChanged = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr std::string_view kBefore = "Sat, 05 Nov 1994 08:49:37 GMT";
constexpr std::string_view kAfter = "Mon, 07 Nov 1994 08:49:37 GMT";
constexpr Representation kPage{.etag = "\"a\"", .last_modified = kChanged, .length = 10};

Selection answer(const Fields& fields, const Representation& representation = kPage,
                 bool is_head = false) {
  FieldList request;
  request.add("accept", "*/*");
  for (const auto& [name, value] : fields)
    request.add(name, value);
  return select(request, is_head, representation);
}

}  // namespace

TEST_CASE("Without conditions the whole is selected") {
  CHECK(answer({}).kind == Kind::whole);
}

TEST_CASE("If-None-Match names the tag, in one field or in several") {
  CHECK(answer({{"if-none-match", "\"a\""}}).kind == Kind::not_modified);
  CHECK(answer({{"if-none-match", "W/\"a\""}}).kind == Kind::not_modified);
  CHECK(answer({{"if-none-match", "*"}}).kind == Kind::not_modified);
  CHECK(answer({{"if-none-match", "\"x\""}, {"if-none-match", "\"a\""}}).kind ==
        Kind::not_modified);
  CHECK(answer({{"if-none-match", "\"x\""}}).kind == Kind::whole);
}

TEST_CASE("If-Modified-Since counts where there is no If-None-Match") {
  CHECK(answer({{"if-modified-since", kChanged}}).kind == Kind::not_modified);
  CHECK(answer({{"if-modified-since", kAfter}}).kind == Kind::not_modified);
  CHECK(answer({{"if-modified-since", kBefore}}).kind == Kind::whole);
  CHECK(answer({{"if-modified-since", "yesterday"}}).kind == Kind::whole);
  CHECK(answer({{"if-modified-since", kAfter}, {"if-modified-since", kAfter}}).kind == Kind::whole);
  CHECK(answer({{"if-none-match", "\"x\""}, {"if-modified-since", kAfter}}).kind == Kind::whole);
  CHECK(
      answer({{"if-modified-since", kAfter}}, {.etag = "\"a\"", .last_modified = "", .length = 10})
          .kind == Kind::whole);
}

TEST_CASE("If-Match and If-Unmodified-Since fail") {
  CHECK(answer({{"if-match", "\"a\""}}).kind == Kind::whole);
  CHECK(answer({{"if-match", "*"}}).kind == Kind::whole);
  CHECK(answer({{"if-match", "W/\"a\""}}).kind == Kind::failed);
  CHECK(answer({{"if-match", "\"x\""}}).kind == Kind::failed);
  CHECK(answer({{"if-unmodified-since", kBefore}}).kind == Kind::failed);
  CHECK(answer({{"if-unmodified-since", kChanged}}).kind == Kind::whole);
  CHECK(answer({{"if-match", "\"a\""}, {"if-unmodified-since", kBefore}}).kind == Kind::whole);
}

TEST_CASE("A failed condition goes before one that would save the transfer") {
  CHECK(answer({{"if-none-match", "\"a\""}, {"if-match", "\"x\""}}).kind == Kind::failed);
  CHECK(answer({{"if-none-match", "\"a\""}, {"range", "bytes=0-1"}}).kind == Kind::not_modified);
}

TEST_CASE("A range is selected of what the client has the rest of") {
  const Selection part = answer({{"range", "bytes=2-4"}});
  CHECK(part.kind == Kind::part);
  CHECK(part.first == 2);
  CHECK(part.size == 3);
  CHECK(answer({{"range", "bytes=10-"}}).kind == Kind::unsatisfiable);
  CHECK(answer({{"range", "bytes=2-4"}, {"range", "bytes=2-4"}}).kind == Kind::whole);
  CHECK(answer({{"range", "bytes=2-4"}, {"if-range", "\"a\""}}).kind == Kind::part);
  for (const std::string_view other : {std::string_view("\"x\""), std::string_view("W/\"a\""),
                                       kBefore, kChanged, kAfter, std::string_view("")}) {
    CAPTURE(other);
    CHECK(answer({{"range", "bytes=2-4"}, {"if-range", other}}).kind == Kind::whole);
    // A stale client is not told that its range does not exist.
    CHECK(answer({{"range", "bytes=10-"}, {"if-range", other}}).kind == Kind::whole);
  }
}

TEST_CASE("Without a tag no If-Range holds, not even an empty one") {
  const Representation untagged{.etag = "", .last_modified = kChanged, .length = 10};
  CHECK(answer({{"range", "bytes=2-4"}}, untagged).kind == Kind::part);
  CHECK(answer({{"range", "bytes=2-4"}, {"if-range", ""}}, untagged).kind == Kind::whole);
  CHECK(answer({{"range", "bytes=2-4"}, {"if-range", "x"}, {"if-range", "x"}}, untagged).kind ==
        Kind::whole);
}

TEST_CASE("Most requests have no conditions") {
  FieldList request;
  request.add("accept", "*/*");
  CHECK_FALSE(is_conditional(request));
  request.add("range", "bytes=0-1");
  CHECK(is_conditional(request));
}

TEST_CASE("A HEAD has no range, and tags say nothing to it") {
  CHECK(answer({{"range", "bytes=2-4"}}, kPage, true).kind == Kind::whole);
  const Representation head{.etag = "", .last_modified = kChanged, .length = 0};
  CHECK(answer({{"if-match", "\"x\""}}, head, true).kind == Kind::whole);
  CHECK(answer({{"if-none-match", "\"x\""}}, head, true).kind == Kind::whole);
  CHECK(answer({{"if-none-match", "*"}}, head, true).kind == Kind::not_modified);
  CHECK(answer({{"if-modified-since", kAfter}}, kPage, true).kind == Kind::not_modified);
}

TEST_CASE("Nothing but * names a tag that is not there") {
  CHECK(names_tag("*", "", TagComparison::weak));
  CHECK_FALSE(names_tag("\"\", \"a\"", "", TagComparison::weak));
}

TEST_CASE("Entity tags in a list") {
  const auto named = [](std::string_view list) {
    return names_tag(list, "\"a\"", TagComparison::weak);
  };
  CHECK(named("\"a\""));
  CHECK(named("*"));
  CHECK(named("\"x\", \"a\""));
  CHECK(named("\"x,y\",W/\"a\""));
  CHECK_FALSE(named("\"ab\""));
  CHECK_FALSE(named(""));
  CHECK_FALSE(named("\"x"));
  CHECK_FALSE(named("a"));
}

}  // namespace prophecy::http
