// Two reads from a small world of lines, most of them the same. What they have in common decides:
// equal keys mean that an origin sees the same of both, but for the visible exceptions, and what an
// origin sees the same of has equal keys. Otherwise a client could prime the history with an answer
// to something else than what it asked for.
#include <array>
#include <string>

#include "base/codec.hpp"
#include "canonical/request_form.hpp"
#include "feed_twice.hpp"

using namespace prophecy;
using http::require;

namespace {

constexpr std::array kNames = {"Accept",
                               "accept",
                               "Accept-Language",
                               "Authorization",
                               "Cookie",
                               "Origin",
                               "X-Requested-With",
                               "Content-Type",
                               "User-Agent",
                               "Referer",
                               "X-Request-Id",
                               "X-Forwarded-For",
                               "X_Forwarded_For",
                               "X-Forwarded-Host",
                               "Forwarded",
                               "Via",
                               "Connection",
                               "Accept-Encoding",
                               "Range",
                               "If-None-Match",
                               "Cache-Control",
                               "Prophecy-Seed",
                               "prophecy_seed",
                               "X-Unknown",
                               "Upgrade",
                               "TE",
                               "Proxy-Connection",
                               "Host"};
constexpr std::array kValues = {"",         "a",         "b",     "a, b",   "a,b", " a ",
                                "x=1; y=2", "x-unknown", "close", "cookie", "*",   "identity",
                                "\"a\"",    "0",         "a;q=0", ", a,"};
constexpr std::array kTargets = {"/",    "/a",         "/a?b",          "/A",         "//a",
                                 "/%61", "http://a/a", "http://a:80/a", "http://b/a", "/a?"};
constexpr std::array kHosts = {"a", "A", "a:80", "a:81", "b", "a."};
constexpr std::array kMethods = {"GET", "HEAD"};

struct Made {
  bool usable = false;
  Bytes key;
  std::string seen;   // by an origin, without the visible exceptions
  std::string group;  // the text for the group
};

std::string without_exceptions(std::string_view wire, const sketch::Profile& profile) {
  std::string kept;
  while (!wire.empty()) {
    const std::string_view line = wire.substr(0, wire.find("\r\n") + 2);
    wire.remove_prefix(line.size());
    if (!profile.is_seen_unkeyed(line.substr(0, line.find(':')))) kept += line;
  }
  return kept;
}

Made make(const std::string& text) {
  static const sketch::Profile profile;
  static sketch::RequestCanonicalizer canonicalizer;
  static const http::MessageLimits limits;
  http::Request request;
  http::RequestParser parser(request, limits);
  http::ParseState state{};
  const std::size_t consumed = http::feed_pieces(parser, text, text.size(), state);
  Made made;
  if (state != http::ParseState::complete || consumed != text.size()) return made;
  const sketch::RequestContext context{"http", "203.0.113.7"};
  sketch::RequestForm form;
  if (canonicalizer.locate(request, context, form)) return made;
  if (canonicalizer.canonicalize(request, context, profile, form)) return made;
  require(form.is_read);
  made.usable = true;
  made.key = form.key;
  made.seen = without_exceptions(form.wire, profile);
  form.append_group_wire(made.group);
  require(made.seen == without_exceptions(made.group, profile));
  return made;
}

template <std::size_t size>
std::string pick(const std::array<const char*, size>& from, Reader& script) {
  return from[script.integer<std::uint8_t>() % size];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Reader script(ByteView(data, size));
  std::string one = pick(kMethods, script);
  one += " " + pick(kTargets, script) + " HTTP/1.1\r\nHost: ";
  std::string other = one;
  one += pick(kHosts, script) + "\r\n";
  other += pick(kHosts, script) + "\r\n";
  while (script.remaining() > 0) {
    const auto whose = script.integer<std::uint8_t>() % 8;
    const std::string name = pick(kNames, script);
    const std::string line = name + ": " + pick(kValues, script) + "\r\n";
    if (whose != 0) one += line;
    if (whose != 1) other += line;
  }
  const Made first = make(one + "\r\n");
  const Made second = make(other + "\r\n");
  if (!first.usable || !second.usable) return 0;
  const bool same_key = as_text(first.key) == as_text(second.key);
  require(same_key == (first.seen == second.seen));
  require(same_key == (first.group == second.group));
  return 0;
}
