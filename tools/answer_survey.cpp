#include "tools/answer_survey.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/bytes.hpp"
#include "base/config/config.hpp"
#include "base/digest.hpp"
#include "canonical/origin_authorities.hpp"
#include "http/http_date.hpp"

namespace prophecy::tools {
namespace {

constexpr std::string_view kHeader = "header";
constexpr std::string_view kBody = "body";

void add_value(std::string& values, std::string_view value) {
  if (!values.empty()) values += "; ";
  values.append(value);
}

// The one who decides is the configuration's own reader.
bool may_be_dropped(const std::string& name) {
  auto file = ConfigFile::parse("dropped_answer_headers = [\"" + name + "\"]", "");
  if (!file) return false;
  static_cast<void>(sketch::Profile::from_config(file->root()));
  return file->finish().has_value();
}

template <class Take>
void for_each_value(const SurveyDifference& difference, Take take) {
  for (const auto& [replica, values] : difference.values) {
    for (const auto& value : values) {
      if (value) take(*value);
    }
  }
}

// The earliest, if all are dates.
std::optional<std::string> earliest_date(const SurveyDifference& difference) {
  std::optional<std::string> earliest;
  bool all_dates = true;
  for_each_value(difference, [&](const std::string& value) {
    const auto date = http::parse_http_date(value);
    all_dates = all_dates && date.has_value();
    if (all_dates && (!earliest || *date < *http::parse_http_date(*earliest))) earliest = value;
  });
  return all_dates ? earliest : std::nullopt;
}

// Those by which the values become one and the same, as the configuration's own reader would make
// them; none if they stay different. Of an authority with a default port, origins write none.
std::set<std::string> settling_authorities(const SurveyDifference& difference,
                                           const std::vector<std::string>& authorities) {
  std::vector<sketch::OriginAuthority> parsed;
  std::set<std::string> named;
  for (const std::string& text : authorities) {
    const auto authority = sketch::parse_origin_authority(text);
    if (!authority) continue;
    parsed.push_back(*authority);
    for_each_value(difference, [&](std::string value) {
      const std::string before = value;
      sketch::strip_origin(value, {*authority});
      if (value != before) named.insert(text);
    });
  }
  std::set<std::optional<std::string>> left;
  for (const auto& [replica, values] : difference.values) {
    for (std::optional<std::string> value : values) {
      if (value) sketch::strip_origin(*value, parsed);
      left.insert(std::move(value));
    }
  }
  return left.size() == 1 ? named : std::set<std::string>{};
}

std::string list_line(std::string_view key, const std::set<std::string>& values) {
  return fmt::format("{} = [\"{}\"]", key, fmt::join(values, "\", \""));
}

}  // namespace

AnswerSurvey::AnswerSurvey(const sketch::Profile& profile) : canonicalizer_(profile) {}

void AnswerSurvey::add(NodeId replica, const http::Response& response) {
  sketch::AnswerForm form;
  if (canonicalizer_.canonicalize(response, false, form) != sketch::AnswerFault::none) {
    return add_failure(replica, "no-canonical-form");
  }
  Answer answer{.replica = replica, .parts = {}};
  answer.parts[{"status", "", false}] = std::to_string(form.status);
  sketch::AnswerFields fields(form);
  std::string_view name;
  std::string_view value;
  std::set<std::string, std::less<>> covered;
  while (fields.next(name, value)) {
    covered.emplace(name);
    add_value(answer.parts[{std::string(kHeader), std::string(name), false}], value);
  }
  for (std::size_t i = 0; i < response.fields.size(); ++i) {
    const std::string_view removed = response.fields.name(i);
    if (covered.contains(removed)) continue;
    add_value(answer.parts[{std::string(kHeader), std::string(removed), true}],
              response.fields.value(i));
  }
  answer.parts[{std::string(kBody), "", false}] =
      fmt::format("{} bytes, SHA-256 {}", form.body.size(), to_hex(sha256(as_bytes(form.body))));
  if (answers_.empty()) {
    first_body_ = form.body;
  } else if (form.body != first_body_) {
    const auto ends =
        std::mismatch(form.body.begin(), form.body.end(), first_body_.begin(), first_body_.end());
    const auto offset = static_cast<std::uint64_t>(ends.first - form.body.begin());
    body_offset_ = std::min(offset, body_offset_.value_or(offset));
  }
  answers_.push_back(std::move(answer));
}

void AnswerSurvey::add_failure(NodeId replica, std::string_view reason) {
  ++failures_[{replica, reason}];
}

std::vector<SurveyDifference> AnswerSurvey::differences() const {
  std::set<Part> parts;
  for (const Answer& answer : answers_) {
    for (const auto& [part, value] : answer.parts)
      parts.insert(part);
  }
  std::vector<SurveyDifference> differences;
  for (const Part& part : parts) {
    SurveyDifference difference = look_at(part);
    if (difference.over_time || difference.among_origins) {
      differences.push_back(std::move(difference));
    }
  }
  return differences;
}

SurveyDifference AnswerSurvey::look_at(const Part& part) const {
  SurveyDifference difference{
      .part = part.kind, .name = part.name, .removed = part.removed, .values = {}, .offset = {}};
  for (const Answer& answer : answers_) {
    const auto found = answer.parts.find(part);
    auto& values = difference.values[answer.replica];
    std::optional<std::string> value;
    if (found != answer.parts.end()) value = found->second;
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  for (const auto& [replica, values] : difference.values) {
    difference.over_time |= values.size() > 1;
    difference.among_origins |= values != difference.values.begin()->second;
  }
  if (part.kind == kBody) difference.offset = body_offset_;
  return difference;
}

Proposals propose(const std::vector<SurveyDifference>& differences,
                  const std::vector<std::string>& authorities) {
  Proposals proposals;
  std::set<std::string> dropped;
  std::set<std::string> own;
  std::set<std::string> unsettled;
  std::optional<std::string> clamp;
  for (const SurveyDifference& difference : differences) {
    if (difference.removed) continue;
    const std::string& name = difference.name;
    if (difference.part != kHeader) {
      unsettled.insert(difference.part +
                       ": no rule leaves it out; the origins have to agree on it");
      continue;
    }
    if (name == "location" || name == "content-location") {
      const std::set<std::string> named = settling_authorities(difference, authorities);
      own.insert(named.begin(), named.end());
      if (!named.empty()) continue;
    }
    const auto earliest = earliest_date(difference);
    if (name == "last-modified" && earliest) {
      const bool earlier =
          !clamp || *http::parse_http_date(*earliest) < *http::parse_http_date(*clamp);
      if (earlier) clamp = earliest;
    }
    if (may_be_dropped(name)) {
      dropped.insert(name);
    } else {
      unsettled.insert(name + ": may not be dropped; the origins have to agree on it");
    }
  }
  if (!dropped.empty()) {
    proposals.lines.push_back({list_line("dropped_answer_headers", dropped),
                               "clients do without these; add the names that are there already"});
  }
  if (clamp) {
    proposals.lines.push_back({"last_modified_max = \"" + *clamp + '"',
                               "in place of dropping last-modified: no later date is shown"});
  }
  if (!own.empty()) {
    proposals.lines.push_back({list_line("origin_authorities", own),
                               "references to these are made relative to the client's own"});
  }
  proposals.unsettled.assign(unsettled.begin(), unsettled.end());
  return proposals;
}

}  // namespace prophecy::tools
