#include "measurement/json_report.hpp"

#include <nlohmann/json.hpp>

#include "measurement/totals.hpp"

namespace prophecy::measurement {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Pairs& pairs) {
  return {{"pairs", pairs.pairs}, {"transitions", pairs.transitions}, {"ratio", pairs.ratio()}};
}

Json json_of(const InputFigures& input) {
  Json damage = Json::array();
  for (const Damage& each : input.damage) {
    damage.push_back({{"file", input.file}, {"offset", each.offset}, {"problem", each.problem}});
  }
  return {{"file", input.file},
          {"format", input.format},
          {"usable", input.usable},
          {"bytes", input.bytes},
          {"records", input.records},
          {"answers", input.answers},
          {"other_methods", input.other_methods},
          {"damage_count", input.damage_count},
          {"damage", std::move(damage)}};
}

Json json_of(const Curve& curve) {
  return {{"minimum", curve.minimum},
          {"weight", name_of(curve.weight)},
          {"urls", curve.urls},
          {"shares", curve.shares}};
}

Json json_of(const PartyFigures& party);
Json json_of(const SiteFigures& site);
Json json_of(const PaperNumber& number);

template <class Each>
Json list_of(const std::vector<Each>& values) {
  Json list = Json::array();
  for (const Each& value : values)
    list.push_back(json_of(value));
  return list;
}

Json json_of(const PartyFigures& party) {
  return {{"party", party.party},
          {"urls", party.urls},
          {"pairs", json_of(party.pairs)},
          {"curves", list_of(party.curves)}};
}

Json json_of(const SiteFigures& site) {
  return {{"site", site.site},           {"urls", site.urls},
          {"answers", site.answers},     {"body_bytes", site.body_bytes},
          {"pairs", site.pairs.pairs},   {"transitions", site.pairs.transitions},
          {"ratio", site.pairs.ratio()}, {"static_share", site.static_share}};
}

Json json_of(const PaperNumber& number) {
  return {{"claim", number.claim}, {"paper", number.paper}, {"here", number.here}};
}

Json json_of(const DynamicData& data) {
  Json not_compared = Json::object();
  for (std::size_t i = 0; i < kNotComparedNames.size(); ++i)
    not_compared[kNotComparedNames[i]] = data.not_compared[i];
  return {{"compared", data.compared},
          {"equal_bodies", data.equal_bodies},
          {"at_least_30_percent", data.differs_in_30_percent},
          {"all_chunks", data.all_differs},
          {"one_edit", data.one_edit},
          {"one_strict_edit", data.one_strict_edit},
          {"by_percent_of_chunks", data.by_share},
          {"not_compared", std::move(not_compared)}};
}

Json json_of_choices() {
  Json choices = Json::object();
  for (const Choice& choice : kChoices)
    choices[std::string(choice.name)] = choice.text;
  return choices;
}

}  // namespace

void write_json(const MeasurementResult& result, const Figures& figures, std::ostream& out) {
  const Totals totals = totals_of(result);
  const Json report = {
      {"program", "prophecy-measure " PROPHECY_VERSION},
      {"urls", totals.urls},
      {"answers", totals.answers},
      {"transitions", totals.sketched.transitions},
      {"pairs", totals.sketched.pairs},
      {"ratio", totals.sketched.ratio()},
      {"body_bytes", totals.body_bytes},
      {"sketched", totals.by_kind[static_cast<std::size_t>(AnswerKind::sketched)]},
      {"never_sketched",
       {{"transient_status", totals.by_kind[static_cast<std::size_t>(AnswerKind::transient)]},
        {"sets_cookie", totals.by_kind[static_cast<std::size_t>(AnswerKind::sets_cookie)]},
        {"varies", totals.by_kind[static_cast<std::size_t>(AnswerKind::varies)]},
        {"if_they_were", json_of(totals.strong)}}},
      {"weak",
       {{"answers", totals.by_kind[static_cast<std::size_t>(AnswerKind::weak)]},
        {"transient_status", totals.by_kind[static_cast<std::size_t>(AnswerKind::weak_transient)]},
        {"if_believed", json_of(totals.weak)}}},
      {"damage_count", totals.damage},
      {"beside_the_paper",
       {{"minimum", kPaperMinimum},
        {"urls", figures.urls_at_paper_minimum},
        {"numbers", list_of(figures.beside_the_paper)}}},
      {"figure_14", list_of(figures.figure_14)},
      {"figure_15", list_of(figures.figure_15)},
      {"dynamic_data", json_of(result.dynamic_data)},
      {"sites", list_of(figures.sites)},
      {"inputs", list_of(result.inputs)},
      {"choices", json_of_choices()},
  };
  // A file's name and a message may hold bytes that are no UTF-8.
  out << report.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace prophecy::measurement
