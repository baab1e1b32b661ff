#include "sketcher/config/rule_settings.hpp"

#include <algorithm>

#include "base/config/shared_settings.hpp"
#include "base/file.hpp"
#include "http/authority.hpp"
#include "http/text.hpp"
#include "sketcher/config/compression_settings.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::size_t kPageBytesMax = 64 << 10;
constexpr std::size_t kPagesMax = 32;
constexpr std::size_t kFieldsMax = 64;
constexpr std::uint64_t kClientRateMax = 1'000'000;
constexpr std::uint64_t kClientInFlightMax = 1'000'000;
constexpr std::uint64_t kRetryAfterMax = 7 * 24 * 3600;

std::string read_prefix(ConfigSection& section, const Key& key) {
  std::string prefix = section.text(key);
  if (!is_path_prefix(prefix) || (prefix.size() > 1 && prefix.ends_with('/'))) {
    section.mistake(key.name,
                    "expected a path from / on, as for path_prefix, without \"/\" at its end");
  }
  return prefix;
}

void read_rewrite(ConfigSection& section, RouteSettings& route) {
  if (!section.has("rewritten_prefix")) return;
  std::string prefix = read_prefix(
      section,
      Key{"rewritten_prefix",
          "The path prefix that origins are asked for in place of `path_prefix`. The sketch covers "
          "the rewritten path, so no answer is taken for that of another one. `Location` and "
          "`Content-Location` of answers are changed back, where they are paths or lead to the "
          "request's own scheme and authority; paths in bodies and in cookies are not. A request "
          "is answered 400 (`ambiguous-path`) if some origin may read its rewritten path as one "
          "outside of the prefix."}
          .otherwise("`path_prefix`"));
  if (prefix == route.pattern.path_prefix) {
    section.mistake("rewritten_prefix", "expected another path than path_prefix");
  }
  if (is_path_prefix(prefix) && is_path_prefix(route.pattern.path_prefix))
    route.answer_rules.rewrite.emplace(route.pattern.path_prefix, std::move(prefix));
}

Redirect read_redirect(ConfigSection section, const RouteSettings& route) {
  Redirect redirect;
  if (section.has("scheme")) {
    constexpr const char* kSchemes[] = {"http", "https"};
    redirect.scheme =
        kSchemes[section.choice(Key{"scheme", "The scheme to redirect to."}.otherwise("the "
                                                                                      "request's"),
                                {"http", "https"})];
  }
  if (section.has("host")) {
    redirect.authority = section.text(
        Key{"host",
            "The host to redirect to, with a port unless it is the scheme's own. Without it, and "
            "with another scheme, the request's port is left out."}
            .otherwise("the request's"));
    std::string normalized;
    if (!http::normalize_authority(redirect.authority, "http", normalized)) {
      section.mistake("host",
                      "expected a name such as \"www.example.org\", with or without a port");
    }
  }
  if (section.has("path_prefix")) {
    redirect.path_prefix = read_prefix(
        section,
        Key{"path_prefix", "The path prefix in place of the route's."}.otherwise("the route's"));
    if (!is_path_prefix(*redirect.path_prefix) || !is_path_prefix(route.pattern.path_prefix))
      redirect.path_prefix.reset();
  }
  redirect.status = static_cast<std::uint16_t>(section.number(
      Key{"status", "The status of the redirect. 307 and 308 keep the method."}.within(
          "301, 302, 303, 307 or 308"),
      301, 308, 308));
  if (redirect.status > 303 && redirect.status < 307) {
    section.mistake("status", "expected 301, 302, 303, 307 or 308");
  }
  if (!section.has("scheme") && !section.has("host") && !section.has("path_prefix")) {
    section.mistake("scheme", "expected scheme, host or path_prefix");
  }
  return redirect;
}

std::vector<sketch::ConfiguredField> read_fields(ConfigSection& section, const Key& key,
                                                 std::string_view (*why_not)(std::string_view)) {
  std::vector<sketch::ConfiguredField> fields;
  for (const std::string& line : section.texts(key, std::vector<std::string>{})) {
    auto field = sketch::parse_configured_field(line);
    if (!field) {
      section.mistake(key.name, line, "expected fields such as \"x-name: value\"");
      continue;
    }
    const std::string_view why = why_not(field->name);
    if (why.empty()) {
      fields.push_back(std::move(*field));
    } else {
      section.mistake(key.name, line,
                      "expected fields that rules may change, found \"" + field->name +
                          "\", which " + std::string(why));
    }
  }
  if (fields.size() > kFieldsMax) {
    section.mistake(key.name, "expected at most " + std::to_string(kFieldsMax) + " of them");
  }
  return fields;
}

void read_answer_fields(ConfigSection& section, RouteSettings& route) {
  AnswerRules& rules = route.answer_rules;
  for (auto& field : read_fields(
           section,
           {"set_answer_headers",
            "List of fields such as `\"x-frame-options: DENY\"` that the route's answers have in "
            "place of any of that name, at most 64. Answers are verified first. An answer of the "
            "sketcher's own keeps its `cache-control`, `content-type`, `retry-after` and `allow`. "
            "It is an error to name what the sketcher writes itself (`date`, `etag`, "
            "`content-length`), what belongs to the connection, `content-encoding`, "
            "`content-range`, `location`, `content-location`, `set-cookie`, `vary`, "
            "`www-authenticate` and `last-modified`. A `cache-control` holds for "
            "answers that set a cookie, too."},
           why_not_set))
    rules.set(std::move(field));
  for (auto& field :
       read_fields(section,
                   {"added_answer_headers",
                    "Likewise, beside those of that name that an answer has already. It is an "
                    "error to name a field that has one value, such as `content-type`."},
                   why_not_added))
    rules.add(std::move(field));
  for (const std::string& name : sketch::read_field_names(
           section,
           {"dropped_answer_headers",
            "Likewise: names of fields that clients do not get. `last-modified` may be named."})) {
    const std::string_view why = why_not_ruled(name);
    if (why.empty()) {
      rules.drop(name);
    } else {
      section.mistake("dropped_answer_headers", name,
                      "expected fields that rules may change, found \"" + name + "\", which " +
                          std::string(why));
    }
  }
}

std::string read_type(ConfigSection& section, const Key& key) {
  std::string type = section.text(key, "text/html; charset=utf-8");
  if (type.empty() || !http::is_field_value(type)) {
    section.mistake(key.name, "expected a media type such as \"text/html; charset=utf-8\"");
  }
  return type;
}

std::string read_body(ConfigSection& section, const Key& key) {
  const std::filesystem::path path = section.path(key);
  if (path.empty()) return {};
  auto text = read_file(path, kPageBytesMax);
  if (text) return std::move(*text);
  section.mistake(key.name, text.error().message);
  return {};
}

void read_pages(ConfigSection& section, RouteSettings& route) {
  std::vector<OwnPage>& pages = route.answer_rules.pages;
  for (ConfigSection& each : section.sections(
           {"error_page",
            "Bodies, one for each status, of the answers that the sketcher makes itself for this "
            "route's requests; what origins answer is not replaced. At most 32."})) {
    const auto status = static_cast<std::uint16_t>(
        each.number({"status", "The status of these answers."}, 400, 599));
    OwnPage page{status, read_type(each, {"content_type", "The media type of the body."}),
                 read_body(each, {"file",
                                  "File with the body, of at most 64 KiB, read at the "
                                  "start."})};
    if (std::any_of(pages.begin(), pages.end(),
                    [&](const OwnPage& other) { return other.status == status; })) {
      each.mistake("status", "expected each status once");
    }
    pages.push_back(std::move(page));
  }
  if (pages.size() > kPagesMax) {
    section.mistake("error_page", "expected at most " + std::to_string(kPagesMax) + " of them");
  }
  OwnPage maintenance{
      503,
      read_type(section, {"maintenance_page_type", "The media type of `maintenance_page`."}),
      {}};
  if (section.has("maintenance_page")) {
    maintenance.body =
        read_body(section, Key{"maintenance_page",
                               "File with the body, of at most 64 KiB, of the answers in mode "
                               "`\"maintenance\"`, read at the start."}
                               .otherwise("a line of text"));
    route.answer_rules.maintenance_page = std::move(maintenance);
  }
  route.maintenance_retry_after_s = static_cast<std::uint32_t>(section.number(
      {"maintenance_retry_after", "`Retry-After` of the answers in that mode, in seconds."}, 1,
      kRetryAfterMax, 60));
}

ClientLimitSettings read_client_limit(ConfigSection section) {
  ClientLimitSettings limit;
  std::string field = section.text(
      {"field",
       "Name of a request field whose value names the client, such as `\"x-api-key\"` or "
       "`\"authorization\"`. Without a name, and for a request without the field, a client is its "
       "address of IPv4, or its network of IPv6 (`ipv6_prefix`); behind a load balancer among "
       "`trusted_peers` the forwarded one. A client may invent values: use a field that something "
       "in front has checked."},
      "");
  if (!field.empty() && !http::is_token(field)) section.mistake("field", "expected a field's name");
  http::append_lower(limit.field, field);
  limit.per_second = static_cast<double>(
      section.number({"requests_per_second",
                      "Requests of one client a second; 0 is no bound. More are answered 429 "
                      "(`too-many-requests`), with the time until the next one in `Retry-After`. "
                      "All workers count together; each member of a ring counts by itself."},
                     0, kClientRateMax, 0));
  limit.burst = static_cast<std::uint32_t>(section.number(
      Key{"burst", "Requests of one client that may come at once."}.otherwise("those of a second"),
      1, kClientRateMax, std::max<std::uint64_t>(1, static_cast<std::uint64_t>(limit.per_second))));
  if (section.has("burst") && limit.per_second == 0) {
    section.mistake("burst", "expected requests_per_second beside it");
  }
  limit.in_flight = static_cast<std::uint32_t>(section.number(
      {"requests_in_flight",
       "Requests of one client whose answers it has not got yet; 0 is no bound. Another is "
       "answered 429 (`too-many-in-flight`). Open tunnels do not count."},
      0, kClientInFlightMax, 0));
  limit.unlimited = read_address_ranges(
      section,
      {"unlimited", "Ranges of addresses, such as `\"10.0.0.0/8\"`, without these bounds."});
  limit.allowed = read_address_ranges(
      section, {"allowed",
                "Ranges of addresses: if there are any, all others are answered 403 "
                "(`client-denied`). A range of IPv6 contains no IPv4 address."});
  limit.denied = read_address_ranges(
      section, {"denied", "Likewise: these are answered 403, even if they are allowed."});
  const bool has_bound = limit.per_second > 0 || limit.in_flight > 0;
  if (!has_bound && limit.allowed.empty() && limit.denied.empty()) {
    section.mistake("requests_per_second",
                    "expected a bound, or addresses that are allowed or denied");
  }
  return limit;
}

}  // namespace

void read_rules(ConfigSection& section, RouteSettings& route) {
  route.set = sketch::SetFields::from_config(
      section,
      {"set_request_headers",
       "List of fields such as `\"x-realm: inside\"` that the route's requests have in place of "
       "those of that name (or of its spellings with `_`) that a client sends, at most 64. Each "
       "has to be a field that the sketch covers (`keyed_headers` of the group): reads would lose "
       "any other."});
  read_rewrite(section, route);
  if (section.has("redirect")) {
    route.redirect = read_redirect(
        section.section({"redirect",
                         "With this table, requests of the route are redirected to another scheme, "
                         "host or path prefix, as far as they are not there already. The "
                         "scheme of a request from one of `trusted_peers` is what it says in "
                         "`X-Forwarded-Proto`, or in `proto` of `Forwarded`, by `[forwarding] "
                         "style`; a load balancer that takes TLS off has to be such a peer, or "
                         "redirects to https never end. Redirects that lead back, or go on for "
                         "more than ten steps, are an error."}),
        route);
  }
  if (section.has("compression")) {
    route.answer_rules.compression = read_compression(section.section(
        {"compression",
         "With this table, verified 200s to GET get a content coding that the client takes, if the "
         "history may hold them and they are not agreed on in blocks. Each coding has a strong "
         "entity tag of its own; `Vary` names `Accept-Encoding`; ranges are those of the plain "
         "body. Answers that set a cookie, that have a coding already, or whose `Cache-Control` "
         "says `no-transform`, stay as they are. Do not use it for pages that have a secret and "
         "what others may choose in one body: the length of the coded body tells of the secret "
         "(BREACH)."}));
  }
  if (section.has("clients")) {
    route.client_limit = read_client_limit(section.section(
        {"clients",
         "With this table, the route limits what one client may ask. Clients are hashed into two "
         "rows of 8192 slots, values of `field` into two others; a client is refused when both of "
         "its slots are full."}));
  }
  read_answer_fields(section, route);
  read_pages(section, route);
}

void check_redirects(std::vector<ConfigSection>& sections,
                     const std::vector<RouteSettings>& routes) {
  const Router router = make_router(routes);
  std::vector<RedirectingRoute> redirecting;
  redirecting.reserve(routes.size());
  for (const RouteSettings& route : routes)
    redirecting.push_back({&route.pattern, route.redirect ? &*route.redirect : nullptr});
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const auto loop = find_loop(redirecting, router, i);
    if (loop) sections[i].mistake("redirect", "expected redirects that end, not " + *loop);
  }
}

}  // namespace prophecy::sketcher
