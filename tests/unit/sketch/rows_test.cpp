// docs/canonical-form.md, row by row: what becomes of each field of a read, and of an answer. The
// rows that need more than one line have tests of their own beside this one.
#include "forms.hpp"

namespace prophecy::sketch {
namespace {

enum class Fate { keyed, seen, gone, refused };

struct RequestRow {
  const char* row;
  const char* line;
  Fate fate;
};

constexpr RequestRow kRequestRows[] = {
    {"Accept", "Accept: planted", Fate::keyed},
    {"Accept-Language", "Accept-Language: planted", Fate::keyed},
    {"Content-Type", "Content-Type: planted", Fate::keyed},
    {"Origin", "Origin: planted", Fate::keyed},
    {"X-Requested-With", "X-Requested-With: planted", Fate::keyed},
    {"Authorization", "Authorization: planted", Fate::keyed},
    {"Cookie", "Cookie: planted", Fate::keyed},
    {"User-Agent", "User-Agent: planted", Fate::seen},
    {"Referer", "Referer: planted", Fate::seen},
    {"X-Request-Id", "X-Request-Id: planted", Fate::seen},
    {"traceparent", "traceparent: planted", Fate::seen},
    {"tracestate", "tracestate: planted", Fate::seen},
    {"Via", "Via: 1.1 planted", Fate::gone},
    {"X-Forwarded-Host", "X-Forwarded-Host: planted", Fate::gone},
    {"X-Forwarded-Port", "X-Forwarded-Port: planted", Fate::gone},
    {"X-Forwarded-Proto", "X-Forwarded-Proto: planted", Fate::gone},
    {"X-Forwarded-For", "X-Forwarded-For: planted", Fate::gone},
    {"Forwarded", "Forwarded: for=planted", Fate::gone},
    {"X-Real-IP", "X-Real-IP: planted", Fate::gone},
    {"Prophecy-*", "Prophecy-Time: planted", Fate::gone},
    {"Accept-Encoding", "Accept-Encoding: planted", Fate::gone},
    {"Range", "Range: planted", Fate::gone},
    {"If-Range", "If-Range: planted", Fate::gone},
    {"If-None-Match", "If-None-Match: planted", Fate::gone},
    {"If-Modified-Since", "If-Modified-Since: planted", Fate::gone},
    {"If-Match", "If-Match: planted", Fate::gone},
    {"If-Unmodified-Since", "If-Unmodified-Since: planted", Fate::gone},
    {"Cache-Control", "Cache-Control: planted", Fate::gone},
    {"Pragma", "Pragma: planted", Fate::gone},
    {"Connection-nominated, unknown", "Connection: X-Own\r\nX-Own: planted", Fate::gone},
    {"Connection-nominated, of the table", "Connection: Cookie\r\nCookie: planted", Fate::refused},
    {"TE", "TE: planted", Fate::gone},
    {"Trailer", "Trailer: planted", Fate::gone},
    {"Upgrade", "Upgrade: planted", Fate::gone},
    {"HTTP2-Settings", "HTTP2-Settings: planted", Fate::gone},
    {"Keep-Alive", "Keep-Alive: planted", Fate::gone},
    {"Proxy-*", "Proxy-Authorization: planted", Fate::gone},
    {"Proxy", "Proxy: planted", Fate::gone},
    {"with underscores", "X_Forwarded_For: planted", Fate::gone},
    {"every other", "X-Own: planted", Fate::gone},
};

enum class Delivery { covered, gone };

struct AnswerRow {
  const char* name;
  Delivery delivery;
};

constexpr AnswerRow kAnswerRows[] = {
    {"Allow", Delivery::covered},
    {"Alt-Svc", Delivery::covered},
    {"Cache-Control", Delivery::covered},
    {"Clear-Site-Data", Delivery::covered},
    {"Content-Disposition", Delivery::covered},
    {"Content-Encoding", Delivery::covered},
    {"Content-Language", Delivery::covered},
    {"Content-Location", Delivery::covered},
    {"Content-Security-Policy", Delivery::covered},
    {"Content-Type", Delivery::covered},
    {"Link", Delivery::covered},
    {"Location", Delivery::covered},
    {"Permissions-Policy", Delivery::covered},
    {"Referrer-Policy", Delivery::covered},
    {"Refresh", Delivery::covered},
    {"Retry-After", Delivery::covered},
    {"Service-Worker-Allowed", Delivery::covered},
    {"Set-Cookie", Delivery::covered},
    {"SourceMap", Delivery::covered},
    {"Strict-Transport-Security", Delivery::covered},
    {"Vary", Delivery::covered},
    {"WWW-Authenticate", Delivery::covered},
    {"X-Content-Type-Options", Delivery::covered},
    {"X-Frame-Options", Delivery::covered},
    {"Access-Control-Allow-Origin", Delivery::covered},
    {"Cross-Origin-Opener-Policy", Delivery::covered},
    {"Last-Modified", Delivery::covered},
    {"Expires", Delivery::covered},
    {"X-Request-Id", Delivery::covered},
    {"X-Own", Delivery::covered},
    {"Date", Delivery::gone},
    {"Age", Delivery::gone},
    {"Via", Delivery::gone},
    {"Accept-Ranges", Delivery::gone},
    {"Server", Delivery::gone},
    {"ETag", Delivery::gone},
    {"X-Powered-By", Delivery::gone},
    {"X-AspNet-Version", Delivery::gone},
    {"X-Generator", Delivery::gone},
    {"Server-Timing", Delivery::gone},
    {"X-Runtime", Delivery::gone},
    {"X-Served-By", Delivery::gone},
    {"X-Cache", Delivery::gone},
    {"X-Cache-Hits", Delivery::gone},
    {"X-Varnish", Delivery::gone},
    {"NEL", Delivery::gone},
    {"Report-To", Delivery::gone},
    {"Reporting-Endpoints", Delivery::gone},
    {"Prophecy-Reason", Delivery::gone},
    {"Keep-Alive", Delivery::gone},
    {"TE", Delivery::gone},
    {"Trailer", Delivery::gone},
    {"Upgrade", Delivery::gone},
    {"Proxy-Authenticate", Delivery::gone},
    {"X-Accel-Redirect", Delivery::gone},
    {"X-Sendfile", Delivery::gone},
    {"X-Lighttpd-Send-File", Delivery::gone},
};

}  // namespace

TEST_CASE("requests, row by row") {
  const Profile profile;
  for (const RequestRow& row : kRequestRows) {
    INFO(row.row);
    const MadeRequest made(profile,
                           "GET / HTTP/1.1\r\nHost: a\r\n" + std::string(row.line) + "\r\n\r\n");
    REQUIRE(made.refusal.has_value() == (row.fate == Fate::refused));
    if (made.refusal) continue;
    const bool is_keyed = as_text(made.form.key).find("planted") != std::string_view::npos;
    const bool is_seen = made.form.wire.find("planted") != std::string::npos;
    CHECK(is_keyed == (row.fate == Fate::keyed));
    CHECK(is_seen == (row.fate != Fate::gone));
  }
}

TEST_CASE("answers, row by row") {
  const Profile profile;
  for (const AnswerRow& row : kAnswerRows) {
    INFO(row.name);
    const MadeAnswer made(profile, answer_text(std::string(row.name) + ": planted\r\n"));
    REQUIRE(made.fault == AnswerFault::none);
    const bool is_covered = made.fields().find("planted") != std::string::npos;
    CHECK(is_covered == (row.delivery == Delivery::covered));
  }
}

}  // namespace prophecy::sketch
