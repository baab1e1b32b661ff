#include "sketcher/config/health_settings.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/ids.hpp"
#include "http/authority.hpp"
#include "sketcher/config/setting_bounds.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::size_t kPathBytesMax = 1024;
constexpr std::size_t kBodyTextBytesMax = 1024;
// Checks of one origin come no faster, whatever the configuration says.
constexpr Duration kIntervalMin = milliseconds(100);

std::optional<std::uint16_t> parse_status(std::string_view text) {
  std::uint16_t status = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), status);
  const bool whole = error == std::errc() && end == text.data() + text.size() && text.size() == 3;
  if (!whole || status < 200 || status > 599) return std::nullopt;
  return status;
}

std::optional<replica_client::StatusRange> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_status(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_status(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return replica_client::StatusRange{*first, *last};
}

bool is_path(std::string_view path) {
  return path.starts_with('/') && path.size() <= kPathBytesMax &&
         std::all_of(path.begin(), path.end(),
                     [](char c) { return c > ' ' && c < 0x7f && c != '#'; });
}

std::string read_host(ConfigSection& section) {
  if (!section.has("host")) return {};
  std::string host;
  if (!http::normalize_authority(section.text("host"), "http", host)) {
    section.mistake("host", "expected HOST or HOST:PORT");
  }
  return host;
}

CheckSettings read_check(ConfigSection& section) {
  CheckSettings check;
  check.method = section.choice("method", {"GET", "HEAD"}, 0) == 1 ? "HEAD" : "GET";
  check.path = section.text("path", "/");
  if (!is_path(check.path)) section.mistake("path", "expected a path from / on, in plain ASCII");
  check.host = read_host(section);
  for (const std::string& text :
       section.texts("expect_status", std::vector<std::string>{"200-399"})) {
    const auto range = parse_range(text);
    if (!range) section.mistake("expect_status", "expected statuses such as \"200\", \"200-399\"");
    check.rule.statuses.push_back(range.value_or(replica_client::StatusRange{}));
  }
  if (check.rule.statuses.empty()) section.mistake("expect_status", "expected at least one");
  check.rule.body = section.text("expect_body", "");
  if (check.rule.body.size() > kBodyTextBytesMax) {
    section.mistake("expect_body", "expected at most 1024 bytes");
  }
  if (!check.rule.body.empty() && check.method == "HEAD") {
    section.mistake("expect_body", "expected method \"GET\" with it");
  }
  check.interval = section.duration("interval", kIntervalMin, kDurationMax, seconds(2));
  check.timeout = section.duration("timeout", kDurationMin, kDurationMax, seconds(1));
  return check;
}

// A time that doubles, from the first one up to the other.
void read_growing(ConfigSection& section, const char* key, const char* max_key, Duration& first,
                  Duration& max) {
  first = section.duration(key, kDurationMin, kDurationMax, first);
  max = section.duration(max_key, kDurationMin, kDurationMax, std::max(first, max));
  if (max < first) section.mistake(max_key, std::string("expected at least ") + key);
}

}  // namespace

HealthSettings read_health(ConfigSection section) {
  HealthSettings health;
  replica_client::HealthRules& rules = health.rules;
  const auto count = [&](const char* key, std::uint64_t max, std::uint32_t fallback) {
    return static_cast<std::uint32_t>(section.number(key, 1, max, fallback));
  };
  rules.checked = section.choice("check", {"none", "http"}, 0) == 1;
  if (rules.checked) {
    health.check = read_check(section);
    rules.rise = count("rise", 100, rules.rise);
    rules.fall = count("fall", 100, rules.fall);
  }
  rules.failures_max = count("failures_max", 100'000, rules.failures_max);
  read_growing(section, "pause", "pause_max", rules.pause, rules.pause_max);
  rules.quarantine = section.flag("quarantine", rules.quarantine);
  rules.disputes_max = count("disputes_max", 100'000, rules.disputes_max);
  rules.disputes_window =
      section.duration("disputes_window", kDurationMin, kDurationMax, rules.disputes_window);
  read_growing(section, "sit_out", "sit_out_max", rules.sit_out, rules.sit_out_max);
  rules.slow = section.flag("slow", rules.slow);
  rules.slow_max = count("slow_max", 100'000, rules.slow_max);
  rules.slow_window =
      section.duration("slow_window", kDurationMin, kDurationMax, rules.slow_window);
  rules.drawable_min = count("drawable_min", kReplicasMax, 1);
  return health;
}

}  // namespace prophecy::sketcher
