#include "measurement/figures.hpp"

#include <algorithm>
#include <map>

namespace prophecy::measurement {
namespace {

using Group = std::vector<const UrlFigures*>;

void add(Pairs& sum, const Pairs& pairs) {
  sum.pairs += pairs.pairs;
  sum.transitions += pairs.transitions;
}

PartyFigures party_of(std::string_view name, const Group& group) {
  PartyFigures party;
  party.party = name;
  party.urls = group.size();
  for (const UrlFigures* figures : group)
    add(party.pairs, figures->sketched);
  const auto points = points_of(group);
  for (const Weight weight : kWeights)
    party.curves.push_back(curve_of(points, kPaperMinimum, weight));
  return party;
}

SiteFigures site_of_group(const std::string& name, const Group& group) {
  SiteFigures site;
  site.site = name;
  site.urls = group.size();
  for (const UrlFigures* figures : group) {
    site.answers += figures->all_answers();
    site.body_bytes += figures->body_bytes;
    add(site.pairs, figures->sketched);
  }
  site.static_share = share_static(points_of(group), 0, Weight::url);
  return site;
}

std::vector<SiteFigures> sites_of(const MeasurementResult& result) {
  std::map<std::string, Group> groups;
  for (const UrlFigures& figures : result.figures)
    groups[site_of(host_of(result.urls.text_of(figures.url)))].push_back(&figures);
  std::vector<SiteFigures> sites;
  for (const auto& [name, group] : groups)
    sites.push_back(site_of_group(name, group));
  std::stable_sort(
      sites.begin(), sites.end(),
      [](const SiteFigures& one, const SiteFigures& other) { return one.answers > other.answers; });
  return sites;
}

}  // namespace

Figures figures_of(const MeasurementResult& result, const std::optional<Parties>& parties) {
  Figures figures;
  Group all;
  for (const UrlFigures& each : result.figures)
    all.push_back(&each);
  const auto points = points_of(all);
  for (const std::uint64_t minimum : kMinimums) {
    for (const Weight weight : kWeights)
      figures.figure_14.push_back(curve_of(points, minimum, weight));
  }
  figures.urls_at_paper_minimum = curve_of(points, kPaperMinimum, Weight::url).urls;
  if (parties) {
    Group first;
    Group third;
    for (const UrlFigures* each : all) {
      const bool is_first = parties->is_first(host_of(result.urls.text_of(each->url)));
      (is_first ? first : third).push_back(each);
    }
    figures.figure_15 = {party_of("first", first), party_of("third", third)};
  }
  figures.sites = sites_of(result);
  figures.beside_the_paper = {
      {"requests to URLs with less than 15 % transitions", 0.90,
       share_below(points, kPaperMinimum, Weight::request, 0.15)},
      {"URLs without a transition", 0.50, share_static(points, kPaperMinimum, Weight::url)},
      {"bytes of URLs without a transition", 0.50,
       share_static(points, kPaperMinimum, Weight::bytes)},
      {"transitions that differ in at least 30 % of chunks", 0.50,
       result.dynamic_data.share_of(result.dynamic_data.differs_in_30_percent)},
      {"transitions that differ in all chunks", 0.13,
       result.dynamic_data.share_of(result.dynamic_data.all_differs)},
      {"transitions by one contiguous edit", 0.43,
       result.dynamic_data.share_of(result.dynamic_data.one_edit)},
  };
  return figures;
}

}  // namespace prophecy::measurement
