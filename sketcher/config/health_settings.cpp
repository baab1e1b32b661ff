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
  if (!http::normalize_authority(
          section.text(
              Key{"host", "The host of a check's request."}.otherwise("the origin's address")),
          "http", host)) {
    section.mistake("host", "expected HOST or HOST:PORT");
  }
  return host;
}

CheckSettings read_check(ConfigSection& section) {
  CheckSettings check;
  check.method =
      section.choice({"method", "The method of a check's request."}, {"GET", "HEAD"}, 0) == 1
          ? "HEAD"
          : "GET";
  check.path = section.text({"path", "The path of a check's request."}, "/");
  if (!is_path(check.path)) section.mistake("path", "expected a path from / on, in plain ASCII");
  check.host = read_host(section);
  for (const std::string& text : section.texts(
           {"expect_status", "List of statuses and ranges of them, from 200 to 599, that pass."},
           std::vector<std::string>{"200-399"})) {
    const auto range = parse_range(text);
    if (!range)
      section.mistake("expect_status", text, "expected statuses such as \"200\", \"200-399\"");
    check.rule.statuses.push_back(range.value_or(replica_client::StatusRange{}));
  }
  if (check.rule.statuses.empty()) section.mistake("expect_status", "expected at least one");
  check.rule.body = section.text({"expect_body",
                                  "Text of at most 1024 bytes that the answer's body must contain; "
                                  "at most 64 KiB of the body are read."},
                                 "");
  if (check.rule.body.size() > kBodyTextBytesMax) {
    section.mistake("expect_body", "expected a string of at most 1024 bytes");
  }
  if (!check.rule.body.empty() && check.method == "HEAD") {
    section.mistake("expect_body", "expected it with method \"GET\" alone");
  }
  check.interval =
      section.duration({"interval", "Time between two checks of an origin, give or take a tenth."},
                       kIntervalMin, kDurationMax, seconds(2));
  check.timeout =
      section.duration({"timeout", "Time for a check."}, kDurationMin, kDurationMax, seconds(1));
  return check;
}

// A time that doubles, from the first one up to the other.
void read_growing(ConfigSection& section, const Key& key, const Key& max_key, Duration& first,
                  Duration& max) {
  first = section.duration(key, kDurationMin, kDurationMax, first);
  max = section.duration(max_key, kDurationMin, kDurationMax, std::max(first, max));
  if (max < first) {
    section.mistake(max_key.name, std::string("expected at least ").append(key.name));
  }
}

std::uint32_t read_count(ConfigSection& section, const Key& key, std::uint64_t max,
                         std::uint32_t fallback) {
  return static_cast<std::uint32_t>(section.number(key, 1, max, fallback));
}

}  // namespace

HealthSettings read_health(ConfigSection section) {
  HealthSettings health;
  replica_client::HealthRules& rules = health.rules;
  rules.checked = section.choice({"check",
                                  "`\"http\"`: one process checks each origin regularly, for all "
                                  "workers. `\"none\"`: only what requests meet counts."},
                                 {"none", "http"}, 0) == 1;
  if (auto checked = section.when(rules.checked, "`check` is `\"http\"`")) {
    health.check = read_check(*checked);
    rules.rise = read_count(*checked, {"rise", "Number of checks in a row that have to pass."}, 100,
                            rules.rise);
    rules.fall = read_count(*checked, {"fall", "Number of checks in a row that have to fail."}, 100,
                            rules.fall);
  }
  rules.failures_max = read_count(section,
                                  {"failures_max",
                                   "An origin is taken out when its failed requests outnumber the "
                                   "successful ones by this number."},
                                  100'000, rules.failures_max);
  read_growing(
      section,
      {"pause",
       "The shortest time that it is taken out; it doubles each time that the origin fails again."},
      {"pause_max", "The longest time that it is taken out."}, rules.pause, rules.pause_max);
  rules.quarantine = section.flag({"quarantine",
                                   "Whether an origin sits out after it has lost `disputes_max` "
                                   "disputes within `disputes_window`."},
                                  rules.quarantine);
  rules.disputes_max =
      read_count(section,
                 {"disputes_max",
                  "Number of disputes within `disputes_window` after which an origin sits out. A "
                  "dispute is an answer that the group's agreement refuted."},
                 100'000, rules.disputes_max);
  rules.disputes_window =
      section.duration({"disputes_window", "The time in which disputes are counted."}, kDurationMin,
                       kDurationMax, rules.disputes_window);
  read_growing(section,
               {"sit_out",
                "Time that it is not drawn. Then it is on probation for as long again, and one "
                "more dispute makes it sit out for twice the time."},
               {"sit_out_max", "The longest time that it is not drawn."}, rules.sit_out,
               rules.sit_out_max);
  rules.slow = section.flag(
      {"slow",
       "Whether an origin that answers fast reads much later than the others sits out, likewise "
       "for `sit_out` to `sit_out_max`: `slow_max` reads within `slow_window`, a tenth of its "
       "reads at least, and four times the others' share of such reads. A slow read has run into "
       "its time-out or, on a route with `hedge`, has taken 200 ms and four times the delay after "
       "which a second replica is asked."},
      rules.slow);
  rules.slow_max = read_count(
      section,
      {"slow_max", "Number of slow reads within `slow_window` after which an origin may sit out."},
      100'000, rules.slow_max);
  rules.slow_window = section.duration({"slow_window", "The time in which slow reads are counted."},
                                       kDurationMin, kDurationMax, rules.slow_window);
  rules.slow_start = section.duration(
      {"slow_start",
       "The time in which an origin that comes back into the draw, by itself or by an operator, "
       "rises from a sixteenth of its weight to all of it; `0s`: at once."},
      Duration{}, kDurationMax, rules.slow_start);
  rules.drawable_min = read_count(
      section,
      Key{"drawable_min", "Number of origins that always stay in the draw; never fewer than f+1."}
          .otherwise("f+1"),
      kReplicasMax, 1);
  return health;
}

}  // namespace prophecy::sketcher
