#include "canonical/dropped_fields.hpp"

#include "base/config/config.hpp"
#include "forms.hpp"

namespace prophecy::sketch {
namespace {

// The mistakes in this list, or "".
std::string drop_mistakes(const std::string& names) {
  auto file = ConfigFile::parse("[[route]]\ndrop = [" + names + "]\n", "f.toml");
  REQUIRE(file.has_value());
  for (ConfigSection& section : file->root().sections("route"))
    static_cast<void>(DroppedFields::from_config(section, "drop"));
  const auto finished = file->finish();
  return finished ? "" : finished.error().message;
}

DroppedFields dropped(const std::string& names) {
  auto file = ConfigFile::parse("drop = [" + names + "]\n", "f.toml");
  REQUIRE(file.has_value());
  ConfigSection root = file->root();
  DroppedFields fields = DroppedFields::from_config(root, "drop");
  REQUIRE(file->finish().has_value());
  return fields;
}

RequestForm form_without(const std::string& text, const DroppedFields* fields,
                         bool tunnels = false) {
  const MadeRequest made(
      Profile(), text,
      {.client_address = "192.0.2.7", .upgrade = tunnels ? "x" : "", .dropped = fields});
  INFO(text);
  REQUIRE_FALSE(made.refusal.has_value());
  return made.form;
}

std::string request(const std::string& method, const std::string& lines) {
  return method + " /x HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n";
}

std::string group_wire(const RequestForm& form) {
  std::string text;
  form.append_group_wire(text);
  return text;
}

}  // namespace

TEST_CASE("a request with dropped fields is handled as one without them") {
  const DroppedFields fields =
      dropped(R"("cookie", "Accept-Language", "X-Remote-User", "referer")");
  const std::string gone =
      "COOKIE: a\r\nAccept-Language: de\r\nx-remote-user: root\r\nX_Remote_User: root\r\n"
      "X-Remote_User: root\r\nReferer: r\r\nCookie: b\r\n";
  const std::string kept = "Accept: */*\r\nUser-Agent: u\r\nX-Own: 1\r\n";
  for (const char* method : {"GET", "HEAD", "DELETE", "OPTIONS"}) {
    const RequestForm with = form_without(request(method, gone + kept), &fields);
    const RequestForm without = form_without(request(method, kept), nullptr);
    INFO(method);
    CHECK(with.wire == without.wire);
    CHECK(with.key == without.key);
    CHECK(group_wire(with) == group_wire(without));
  }
  const std::string upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\n";
  CHECK(form_without(request("GET", gone + upgrade), &fields, true).wire ==
        form_without(request("GET", upgrade), nullptr, true).wire);
}

TEST_CASE("a dropped field is no reason to refuse a request") {
  const DroppedFields fields = dropped(R"("authorization", "origin")");
  const std::string twice = "Authorization: a\r\nAuthorization: b\r\nOrigin: a\r\nOrigin: b\r\n";
  CHECK(form_without(request("GET", twice), &fields).key ==
        form_without(request("GET", ""), nullptr).key);
  RequestCanonicalizer canonicalizer;
  RequestForm form;
  const http::Request parsed = parse_request(request("PUT", twice));
  const RequestContext context{.client_address = {}, .dropped = &fields};
  REQUIRE_FALSE(canonicalizer.locate(parsed, context, form).has_value());
  CHECK_FALSE(canonicalizer.take_head(parsed, context, Profile(), form).has_value());
  CHECK(canonicalizer.take_head(parsed, {}, Profile(), form).has_value());
}

TEST_CASE("the group is told of no User-Agent where it is dropped") {
  const DroppedFields fields = dropped(R"("user-agent")");
  const std::string group = group_wire(form_without(request("GET", "User-Agent: u\r\n"), &fields));
  CHECK(group.find("user-agent") == std::string::npos);
  CHECK(group.find("x-forwarded-for: 192.0.2.1\r\n") != std::string::npos);
}

TEST_CASE("dropped fields are counted") {
  const Profile profile;
  const DroppedFields fields = dropped(R"("cookie")");
  std::vector<Counter> counts(profile.rule_count());
  const MadeRequest made(profile, request("GET", "Cookie: a\r\nAccept: x\r\n"),
                         {.client_address = {}, .dropped = &fields}, {.known = counts});
  CHECK(counts[profile.numbered_request_rule("cookie").number].get() == 1);
  CHECK(counts[profile.numbered_request_rule("accept").number].get() == 0);
}

TEST_CASE("what may not be dropped is said with its line") {
  CHECK(drop_mistakes(R"("host")") ==
        "f.toml:2:9: route.drop: expected fields that a request can do without, found \"host\", "
        "which "
        "is handled by the sketcher");
  for (const char* name : {"Host",
                           "Content-Length",
                           "transfer-encoding",
                           "connection",
                           "te",
                           "upgrade",
                           "expect",
                           "proxy-authorization",
                           "via",
                           "x-forwarded-for",
                           "X_Forwarded_For",
                           "forwarded",
                           "accept-encoding",
                           "prophecy-mode",
                           "content-type",
                           "Content_Type",
                           "content-encoding",
                           "content-range",
                           "if-match",
                           "If-None-Match",
                           "if-unmodified-since",
                           "if",
                           "if-range",
                           "range",
                           "depth",
                           "destination",
                           "overwrite",
                           "lock-token"}) {
    INFO(name);
    CHECK(drop_mistakes('"' + std::string(name) + '"').find("can do without") != std::string::npos);
  }
  for (const char* name : {"", "a b", "a:", "x\\r\\n"}) {
    INFO(name);
    CHECK(drop_mistakes('"' + std::string(name) + '"').find("expected names of header fields") !=
          std::string::npos);
  }
  for (const char* name :
       {"cookie", "Authorization", "accept", "origin", "x-original-url", "referer", "X_REMOTE_USER",
        "cache-control", "true-client-ip", "iframe"}) {
    INFO(name);
    CHECK(drop_mistakes('"' + std::string(name) + '"').empty());
  }
  std::string many;
  for (int i = 0; i < 257; ++i)
    many += "\"x-" + std::to_string(i) + "\", ";
  CHECK(drop_mistakes(many).find("expected at most 256") != std::string::npos);
  CHECK(dropped("").empty());
  CHECK_FALSE(dropped("\"x\"").empty());
}

}  // namespace prophecy::sketch
