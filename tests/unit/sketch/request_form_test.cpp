#include "canonical/request_form.hpp"

#include "forms.hpp"

namespace prophecy::sketch {
namespace {

const RequestContext kContext{"http", "192.0.2.7"};
const std::string kGenerated =
    "accept-encoding: identity\r\nvia: 1.1 prophecy\r\nx-forwarded-for: 192.0.2.7\r\n"
    "x-forwarded-host: a\r\nx-forwarded-port: 80\r\nx-forwarded-proto: http\r\n";

RequestForm form_of(std::string_view text, RequestContext context = kContext) {
  MadeRequest made(Profile(), text, context);
  INFO(text);
  REQUIRE_FALSE(made.refusal.has_value());
  return made.form;
}

std::string get(const std::string& lines) {
  return "GET /x HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n";
}
std::string put(const std::string& lines) {
  return "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n" + lines + "\r\nhi";
}

std::uint16_t refused(std::string_view text) {
  MadeRequest made(Profile(), text, kContext);
  INFO(text);
  REQUIRE(made.refusal.has_value());
  CHECK_FALSE(made.refusal->reason.empty());
  return made.refusal->status;
}

}  // namespace

TEST_CASE("a read's wire text holds keyed, forwarded and generated fields in a fixed order") {
  const RequestForm form =
      form_of(get("X-Unknown: u\r\nUser-Agent: ua\r\nCookie: c=1\r\nReferer: r\r\nAccept: */*\r\n"
                  "Accept-Encoding: gzip\r\nRange: bytes=0-1\r\nIf-Range: \"e\"\r\n"
                  "If-None-Match: \"e\"\r\nIf-Modified-Since: x\r\nCache-Control: no-cache\r\n"
                  "Pragma: no-cache\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Host: evil\r\n"
                  "X-Forwarded-Port: 1\r\nForwarded: for=6\r\nVia: 1.0 x\r\nX-Real-IP: 6\r\n"
                  "Prophecy-Mode: off\r\nConnection: x-unknown\r\nTE: trailers\r\nUpgrade: h2c\r\n"
                  "Proxy-Authorization: p\r\nX-HTTP-Method-Override: PUT\r\n"));
  CHECK(form.is_read);
  CHECK_FALSE(form.is_head);
  CHECK(form.authority == "a");
  CHECK(form.wire ==
        "GET /x HTTP/1.1\r\nhost: a\r\naccept: */*\r\ncookie: c=1\r\nreferer: r\r\n"
        "user-agent: ua\r\n" +
            kGenerated + "\r\n");
}

TEST_CASE("a write's wire text holds every end-to-end field and the body") {
  const RequestForm form = form_of(
      put("X-Unknown: u\r\nCache-Control: no-cache\r\nIf-Unmodified-Since: d\r\nIf-Match: *\r\n"
          "Content-Type: t/x\r\nAccept-Encoding: gzip\r\nForwarded: for=6\r\n"
          "Prophecy-Mode: off\r\nX-Hop: h\r\nConnection: X-Hop, close\r\nVia: 1.0 x\r\n"));
  CHECK_FALSE(form.is_read);
  CHECK(form.key.empty());
  CHECK(form.wire ==
        "PUT /x HTTP/1.1\r\nhost: a\r\ncontent-type: t/x\r\ncache-control: no-cache\r\n"
        "if-match: *\r\nif-unmodified-since: d\r\nx-unknown: u\r\n" +
            kGenerated + "content-length: 2\r\n\r\nhi");
}

TEST_CASE("a chunked write is framed by its length") {
  const RequestForm form = form_of(
      "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n"
      "0\r\n\r\n");
  CHECK(form.wire ==
        "POST /x HTTP/1.1\r\nhost: a\r\n" + kGenerated + "content-length: 2\r\n\r\nhi");
  CHECK(form_of("DELETE /x HTTP/1.1\r\nHost: a\r\n\r\n").wire ==
        "DELETE /x HTTP/1.1\r\nhost: a\r\n" + kGenerated + "\r\n");
  CHECK(form_of("POST /x HTTP/1.1\r\nHost: a\r\n\r\n").wire ==
        "POST /x HTTP/1.1\r\nhost: a\r\n" + kGenerated + "content-length: 0\r\n\r\n");
}

TEST_CASE("the wire text is a fixed point") {
  for (const std::string& text :
       {get("Cookie: a=1\r\nCookie: b=2\r\nAccept: x\r\nAccept: y\r\nUser-Agent: u\r\n"),
        put("X: 1\r\nX: 2\r\n"), std::string("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"),
        std::string("GET http://A:80 HTTP/1.1\r\nHost: a\r\n\r\n")}) {
    const RequestForm once = form_of(text);
    // But for Via: who comes twice is refused.
    constexpr std::string_view kVia = "via: 1.1 prophecy\r\n";
    std::string wire = once.wire;
    wire.erase(wire.find(kVia), kVia.size());
    const RequestForm twice = form_of(wire);
    CHECK(twice.wire == once.wire);
    CHECK(twice.key == once.key);
  }
}

TEST_CASE("the key covers what an origin may depend on, and nothing else") {
  const Bytes base = form_of(get("Accept: x\r\n")).key;
  // The same: order, case, noise, the visible exceptions, and other spellings of the target.
  for (const std::string& text :
       {get("accept: x\r\nUser-Agent: u\r\n"), get("Cache-Control: no-cache\r\nACCEPT:  x \r\n"),
        get("Accept: x\r\nRange: bytes=0-1\r\n"), get("Accept: x\r\nConnection: close\r\n"),
        get("X-Forwarded-Host: evil\r\nAccept: x\r\n"),
        std::string("GET http://A:80/x HTTP/1.1\r\nHost: a:80\r\nAccept: x\r\n\r\n"),
        std::string("GET /x HTTP/1.0\r\nHost: A\r\nAccept: x\r\n\r\n")}) {
    INFO(text);
    CHECK(form_of(text).key == base);
  }
  for (const std::string& text :
       {get(""), get("Accept: y\r\n"), get("Accept: x\r\nCookie: c\r\n"),
        get("Accept: x\r\nAuthorization: a\r\n"), get("Accept: x\r\nAccept-Language: de\r\n"),
        get("Accept: x\r\nOrigin: o\r\n"), get("Accept: x\r\nContent-Type: t\r\n"),
        get("Accept: x\r\nX-Requested-With: w\r\n"),
        std::string("HEAD /x HTTP/1.1\r\nHost: a\r\nAccept: x\r\n\r\n"),
        std::string("GET /X HTTP/1.1\r\nHost: a\r\nAccept: x\r\n\r\n"),
        std::string("GET /x? HTTP/1.1\r\nHost: a\r\nAccept: x\r\n\r\n"),
        std::string("GET /%78 HTTP/1.1\r\nHost: a\r\nAccept: x\r\n\r\n"),
        std::string("GET /x HTTP/1.1\r\nHost: b\r\nAccept: x\r\n\r\n"),
        std::string("GET /x HTTP/1.1\r\nHost: a:81\r\nAccept: x\r\n\r\n")}) {
    INFO(text);
    CHECK(form_of(text).key != base);
  }
  CHECK(form_of(get("Accept: x\r\n"), {"https", "192.0.2.7"}).key != base);
  CHECK(form_of(get("Accept: x\r\n"), {"http", "192.0.2.8"}).key == base);
}

TEST_CASE("repeats of a keyed field are joined") {
  CHECK(form_of(get("Accept: x\r\nAccept: y\r\n")).key == form_of(get("Accept: x, y\r\n")).key);
  CHECK(form_of(get("Accept: y\r\nAccept: x\r\n")).key != form_of(get("Accept: x, y\r\n")).key);
  CHECK(form_of(get("Cookie: a\r\nCookie: b\r\n")).key == form_of(get("Cookie: a; b\r\n")).key);
  CHECK(form_of(get("Accept: \r\nAccept: x\r\n")).key == form_of(get("Accept: x\r\n")).key);
  CHECK(refused(get("Authorization: x\r\nAuthorization: y\r\n")) == 400);
  CHECK(refused(get("Origin: x\r\nOrigin: y\r\n")) == 400);
}

TEST_CASE("targets in absolute form") {
  CHECK(form_of("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n").wire.starts_with("GET / HTTP"));
  CHECK(form_of("GET http://a?q HTTP/1.1\r\nHost: a\r\n\r\n").wire.starts_with("GET /?q HTTP"));
  CHECK(form_of("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n").wire.starts_with("OPTIONS * "));
  CHECK(refused("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
  CHECK(refused("GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n") == 400);
  CHECK(refused("GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n") == 421);
  CHECK(refused("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n") == 400);
  CHECK(refused("GET / HTTP/1.1\r\nHost:\r\n\r\n") == 400);
}

TEST_CASE("an authority is the request's own, whatever came before it") {
  RequestCanonicalizer canonicalizer;
  const auto authority = [&](const std::string& host, std::string_view scheme) {
    RequestForm form;
    const auto refusal = canonicalizer.locate(
        parse_request("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n"), {scheme, "192.0.2.7"}, form);
    return refusal ? std::string("refused") : form.authority;
  };
  for (int round = 0; round < 2; ++round) {
    CHECK(authority("A.b:443", "http") == "a.b:443");
    CHECK(authority("A.b:443", "https") == "a.b");
    CHECK(authority("A.b:443", "https") == "a.b");
    CHECK(authority("a.b", "https") == "a.b");
    CHECK(authority("", "https") == "refused");
    CHECK(authority("a..b", "https") == "refused");
    CHECK(authority("a..b", "https") == "refused");
    CHECK(authority("", "https") == "refused");
    CHECK(authority("a.b", "https") == "a.b");
    CHECK(authority("c", "http") == "c");
  }
}

TEST_CASE("requests that are refused") {
  CHECK(refused("GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx") == 400);
  CHECK(refused("HEAD /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                "1\r\nx\r\n0\r\n\r\n") == 400);
  CHECK_FALSE(form_of(get("Content-Length: 0\r\n")).wire.empty());
  CHECK(refused("TRACE /x HTTP/1.1\r\nHost: a\r\n\r\n") == 501);
  CHECK(refused(put("If-Match: \"e\"\r\n")) == 501);
  CHECK(refused(put("If-None-Match: \"e\"\r\n")) == 501);
  CHECK_FALSE(form_of(put("If-None-Match: *\r\n")).wire.find("if-none-match: *") ==
              std::string::npos);
}

TEST_CASE("Connection may not nominate what matters") {
  for (const char* name :
       {"Host", "Authorization", "Cookie", "Content-Length", "Transfer-Encoding", "X-Forwarded-For",
        "X-Forwarded-Anything", "Forwarded", "Via", "Origin", "Accept", "User-Agent", "Range",
        "If-Match", "Prophecy-X", "Content-Type", "Accept-Encoding"}) {
    INFO(name);
    CHECK(refused(get("Connection: close, " + std::string(name) + "\r\n")) == 400);
    CHECK(refused(put("Connection: " + std::string(name) + "\r\n")) == 400);
  }
  CHECK_FALSE(
      form_of(get("Connection: keep-alive, TE, Upgrade, HTTP2-Settings, x-own\r\n")).wire.empty());
  std::string many = "Connection: x0";
  for (int i = 1; i < 40; ++i)
    many += ",x" + std::to_string(i);
  CHECK(refused(get(many + "\r\n")) == 400);
}

}  // namespace prophecy::sketch
