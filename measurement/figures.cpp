#include "measurement/figures.hpp"

#include <algorithm>
#include <map>

namespace prophecy::measurement {
namespace {

using Group = std::vector<const UrlFigures*>;

PartyFigures party_of(std::string_view name, const Group& group, std::uint64_t minimum) {
  PartyFigures party;
  party.party = name;
  party.urls = group.size();
  for (const UrlFigures* figures : group)
    party.pairs += figures->sketched;
  const auto points = points_of(group);
  for (const Weight weight : kWeights)
    party.curves.push_back(curve_of(points, minimum, weight));
  return party;
}

SiteFigures site_of_group(const std::string& name, const Group& group) {
  SiteFigures site;
  site.site = name;
  site.urls = group.size();
  for (const UrlFigures* figures : group) {
    site.answers += figures->all_answers();
    site.body_bytes += figures->body_bytes;
    site.pairs += figures->sketched;
  }
  site.static_share = share_static(points_of(group), 0, Weight::url);
  return site;
}

std::vector<SiteFigures> sites_of(const MeasurementResult& result) {
  std::map<std::string, Group> groups;
  for (const UrlFigures& figures : result.figures)
    groups[site_of(host_of(result.urls.text_of(figures.url)))].push_back(&figures);
  std::vector<SiteFigures> sites;
  sites.reserve(groups.size());
  for (const auto& [name, group] : groups)
    sites.push_back(site_of_group(name, group));
  std::stable_sort(
      sites.begin(), sites.end(),
      [](const SiteFigures& one, const SiteFigures& other) { return one.answers > other.answers; });
  return sites;
}

void add_figure_16(const MeasurementResult& result, Figures& figures) {
  figures.by_prefix = result.sites.has_prefixes();
  std::map<std::string, Group> groups;
  for (const UrlFigures& each : result.figures) {
    if (!figures.by_prefix) {
      groups[site_of(host_of(result.urls.text_of(each.url)))].push_back(&each);
    } else if (const auto site = result.sites.site_of(each.url)) {
      groups[*site].push_back(&each);
    } else {
      ++figures.urls_without_site;
    }
  }
  for (const auto& [name, group] : groups) {
    SiteCurve site{name, curve_of(points_of(group), figures.minimum, Weight::url)};
    if (site.curve.urls > 0) figures.figure_16.push_back(std::move(site));
  }
  std::stable_sort(figures.figure_16.begin(), figures.figure_16.end(),
                   [](const SiteCurve& one, const SiteCurve& other) {
                     return one.curve.urls > other.curve.urls;
                   });
  if (figures.figure_16.size() > kSiteCurvesMax) figures.figure_16.resize(kSiteCurvesMax);
}

void add_costly_urls(const MeasurementResult& result, Figures& figures) {
  std::vector<const UrlFigures*> urls;
  for (const UrlFigures& each : result.figures) {
    if (each.sketched.transitions > 0) urls.push_back(&each);
  }
  const std::size_t count = std::min(urls.size(), kCostlyUrlsMax);
  // Each transition costs a replicated read, whatever the URL.
  std::partial_sort(urls.begin(), urls.begin() + static_cast<std::ptrdiff_t>(count), urls.end(),
                    [](const UrlFigures* one, const UrlFigures* other) {
                      if (one->sketched.transitions != other->sketched.transitions)
                        return one->sketched.transitions > other->sketched.transitions;
                      return one->url < other->url;
                    });
  urls.resize(count);
  for (const UrlFigures* each : urls) {
    const auto found = result.causes.examples().find(each->url);
    figures.costly_urls.push_back(
        {each->url, each->sketched, each->body_bytes,
         found == result.causes.examples().end() ? nullptr : &found->second});
  }
}

void compare_with_paper(const MeasurementResult& result, const std::vector<RatioPoint>& points,
                        Figures& figures) {
  const DynamicData& dynamic = result.dynamic_data;
  figures.urls_at_minimum = curve_of(points, figures.minimum, Weight::url).urls;
  figures.beside_the_paper = {
      {"requests to URLs with less than 15 % transitions", 0.90,
       share_below(points, figures.minimum, Weight::request, 0.15)},
      {"URLs without a transition", 0.50, share_static(points, figures.minimum, Weight::url)},
      {"bytes of URLs without a transition", 0.50,
       share_static(points, figures.minimum, Weight::bytes)},
      {"transitions that differ in at least 30 % of chunks", 0.50,
       dynamic.share_of(dynamic.differs_in_30_percent)},
      {"transitions that differ in all chunks", 0.13, dynamic.share_of(dynamic.all_differs)},
      {"transitions by one contiguous edit", 0.43, dynamic.share_of(dynamic.one_edit)},
  };
}

}  // namespace

Figures figures_of(const MeasurementResult& result, const FigureOptions& options) {
  Figures figures;
  figures.minimum = options.minimum;
  figures.cost = options.cost;
  Group all;
  for (const UrlFigures& each : result.figures)
    all.push_back(&each);
  const auto points = points_of(all);
  for (const std::uint64_t minimum : kMinimums) {
    for (const Weight weight : kWeights)
      figures.figure_14.push_back(curve_of(points, minimum, weight));
  }
  if (options.parties) {
    Group first;
    Group third;
    for (const UrlFigures* each : all) {
      const bool is_first = options.parties->is_first(host_of(result.urls.text_of(each->url)));
      (is_first ? first : third).push_back(each);
    }
    figures.figure_15 = {party_of("first", first, figures.minimum),
                         party_of("third", third, figures.minimum)};
  }
  add_figure_16(result, figures);
  figures.sites = sites_of(result);
  add_costly_urls(result, figures);
  compare_with_paper(result, points, figures);
  return figures;
}

}  // namespace prophecy::measurement
