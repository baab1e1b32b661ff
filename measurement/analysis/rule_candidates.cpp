#include "measurement/analysis/rule_candidates.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "canonical/origin_authorities.hpp"
#include "http/http_date.hpp"
#include "http/text.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kLastModifiedMax = "last_modified_max";
constexpr std::string_view kOriginAuthorities = "origin_authorities";
constexpr std::array<std::string_view, 9> kInternalDomains = {
    ".internal", ".local", ".localhost", ".localdomain", ".lan",
    ".intranet", ".corp",  ".private",   ".home.arpa"};

// The lines of a name, each behind a line end where it has several.
using Fields = std::map<std::string, std::string, std::less<>>;

Fields fields_of(std::string_view text) {
  Fields fields;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = std::min(line.find(": "), line.size());
    const std::string_view value = line.substr(std::min(colon + 2, line.size()));
    const auto [place, is_new] = fields.emplace(line.substr(0, colon), value);
    if (!is_new) place->second.append("\n").append(value);
  }
  return fields;
}

const std::string* value_in(const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? nullptr : &found->second;
}

bool is_reference(std::string_view name) {
  return name == "location" || name == "content-location";
}

// Of a URL with an authority, or of one without a scheme.
std::string_view authority_of(std::string_view reference) {
  const std::size_t begin = reference.find("//");
  if (begin == std::string_view::npos) return {};
  const std::size_t end = std::min(reference.find_first_of("/?#", begin + 2), reference.size());
  return reference.substr(begin + 2, end - begin - 2);
}

void merge(std::set<std::string>& into, const std::set<std::string>& names) {
  into.insert(names.begin(), names.end());
}

}  // namespace

// The settings that a transition needs.
struct RuleCandidates::Settled {
  std::set<std::string> rules;
  std::set<std::string> dropped;
  std::set<std::string> authorities;
  std::optional<std::chrono::sys_seconds> last_modified;
};

bool is_internal_authority(std::string_view authority) {
  std::string host;
  http::append_lower(host, authority);
  if (host.starts_with('[')) return true;
  host.resize(std::min(host.rfind(':'), host.size()));
  if (host.empty()) return false;
  if (host.find('.') == std::string::npos) return true;
  if (host.find_first_not_of("0123456789.") == std::string::npos) return true;
  return std::any_of(kInternalDomains.begin(), kInternalDomains.end(),
                     [&](std::string_view domain) { return host.ends_with(domain); });
}

bool RuleCandidates::settle(const std::string& name, const std::string* before,
                            const std::string* after, Settled& settled) const {
  if (is_reference(name) && before != nullptr && after != nullptr) {
    std::vector<sketch::OriginAuthority> authorities;
    for (const std::string* value : {before, after}) {
      const std::string_view authority = authority_of(*value);
      auto parsed = sketch::parse_origin_authority(authority);
      if (!parsed || !is_internal_authority(authority)) continue;
      settled.authorities.insert(parsed->http);
      authorities.push_back(std::move(*parsed));
    }
    std::string one = *before;
    std::string other = *after;
    sketch::strip_origin(one, authorities);
    sketch::strip_origin(other, authorities);
    settled.rules.emplace(kOriginAuthorities);
    return one == other;
  }
  if (name == "last-modified" && before != nullptr && after != nullptr) {
    const auto one = http::parse_http_date(*before);
    const auto other = http::parse_http_date(*after);
    if (!one || !other) return false;
    settled.last_modified = std::min(*one, *other);
    settled.rules.emplace(kLastModifiedMax);
    return true;
  }
  // Only a field that no rule names may be dropped. Without Expires caches would guess.
  if (name == "status" || name == "expires" || !http::is_token(name) ||
      profile_.numbered_answer_rule(name).number != sketch::kUnnumbered) {
    return false;
  }
  settled.dropped.insert(name);
  settled.rules.insert(name);
  return true;
}

bool RuleCandidates::fits(const Settled& settled) const {
  std::set<std::string> dropped = dropped_;
  std::set<std::string> authorities = authorities_;
  merge(dropped, settled.dropped);
  merge(authorities, settled.authorities);
  return dropped.size() <= kValuesMax && authorities.size() <= kValuesMax;
}

void RuleCandidates::add_transition(std::string_view before, std::string_view after) {
  const Fields old_fields = fields_of(before);
  const Fields new_fields = fields_of(after);
  std::set<std::string> names;
  for (const auto& [name, value] : old_fields)
    names.insert(name);
  for (const auto& [name, value] : new_fields)
    names.insert(name);
  Settled settled;
  for (const std::string& name : names) {
    const std::string* one = value_in(old_fields, name);
    const std::string* other = value_in(new_fields, name);
    if (one != nullptr && other != nullptr && *one == *other) continue;
    if (!settle(name, one, other, settled)) return;
  }
  if (settled.rules.empty() || !fits(settled)) return;
  std::string key;
  for (const std::string& rule : settled.rules)
    key.append(key.empty() ? "" : ",").append(rule);
  if (transitions_.size() >= kRuleSetsMax && !transitions_.contains(key)) return;
  ++transitions_[key];
  merge(dropped_, settled.dropped);
  merge(authorities_, settled.authorities);
  if (settled.last_modified &&
      (!last_modified_max_ || *settled.last_modified < *last_modified_max_))
    last_modified_max_ = settled.last_modified;
}

void RuleCandidates::add_unsketched(AnswerKind kind, std::string_view fields) {
  if (kind == AnswerKind::sets_cookie) ++sets_cookie_;
  if (kind != AnswerKind::varies) return;
  const Fields all = fields_of(fields);
  const std::string* vary = value_in(all, "vary");
  if (vary == nullptr) return;
  std::string_view rest = *vary;
  std::string_view element;
  std::set<std::string> keyed;
  bool by_address = false;
  while (http::next_list_element(rest, element)) {
    std::string name;
    http::append_lower(name, element);
    if (!profile_.is_seen_unkeyed(name) && name != "*") continue;
    const bool tells_client = name == "x-forwarded-for" || name == "forwarded";
    by_address |= tells_client;
    if (tells_client) continue;
    // No setting covers these: `*`, and what agents add.
    if (profile_.request_rule(name) != sketch::RequestRule::forwarded) return;
    keyed.insert(std::move(name));
  }
  std::set<std::string> together = keyed_;
  merge(together, keyed);
  if (together.size() > kValuesMax) return;
  ++varies_;
  keyed_ = std::move(together);
  varies_by_address_ |= by_address;
}

std::uint64_t RuleCandidates::settled() const {
  std::uint64_t sum = 0;
  for (const auto& [rules, transitions] : transitions_)
    sum += transitions;
  return sum;
}

}  // namespace prophecy::measurement
