#include "canonical/profile.hpp"

#include "base/codec.hpp"
#include "base/config/config.hpp"
#include "canonical/block_list.hpp"
#include "canonical/configured_name.hpp"
#include "canonical/default_rules.hpp"
#include "http/http_date.hpp"
#include "http/text.hpp"

namespace prophecy::sketch {
namespace {

// Changes whenever the encoding of a canonical form or the meaning of a rule does.
constexpr std::uint32_t kCanonicalFormVersion = 3;

constexpr std::size_t kOriginAuthoritiesMax = 64;

constexpr std::uint64_t kWholeAnswerBytesMin = 1 << 10;
constexpr std::uint64_t kWholeAnswerBytesMax = 1 << 30;

template <class Rule>
const Rule* find_prefix(std::span<const Rule> rules, std::string_view name) {
  for (const Rule& rule : rules) {
    if (name.starts_with(rule.name)) return &rule;
  }
  return nullptr;
}

template <class NamedRule, class Rule>
NumberedRule<Rule> find_rule(const NameTable& names, std::span<const NamedRule> prefixes,
                             std::string_view name, std::size_t first, Rule otherwise) {
  if (const auto* entry = names.find(name)) {
    return {static_cast<Rule>(entry->value), static_cast<std::uint16_t>(first + entry->number)};
  }
  if (const auto* prefix = find_prefix(prefixes, name)) {
    const auto position = static_cast<std::size_t>(prefix - prefixes.data());
    return {prefix->rule, static_cast<std::uint16_t>(first + names.size() + position)};
  }
  return {otherwise};
}

}  // namespace

std::vector<std::string> read_field_names(ConfigSection& section, const Key& key) {
  std::vector<std::string> names;
  for (const std::string& text : section.texts(key, std::vector<std::string>{})) {
    if (!http::is_token(text) || text.size() > kConfiguredNameBytesMax) {
      section.mistake(key.name, text, "expected names of header fields");
      continue;
    }
    std::string name;
    http::append_lower(name, text);
    names.push_back(std::move(name));
  }
  return names;
}

Profile::Profile() {
  for (const auto& [name, rule] : default_request_rules()) {
    request_rules_.set(name, static_cast<std::uint8_t>(rule));
  }
  for (const auto& [name, rule] : default_answer_rules()) {
    answer_rules_.set(name, static_cast<std::uint8_t>(rule));
  }
  settle();
}

Profile Profile::from_config(ConfigSection section) {
  Profile profile;
  profile.add_keyed(section);
  profile.add_forwarded(section);
  profile.add_dropped(section);
  profile.read_sizes(section);
  profile.keys_client_address_ =
      section.flag({"key_client_address",
                    "Whether the fields with the client's address are part of the sketch. Set it "
                    "for origins whose answers depend on the address (access rules by address, "
                    "pages by country); each address then has its own answers in the history."},
                   false);
  profile.remembers_cookies_ =
      section.flag({"remember_set_cookie",
                    "Whether answers that set a cookie may be remembered, and given to all "
                    "clients. Set it only for services that set the same cookie for all clients."},
                   false);
  profile.read_origin_authorities(section);
  profile.read_last_modified_max(section);
  profile.settle();
  return profile;
}

void Profile::add_keyed(ConfigSection& section) {
  constexpr Key kKey = {"keyed_headers",
                        "Names of request fields that are part of the sketch, and are forwarded."};
  for (const std::string& name : read_field_names(section, kKey)) {
    const RequestRule rule = request_rule(name);
    // Caching directives may be keyed like any other field; ranges and conditions may not, since
    // their answers (206, 304, 412) are made by the sketcher from the whole.
    const bool condition = name == "range" || name.starts_with("if-");
    if (rule == RequestRule::generated || rule == RequestRule::hop_by_hop || condition) {
      section.mistake(kKey.name, name,
                      "expected fields that are forwarded end to end, found \"" + name +
                          "\", which the sketcher handles");
      continue;
    }
    request_rules_.set(name, static_cast<std::uint8_t>(RequestRule::keyed));
  }
}

void Profile::add_forwarded(ConfigSection& section) {
  constexpr Key kKey = {
      "forwarded_headers",
      "Names of request fields that are forwarded without being part of the sketch; an answer must "
      "not depend on them. Reads that the group answers for the history go without them, see "
      "`group_client_address` in prophecy-sketcher(8)."};
  for (const std::string& name : read_field_names(section, kKey)) {
    const bool allowed = !knows_request_field(name) || request_rule(name) == RequestRule::forwarded;
    if (!allowed) {
      section.mistake(kKey.name, name,
                      "expected fields that nothing else is decided about, found \"" + name +
                          "\", which may not be forwarded without being keyed");
      continue;
    }
    request_rules_.set(name, static_cast<std::uint8_t>(RequestRule::forwarded));
  }
}

void Profile::add_dropped(ConfigSection& section) {
  constexpr Key kKey = {"dropped_answer_headers",
                        "Names of answer fields that are neither compared nor delivered; "
                        "`prophecyctl compare` finds them."};
  for (const std::string& name : read_field_names(section, kKey)) {
    if (knows_answer_field(name) && answer_rule(name) != AnswerRule::dropped) {
      section.mistake(
          kKey.name, name,
          "expected noise of a service, found \"" + name + "\", which may not be dropped");
      continue;
    }
    answer_rules_.set(name, static_cast<std::uint8_t>(AnswerRule::dropped));
  }
}

void Profile::read_sizes(ConfigSection& section) {
  whole_answer_bytes_ =
      section.bytes({"whole_answer",
                     "An answer to a GET with a larger body is agreed on and verified in blocks, "
                     "and delivered block by block with bounded memory."},
                    kWholeAnswerBytesMin, kWholeAnswerBytesMax, whole_answer_bytes_);
  block_bytes_ = static_cast<std::uint32_t>(
      section.bytes({"answer_block",
                     "The size of the blocks; each answer in transit holds about two of them, "
                     "those on one HTTP/2 connection at most 8 MiB together."},
                    kBlockBytesMin, kBlockBytesMax, block_bytes_));
}

void Profile::read_origin_authorities(ConfigSection& section) {
  constexpr Key kKey = {"origin_authorities",
                        "HOST or HOST:PORT, at most 64; in `Location` and `Content-Location`, a "
                        "URL with one of these loses scheme and authority."};
  for (const std::string& text : section.texts(kKey, std::vector<std::string>{})) {
    auto authority = parse_origin_authority(text);
    if (authority) {
      origin_authorities_.push_back(std::move(*authority));
    } else {
      section.mistake(kKey.name, text, "expected HOST or HOST:PORT");
    }
  }
  if (origin_authorities_.size() > kOriginAuthoritiesMax) {
    section.mistake(kKey.name,
                    "expected at most " + std::to_string(kOriginAuthoritiesMax) + " of them");
  }
  std::sort(origin_authorities_.begin(), origin_authorities_.end());
}

void Profile::read_last_modified_max(ConfigSection& section) {
  constexpr Key kKey =
      Key{"last_modified_max",
          "A date as HTTP writes it; a `Last-Modified` that is later becomes this one."}
          .otherwise("none");
  if (!section.has(kKey.name)) return;
  const std::string text = section.text(kKey);
  const auto time = http::parse_http_date(text);
  if (!time) {
    return section.mistake(kKey.name, "expected a date like \"Sun, 06 Nov 1994 08:49:37 GMT\"");
  }
  last_modified_max_ = {*time, text};
}

RequestRule Profile::request_rule(std::string_view name) const {
  return numbered_request_rule(name).rule;
}

AnswerRule Profile::answer_rule(std::string_view name) const {
  return numbered_answer_rule(name).rule;
}

// Numbers: names of requests, their prefixes, names of answers, their prefixes.
NumberedRule<RequestRule> Profile::numbered_request_rule(std::string_view name) const {
  // For CGI programs, and whoever descends from them, both are one character. An unknown field with
  // underscores may not pass for one that only we write, or for one of a connection.
  if (name.find('_') != std::string_view::npos) {
    std::string plain(name);
    std::replace(plain.begin(), plain.end(), '_', '-');
    const auto rule = numbered_request_rule(plain);
    if (rule.rule == RequestRule::generated || rule.rule == RequestRule::hop_by_hop) return rule;
  }
  // A CGI program finds it as HTTP_PROXY, which sets where its own requests go.
  if (name == "proxy") return {RequestRule::hop_by_hop};
  return find_rule(request_rules_, request_prefix_rules(), name, 0, RequestRule::dropped);
}

NumberedRule<AnswerRule> Profile::numbered_answer_rule(std::string_view name) const {
  const std::size_t first = request_rules_.size() + request_prefix_rules().size();
  return find_rule(answer_rules_, answer_prefix_rules(), name, first, AnswerRule::covered);
}

std::size_t Profile::rule_count() const {
  return request_rules_.size() + request_prefix_rules().size() + answer_rules_.size() +
         answer_prefix_rules().size();
}

std::vector<RuleText> Profile::rules() const {
  static constexpr std::string_view kRequestActions[] = {"keyed", "forwarded", "replaced",
                                                         "dropped", "hop-by-hop"};
  static constexpr std::string_view kAnswerActions[] = {"covered", "replaced", "dropped",
                                                        "hop-by-hop", "internal"};
  std::vector<RuleText> texts(rule_count());
  const auto add = [&](bool in_answers, const NameTable& names, const auto& prefixes,
                       std::size_t first, const auto& actions) {
    for (const auto& entry : names.sorted())
      texts[first + entry.number] = {in_answers, entry.name, actions[entry.value]};
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
      const auto rule = static_cast<std::size_t>(prefixes[i].rule);
      texts[first + names.size() + i] = {in_answers, std::string(prefixes[i].name) + '*',
                                         actions[rule]};
    }
  };
  add(false, request_rules_, request_prefix_rules(), 0, kRequestActions);
  add(true, answer_rules_, answer_prefix_rules(),
      request_rules_.size() + request_prefix_rules().size(), kAnswerActions);
  return texts;
}

bool Profile::knows_request_field(std::string_view name) const {
  return request_rules_.find(name) != nullptr ||
         find_prefix(request_prefix_rules(), name) != nullptr;
}

bool Profile::knows_answer_field(std::string_view name) const {
  return answer_rules_.find(name) != nullptr || find_prefix(answer_prefix_rules(), name) != nullptr;
}

bool Profile::is_seen_unkeyed(std::string_view name) const {
  // These two are ours, and yet say something of this one client.
  // And what agents say under our name is of one moment.
  const bool tells_client = name == "x-forwarded-for" || name == "forwarded";
  return request_rule(name) == RequestRule::forwarded || (tells_client && !keys_client_address_) ||
         name.starts_with("prophecy-");
}

bool Profile::may_nominate_in_request(std::string_view name) const {
  if (name == "transfer-encoding") return false;
  return !knows_request_field(name) || request_rule(name) == RequestRule::hop_by_hop;
}

bool Profile::may_nominate_in_answer(std::string_view name) const {
  if (name == "transfer-encoding") return false;
  return !knows_answer_field(name) || answer_rule(name) == AnswerRule::hop_by_hop;
}

void Profile::settle() {
  forwards_user_agent_ = request_rule("user-agent") == RequestRule::forwarded;
  compute_id();
}

void Profile::compute_id() {
  Bytes text;
  Writer writer(text);
  writer.sized(as_bytes("prophecy.canonical"));
  writer.integer(kCanonicalFormVersion);
  const auto add = [&](std::string_view name, auto rule) {
    writer.sized(as_bytes(name));
    writer.integer(static_cast<std::uint8_t>(rule));
  };
  // An empty name separates the four lists; no rule has one.
  for (const auto& entry : request_rules_.sorted())
    add(entry.name, entry.value);
  add("", 0);
  for (const auto& [name, rule] : request_prefix_rules())
    add(name, rule);
  add("", 0);
  for (const auto& entry : answer_rules_.sorted())
    add(entry.name, entry.value);
  add("", 0);
  for (const auto& [name, rule] : answer_prefix_rules())
    add(name, rule);
  writer.integer(whole_answer_bytes_);
  writer.integer(block_bytes_);
  writer.integer(static_cast<std::uint8_t>(keys_client_address_));
  for (const OriginAuthority& authority : origin_authorities_)
    add(authority.http + ' ' + authority.https, 0);
  add("", 0);
  writer.sized(as_bytes(last_modified_max_ ? last_modified_max_->text : ""));
  if (remembers_cookies_) writer.sized(as_bytes("remember_set_cookie"));
  id_ = sha256(text);
}

}  // namespace prophecy::sketch
