// CANONICAL rows "Location, Content-Location with a replica's own authority" and "Last-Modified".
#include "canonical/origin_authorities.hpp"

#include "base/config/config.hpp"
#include "forms.hpp"

namespace prophecy::sketch {
namespace {

Profile profile_of(std::string text) {
  auto file = ConfigFile::parse(std::move(text), "test");
  REQUIRE(file.has_value());
  Profile profile = Profile::from_config(file->root());
  REQUIRE(file->finish().has_value());
  return profile;
}

const Profile& with_authorities() {
  static const Profile profile =
      profile_of(R"(origin_authorities = ["10.0.0.1:8080", "Backend", "[::1]:81"])");
  return profile;
}

std::string fields_of(const Profile& profile, const std::string& lines) {
  MadeAnswer made(profile, answer_text(lines));
  REQUIRE(made.fault == AnswerFault::none);
  return made.fields();
}

std::string location_of(const std::string& value) {
  const std::string fields = fields_of(with_authorities(), "Location: " + value + "\r\n");
  REQUIRE(fields.starts_with("[location="));
  return fields.substr(10, fields.size() - 11);
}

}  // namespace

TEST_CASE("an origin's own authority in Location becomes the client's") {
  CHECK(location_of("http://10.0.0.1:8080/a?b#c") == "/a?b#c");
  CHECK(location_of("HTTPS://10.0.0.1:8080/a") == "/a");
  CHECK(location_of("http://backend/") == "/");
  CHECK(location_of("http://BACKEND:80/a") == "/a");
  CHECK(location_of("https://backend:443/a") == "/a");
  CHECK(location_of("//backend/a") == "/a");
  CHECK(location_of("http://[::1]:81/a") == "/a");
  CHECK(location_of("http://backend") == "/");
  CHECK(location_of("http://backend?a=//b") == "/?a=//b");
  CHECK(location_of("http://backend#a") == "/#a");
}

TEST_CASE("no other authority is rewritten") {
  for (const char* const other :
       {"http://10.0.0.1/a", "http://10.0.0.1:8081/a", "http://backend.evil/",
        "http://backend:8080/", "https://backend:80/", "http://user@backend/",
        "http://backend:80@evil/", "/a", "a//backend/", "ftp://backend/a", "x:http://backend/a",
        "http:/backend/a", "http:///backend/", "", "http://back%65nd/", "/a?u=http://backend/a"}) {
    INFO(other);
    CHECK(location_of(other) == other);
  }
}

TEST_CASE("what is left of a reference names no authority") {
  CHECK(location_of("http://backend//evil/") == "/.//evil/");
  // Browsers take a backslash for a slash, and drop tabs.
  for (const char* const odd : {"http://backend/\\evil/", "http://backend/\t/evil/",
                                "http://backend\\@evil/", "http://backend/ /evil"}) {
    INFO(odd);
    CHECK(location_of(odd) == odd);
  }
}

TEST_CASE("Content-Location likewise, and no other field") {
  CHECK(fields_of(with_authorities(),
                  "Content-Location: http://backend/a.en\r\n"
                  "Link: <http://backend/a>\r\n"
                  "Refresh: 1;url=http://backend/\r\n") ==
        "[content-location=/a.en][link=<http://backend/a>][refresh=1;url=http://backend/]");
  CHECK(fields_of(Profile(), "Location: http://backend/a\r\n") == "[location=http://backend/a]");
}

TEST_CASE("Last-Modified is covered, or not later than is configured, or dropped") {
  const std::string lines = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
  const std::string covered = "[last-modified=Sun, 06 Nov 1994 08:49:37 GMT]";
  CHECK(fields_of(Profile(), lines) == covered);
  CHECK(fields_of(profile_of(R"(last_modified_max = "Sun, 06 Nov 1994 08:49:37 GMT")"), lines) ==
        covered);
  CHECK(fields_of(profile_of(R"(last_modified_max = "Sun, 06 Nov 1994 08:49:36 GMT")"), lines) ==
        "[last-modified=Sun, 06 Nov 1994 08:49:36 GMT]");
  CHECK(fields_of(profile_of(R"(last_modified_max = "Sun, 06 Nov 1994 08:49:36 GMT")"),
                  "Last-Modified: tomorrow\r\n") == "[last-modified=tomorrow]");
  CHECK(fields_of(profile_of(R"(dropped_answer_headers = ["Last-Modified"])"), lines).empty());
}

TEST_CASE("these settings are part of the profile's id") {
  const auto id_of = [](std::string text) { return profile_of(std::move(text)).id(); };
  const auto id = Profile().id();
  CHECK(id_of("") == id);
  CHECK(with_authorities().id() != id);
  CHECK(id_of(R"(origin_authorities = ["a"])") != id_of(R"(origin_authorities = ["b"])"));
  CHECK(id_of(R"(origin_authorities = ["a"])") != id_of(R"(origin_authorities = ["a:80"])"));
  CHECK(id_of(R"(origin_authorities = ["b", "A"])") == id_of(R"(origin_authorities = ["a", "b"])"));
  CHECK(id_of("key_client_address = true") != id);
  CHECK(id_of(R"(last_modified_max = "Sun, 06 Nov 1994 08:49:37 GMT")") != id);
}

TEST_CASE("mistakes in them are told") {
  for (const char* const text :
       {R"(origin_authorities = ["http://a/"])", R"(origin_authorities = ["a b"])",
        R"(origin_authorities = [""])", R"(last_modified_max = "yesterday")",
        R"(key_client_address = "yes")"}) {
    INFO(text);
    auto file = ConfigFile::parse(text, "test");
    REQUIRE(file.has_value());
    (void)Profile::from_config(file->root());
    CHECK_FALSE(file->finish().has_value());
  }
}

}  // namespace prophecy::sketch
