#include "sketcher/installation/described_request.hpp"

#include "base/assert.hpp"
#include "base/ip_address.hpp"
#include "http/authority.hpp"
#include "http/parser.hpp"
#include "http/text.hpp"

namespace prophecy::sketcher {
namespace {

Error mistake(const RequestDescription& description, std::string_view problem) {
  return Error{ErrorKind::invalid, description.url + ": " + std::string(problem)};
}

// The request of `text`; otherwise why it is none.
std::optional<sketch::Refusal> parse(const std::string& text, const http::MessageLimits& limits,
                                     http::Request& request) {
  http::RequestParser parser(request, limits);
  auto progress = parser.feed(text);
  std::size_t consumed = progress.consumed;
  if (progress.state == http::ParseState::head_done) {
    progress = parser.feed(std::string_view(text).substr(consumed));
    consumed += progress.consumed;
  }
  if (progress.state == http::ParseState::failed)
    return sketch::Refusal{parser.failure().status, parser.failure().reason};
  if (progress.state != http::ParseState::complete || consumed != text.size())
    return sketch::Refusal{400, "makes no whole request with these headers"};
  return std::nullopt;
}

}  // namespace

sketch::Refusal refusal_of(Router::Miss miss) {
  switch (miss) {
    case Router::Miss::unknown_host:
      return {421, "unknown-host"};
    case Router::Miss::unknown_path:
      return {404, "no-route"};
    case Router::Miss::ambiguous_path:
      return {400, "ambiguous-path"};
    case Router::Miss::long_path:
      return {414, "path-with-too-many-readings"};
  }
  UNREACHABLE();
}

Result<DescribedRequest> read_described(const Installation& installation, const Router& router,
                                        const RequestDescription& description) {
  const http::TargetParts parts = http::split_target(description.url);
  const bool is_https = http::equal_ignoring_case(parts.scheme, "https");
  if (parts.authority.empty() || !(is_https || http::equal_ignoring_case(parts.scheme, "http"))) {
    return mistake(description, "expected a URL like http://www.example.org/path");
  }
  if (!http::is_read_method(description.method)) {
    return mistake(description, "expected the method to be GET or HEAD");
  }
  if (!IpAddress::parse(description.client_address)) {
    return mistake(description, "expected the client to be an IP address");
  }
  std::string text = description.method + " " + description.url +
                     " HTTP/1.1\r\nHost: " + std::string(parts.authority) + "\r\n";
  for (const std::string& header : description.headers)
    text += header + "\r\n";
  text += "\r\n";
  DescribedRequest described;
  http::Request request;
  described.refusal = parse(text, installation.settings.limits.request, request);
  if (described.refusal) return described;
  sketch::RequestContext context{.scheme = is_https ? "https" : "http",
                                 .client_address = description.client_address};
  sketch::RequestCanonicalizer canonicalizer(installation.settings.forwarding);
  described.refusal = canonicalizer.locate(request, context, described.form);
  if (described.refusal) return described;
  const auto choice = router.choose(described.form.authority, described.form.target);
  if (!choice.route) {
    described.refusal = refusal_of(choice.miss);
    return described;
  }
  described.route = choice.route;
  described.listed = choice.mark;
  const RouteSettings& route = installation.settings.routes[*choice.route];
  const auto& rewrite = route.answer_rules.rewrite;
  if (rewrite && !rewrite->apply(described.form.target)) {
    described.refusal = refusal_of(Router::Miss::ambiguous_path);
    return described;
  }
  context.dropped = &route.dropped;
  if (!route.set.empty()) context.set = &route.set;
  described.refusal = canonicalizer.canonicalize(
      request, context, installation.groups[route.group].profile, described.form);
  return described;
}

}  // namespace prophecy::sketcher
