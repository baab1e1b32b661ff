#include "measurement/program/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace prophecy::measurement {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Pairs& pairs) {
  return {{"pairs", pairs.pairs}, {"transitions", pairs.transitions}, {"ratio", pairs.ratio()}};
}

}  // namespace

Comparison compare(const MeasurementResult& first, const MeasurementResult& second) {
  Comparison comparison;
  std::unordered_map<std::string_view, const UrlFigures*> of_first;
  for (const UrlFigures& figures : first.figures) {
    comparison.first += figures.sketched;
    if (figures.sketched.pairs > 0) of_first.emplace(first.urls.text_of(figures.url), &figures);
  }
  for (const UrlFigures& figures : second.figures) {
    comparison.second += figures.sketched;
    if (figures.sketched.pairs == 0) continue;
    const std::string_view url = second.urls.text_of(figures.url);
    const auto found = of_first.find(url);
    if (found == of_first.end()) {
      ++comparison.urls_only_second;
      continue;
    }
    ++comparison.urls_common;
    ComparedUrl compared{std::string(url), found->second->sketched, figures.sketched};
    comparison.first_common += compared.first;
    comparison.second_common += compared.second;
    if (compared.difference() < 0) ++comparison.more_static;
    if (compared.difference() > 0) ++comparison.less_static;
    if (compared.difference() != 0) comparison.urls.push_back(std::move(compared));
  }
  comparison.urls_only_first = of_first.size() - comparison.urls_common;
  std::stable_sort(comparison.urls.begin(), comparison.urls.end(),
                   [](const ComparedUrl& one, const ComparedUrl& other) {
                     return std::abs(one.difference()) > std::abs(other.difference());
                   });
  if (comparison.urls.size() > Comparison::kListedMax) {
    comparison.urls.erase(comparison.urls.begin() + Comparison::kListedMax, comparison.urls.end());
  }
  return comparison;
}

void write_text(const Comparison& comparison, std::ostream& out) {
  const auto line = [&](std::string_view what, const Pairs& first, const Pairs& second) {
    out << fmt::format("{:<24} {:5.1f} % of {} pairs, then {:5.1f} % of {} pairs\n", what,
                       100 * first.ratio(), first.pairs, 100 * second.ratio(), second.pairs);
  };
  line("all URLs:", comparison.first, comparison.second);
  line(fmt::format("{} URLs in both:", comparison.urls_common), comparison.first_common,
       comparison.second_common);
  out << fmt::format("only in the first: {} URLs; only in the second: {}\n",
                     comparison.urls_only_first, comparison.urls_only_second);
  out << fmt::format("of those in both {} change more rarely, {} more often\n",
                     comparison.more_static, comparison.less_static);
  for (const ComparedUrl& url : comparison.urls) {
    out << fmt::format("  {:5.1f} % -> {:5.1f} %  {}\n", 100 * url.first.ratio(),
                       100 * url.second.ratio(), url.url);
  }
}

void write_json(const Comparison& comparison, std::ostream& out) {
  Json urls = Json::array();
  for (const ComparedUrl& url : comparison.urls) {
    urls.push_back(
        {{"url", url.url}, {"first", json_of(url.first)}, {"second", json_of(url.second)}});
  }
  const Json report = {{"program", "prophecy-measure " PROPHECY_VERSION},
                       {"first", json_of(comparison.first)},
                       {"second", json_of(comparison.second)},
                       {"urls_in_both", comparison.urls_common},
                       {"first_of_both", json_of(comparison.first_common)},
                       {"second_of_both", json_of(comparison.second_common)},
                       {"urls_only_in_first", comparison.urls_only_first},
                       {"urls_only_in_second", comparison.urls_only_second},
                       {"change_more_rarely", comparison.more_static},
                       {"change_more_often", comparison.less_static},
                       {"urls", std::move(urls)}};
  out << report.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace prophecy::measurement
