#include "measurement/json_report.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "measurement/totals.hpp"

namespace prophecy::measurement {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kSharedExamples = 3;

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

Json json_of_cost(const CostModel& cost, double ratio) {
  return {{"replicas", cost.replicas},
          {"fast_read", cost.fast_read},
          {"replicated_read", cost.replicated_read},
          {"history", cost.history},
          {"ratio", ratio},
          {"prophecy", cost.prophecy(ratio)},
          {"read_optimised", cost.read_optimised()},
          {"replicated", cost.replicated()}};
}

Json json_of_sites(const Figures& figures) {
  Json list = Json::array();
  for (const SiteFigures& site : figures.sites) {
    list.push_back({{"site", site.site},
                    {"urls", site.urls},
                    {"answers", site.answers},
                    {"body_bytes", site.body_bytes},
                    {"pairs", site.pairs.pairs},
                    {"transitions", site.pairs.transitions},
                    {"ratio", site.pairs.ratio()},
                    {"static_share", site.static_share},
                    {"cost", figures.cost.prophecy(site.pairs.ratio())}});
  }
  return list;
}

Json json_of_figure_16(const Figures& figures) {
  Json curves = Json::array();
  for (const SiteCurve& site : figures.figure_16) {
    curves.push_back(
        {{"site", site.site}, {"urls", site.curve.urls}, {"shares", site.curve.shares}});
  }
  return {{"by", figures.by_prefix ? "prefix" : "registrable domain"},
          {"minimum", figures.minimum},
          {"urls_without_site", figures.urls_without_site},
          {"curves", std::move(curves)}};
}

Json json_of(const ChangeCauses& causes) {
  Json classes = Json::array();
  for (std::size_t i = 0; i < kTokenClasses; ++i) {
    classes.push_back({{"class", kTokenClassNames[i]},
                       {"words", causes.words()[i]},
                       {"transitions", causes.transitions()[i]}});
  }
  Json fields = Json::array();
  for (const auto& [names, transitions] : causes.by_fields())
    fields.push_back({{"fields", names}, {"transitions", transitions}});
  return {{"bodies_differ", causes.bodies()},
          {"followed", causes.followed()},
          {"avoidable", causes.avoidable()},
          {"classes", std::move(classes)},
          {"fields_alone", std::move(fields)}};
}

Json json_of_rules(const MeasurementResult& result, const Pairs& all) {
  Json rules = Json::array();
  for (const auto& [names, transitions] : result.rules.transitions()) {
    const Pairs then{all.pairs, all.transitions - std::min(transitions, all.transitions)};
    rules.push_back({{"rules", names}, {"transitions", transitions}, {"ratio", then.ratio()}});
  }
  Json tried = Json::array();
  for (const RuleTrial& trial : result.trials) {
    tried.push_back({{"settings", trial.settings},
                     {"sketched", trial.sketched},
                     {"pairs", trial.pairs.pairs},
                     {"transitions", trial.pairs.transitions},
                     {"ratio", trial.pairs.ratio()},
                     {"static_urls", trial.static_urls}});
  }
  return {{"static_urls", totals_of(result).static_urls},
          {"rules", std::move(rules)},
          {"tried", std::move(tried)}};
}

Json json_of_costly_urls(const MeasurementResult& result, const Figures& figures) {
  Json list = Json::array();
  for (const CostlyUrl& costly : figures.costly_urls) {
    Json url = {{"url", result.urls.text_of(costly.url)},
                {"pairs", costly.pairs.pairs},
                {"transitions", costly.pairs.transitions},
                {"ratio", costly.pairs.ratio()},
                {"body_bytes", costly.body_bytes}};
    if (costly.example != nullptr) {
      url["fields"] = costly.example->fields;
      url["before"] = costly.example->before;
      url["after"] = costly.example->after;
    }
    list.push_back(std::move(url));
  }
  return list;
}

Json json_of_declared(const MeasurementResult& result) {
  Json list = Json::array();
  for (std::size_t i = 0; i < result.declared.size(); ++i) {
    const DeclaredFigures& figures = result.declared[i];
    list.push_back({{"declared", kDeclaredNames[i]},
                    {"answers", figures.answers},
                    {"urls", figures.urls},
                    {"static_urls", figures.static_urls},
                    {"pairs", json_of(figures.pairs)},
                    {"within_lifetime", json_of(figures.within_lifetime)}});
  }
  return list;
}

Json json_of_shared(const MeasurementResult& result) {
  Json list = Json::array();
  for (const SharedAnswer& shared : result.shared) {
    Json examples = Json::array();
    for (std::size_t i = 0; i < std::min(shared.urls.size(), kSharedExamples); ++i)
      examples.push_back(result.urls.text_of(shared.urls[i]));
    list.push_back({{"urls", shared.urls.size()}, {"examples", std::move(examples)}});
  }
  return list;
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
        {"for_one_client", totals.by_kind[static_cast<std::size_t>(AnswerKind::for_one_client)]},
        {"if_they_were", json_of(totals.strong)}}},
      {"weak",
       {{"answers", totals.by_kind[static_cast<std::size_t>(AnswerKind::weak)]},
        {"transient_status", totals.by_kind[static_cast<std::size_t>(AnswerKind::weak_transient)]},
        {"if_believed", json_of(totals.weak)}}},
      {"damage_count", totals.damage},
      {"beside_the_paper",
       {{"minimum", figures.minimum},
        {"urls", figures.urls_at_minimum},
        {"numbers", list_of(figures.beside_the_paper)}}},
      {"figure_14", list_of(figures.figure_14)},
      {"figure_15", list_of(figures.figure_15)},
      {"figure_16", json_of_figure_16(figures)},
      {"dynamic_data", json_of(result.dynamic_data)},
      {"causes", json_of(result.causes)},
      {"canonical_rules", json_of_rules(result, totals.sketched)},
      {"costly_urls", json_of_costly_urls(result, figures)},
      {"cost", json_of_cost(figures.cost, totals.sketched.ratio())},
      {"declared_caching", json_of_declared(result)},
      {"one_answer_under_many_urls", json_of_shared(result)},
      {"sites", json_of_sites(figures)},
      {"inputs", list_of(result.inputs)},
      {"choices", json_of_choices()},
  };
  // A file's name and a message may hold bytes that are no UTF-8.
  out << report.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace prophecy::measurement
