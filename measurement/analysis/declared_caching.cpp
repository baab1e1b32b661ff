#include "measurement/analysis/declared_caching.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "http/http_date.hpp"
#include "http/text.hpp"

namespace prophecy::measurement {
namespace {

constexpr Microseconds kSecond = 1'000'000;
constexpr std::uint64_t kSecondsMax = std::uint64_t{1} << 31;  // RFC 9111, section 1.2.2

struct Directives {
  bool forbids = false;
  bool revalidates = false;
  std::optional<std::uint64_t> max_age;
  std::optional<std::uint64_t> shared_max_age;
};

std::optional<std::uint64_t> seconds_in(std::string_view value) {
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    value = value.substr(1, value.size() - 2);
  }
  std::uint64_t number = 0;
  // Not a number: stale (section 4.2.1).
  if (!http::parse_decimal(value, number)) return 0;
  return std::min(number, kSecondsMax);
}

void take_directive(std::string_view element, Directives& directives) {
  const std::size_t equals = std::min(element.find('='), element.size());
  const std::string_view name = http::trim(element.substr(0, equals));
  const std::string_view value = http::trim(element.substr(std::min(equals + 1, element.size())));
  if (http::equal_ignoring_case(name, "no-store") || http::equal_ignoring_case(name, "private")) {
    directives.forbids = true;
  } else if (http::equal_ignoring_case(name, "no-cache")) {
    directives.revalidates = true;
  } else if (http::equal_ignoring_case(name, "max-age")) {
    directives.max_age = seconds_in(value);
  } else if (http::equal_ignoring_case(name, "s-maxage")) {
    directives.shared_max_age = seconds_in(value);
  }
}

std::uint64_t first_bytes(const sketch::Sketch& sketch) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, sketch.data(), sizeof bytes);
  return bytes;
}

}  // namespace

Declaration declaration_of(std::string_view fields, Microseconds time) {
  Directives directives;
  std::optional<std::string_view> expires;
  while (!fields.empty()) {
    const std::size_t end = fields.find('\n');
    const std::string_view line = fields.substr(0, end);
    fields = end == std::string_view::npos ? std::string_view() : fields.substr(end + 1);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, colon);
    std::string_view value = http::trim(line.substr(colon + 1));
    if (name == "expires") expires = value;
    if (name != "cache-control") continue;
    std::string_view element;
    while (http::next_list_element(value, element))
      take_directive(element, directives);
  }
  if (directives.forbids) return {Declared::forbidden, 0};
  if (directives.revalidates) return {Declared::revalidate, 0};
  auto seconds = directives.shared_max_age ? directives.shared_max_age : directives.max_age;
  Microseconds lifetime = seconds ? static_cast<Microseconds>(*seconds) * kSecond : 0;
  if (!seconds && expires) {
    // An Expires that is no date is in the past. The answer's time stands for Date, which the
    // canonical form is without.
    const auto date = http::parse_http_date(*expires);
    const Microseconds end =
        date ? static_cast<Microseconds>(date->time_since_epoch().count()) * kSecond : 0;
    lifetime = std::max<Microseconds>(0, end - time);
    seconds = 0;
  }
  if (!seconds) return {Declared::heuristic, 0};
  return {lifetime > 0 ? Declared::fresh : Declared::revalidate, lifetime};
}

void DeclaredCaching::add(UrlNumber url, const Answer& answer) {
  if (answer.fields.empty()) return;
  if (url >= last_.size()) last_.resize(std::max<std::size_t>(url + 1, 2 * last_.size()));
  Last& last = last_[url];
  if (last.is_known && answer.time < last.time) return;  // out of order: in no pair
  const Declaration declared = declaration_of(answer.fields, answer.time);
  ++figures_[static_cast<std::size_t>(declared.kind)].answers;
  const std::uint64_t sketch = first_bytes(answer.sketch);
  if (last.is_known) {
    DeclaredFigures& figures = figures_[static_cast<std::size_t>(last.kind)];
    const bool differs = last.sketch != sketch;
    const bool is_within = answer.time - last.time < last.lifetime;
    ++figures.pairs.pairs;
    if (differs) ++figures.pairs.transitions;
    if (is_within) ++figures.within_lifetime.pairs;
    if (is_within && differs) ++figures.within_lifetime.transitions;
    last.has_pair = true;
    last.has_changed = last.has_changed || differs;
  }
  last.is_known = true;
  last.time = answer.time;
  last.lifetime = declared.lifetime;
  last.kind = declared.kind;
  last.sketch = sketch;
}

std::array<DeclaredFigures, kDeclaredNames.size()> DeclaredCaching::figures() const {
  auto figures = figures_;
  for (const Last& last : last_) {
    if (!last.is_known) continue;
    DeclaredFigures& of_kind = figures[static_cast<std::size_t>(last.kind)];
    ++of_kind.urls;
    if (last.has_pair && !last.has_changed) ++of_kind.static_urls;
  }
  return figures;
}

}  // namespace prophecy::measurement
