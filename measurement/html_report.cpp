#include "measurement/html_report.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "measurement/json_report.hpp"
#include "measurement/svg_report.hpp"
#include "measurement/totals.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::size_t kSitesShown = 25;
constexpr std::size_t kDamageShown = 20;

constexpr std::string_view kStyle = R"(
:root{--text:#1b2430;--soft:#5c6773;--grid:#d8dde3;--card:#f5f7f9;--page:#fff;--accent:#1f6feb;
--c0:#1f6feb;--c1:#d9730d;--c2:#2da44e;--c3:#8250df;--c4:#cf222e;--c5:#57606a}
@media (prefers-color-scheme:dark){:root{--text:#e6edf3;--soft:#9aa5b1;--grid:#30363d;--card:#161b22;
--page:#0d1117;--accent:#58a6ff;--c0:#58a6ff;--c1:#f0883e;--c2:#56d364;--c3:#bc8cff;--c4:#ff7b72;--c5:#9aa5b1}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:70rem;padding:1.25rem;background:var(--page);color:var(--text);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0}h2{font-size:1.2rem;margin:2.2rem 0 .6rem}
p{margin:.5rem 0;max-width:46rem}.soft{color:var(--soft)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.75rem;margin:1rem 0}
.card{background:var(--card);border-radius:.6rem;padding:.7rem .9rem}
.card b{display:block;font-size:1.5rem;line-height:1.3}.card>span{color:var(--soft);font-size:.9rem}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr));gap:1.25rem}
.table{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.95rem}
th,td{text-align:left;padding:.35rem .6rem .35rem 0;border-bottom:1px solid var(--grid);vertical-align:top}
th{color:var(--soft);font-weight:500}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.url{overflow-wrap:anywhere}
.bar{background:var(--grid);height:.5rem;border-radius:.25rem;min-width:6rem;position:relative;margin-top:.5rem}
.bar i{display:block;height:100%;border-radius:.25rem;background:var(--accent)}
.bar s{position:absolute;top:-.2rem;width:2px;height:.9rem;background:var(--text)}
.histogram{display:flex;align-items:flex-end;height:8rem;gap:1px;border-bottom:1px solid var(--grid)}
.histogram i{flex:1;background:var(--accent);min-height:0}
.ends{display:flex;justify-content:space-between;color:var(--soft);font-size:.85rem}
pre{background:var(--card);padding:.5rem .7rem;border-radius:.4rem;white-space:pre-wrap;
overflow-wrap:anywhere;font-size:.8rem;margin:.3rem 0}
details{margin:.3rem 0}summary{cursor:pointer}dt{font-weight:600}dd{margin:0 0 .5rem}
)";

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t place = digits.size(); place > 3; place -= 3)
    digits.insert(place - 3, 1, ',');
  return digits;
}

// Numbers, with their places in the JSON.
std::string count(std::string_view path, std::uint64_t number) {
  return fmt::format("<span data-path=\"{}\" data-as=\"count\">{}</span>", path, grouped(number));
}
std::string percent(std::string_view path, double share) {
  return fmt::format("<span data-path=\"{}\" data-as=\"percent\">{:.1f} %</span>", path,
                     100 * share);
}
std::string amount(std::string_view path, double number) {
  return fmt::format("<span data-path=\"{}\" data-as=\"amount\">{:.1f}</span>", path, number);
}

class Page {
 public:
  Page(const MeasurementResult& result, const Figures& figures, std::ostream& out)
      : result_(result), figures_(figures), totals_(totals_of(result)), out_(out) {}

  void write() {
    out_ << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
            "<meta name=\"generator\" content=\"prophecy-measure " PROPHECY_VERSION
            "\">"
            "<link rel=\"icon\" href=\"data:,\">"
            "<title>How often answers change</title><style>"
         << kStyle << plot_style() << "</style></head><body>\n";
    summary();
    paper();
    plots();
    dynamic_data();
    rules();
    costly_urls();
    declared();
    shared();
    cost();
    sites();
    inputs();
    choices();
    data();
    out_ << "</body></html>\n";
  }

 private:
  void card(const std::string& number, std::string_view name) {
    out_ << "<div class=\"card\"><b>" << number << "</b><span>" << name << "</span></div>";
  }

  void summary() {
    const auto sketched = totals_.by_kind[static_cast<std::size_t>(AnswerKind::sketched)];
    const auto weak = totals_.by_kind[static_cast<std::size_t>(AnswerKind::weak)];
    out_ << "<h1>How often answers change</h1><p>A fast read of Prophecy succeeds while an answer "
            "stays the same. A <em>transition</em> is an answer whose sketch differs from that of "
            "the answer before it, of the same URL.</p><div class=\"cards\">";
    card(count("urls", totals_.urls), "URLs");
    card(count("answers", totals_.answers), "answers");
    card(count("sketched", sketched), "that a history could hold");
    card(count("transitions", totals_.sketched.transitions), "transitions");
    card(percent("ratio", totals_.sketched.ratio()), "of repeated requests");
    out_ << "</div>";
    if (weak > 0) {
      out_ << "<p>" << count("weak.answers", weak)
           << " answers have no body in the inputs. They are compared by what is known of them, "
              "with "
              "each other alone: "
           << percent("weak.if_believed.ratio", totals_.weak.ratio())
           << " would be transitions. Nothing else on this page counts them.</p>";
    }
    if (totals_.damage > 0) {
      out_ << "<p>" << count("damage_count", totals_.damage)
           << " records are damaged, and left out (see below).</p>";
    }
  }

  void paper() {
    out_ << "<h2>Beside the paper</h2><p class=\"soft\">Of URLs with at least "
         << count("beside_the_paper.minimum", figures_.minimum)
         << " requests: " << count("beside_the_paper.urls", figures_.urls_at_minimum)
         << ". The mark on each bar is the paper's number.</p><div class=\"table\"><table>"
            "<tr><th></th><th class=\"n\">here</th><th class=\"n\">paper</th><th></th></tr>";
    for (std::size_t i = 0; i < figures_.beside_the_paper.size(); ++i) {
      const PaperNumber& number = figures_.beside_the_paper[i];
      const std::string path = fmt::format("beside_the_paper.numbers.{}.", i);
      out_ << "<tr><td>" << escaped(number.claim) << "</td><td class=\"n\">"
           << percent(path + "here", number.here) << "</td><td class=\"n\">"
           << percent(path + "paper", number.paper)
           << fmt::format(
                  "</td><td><div class=\"bar\"><i style=\"width:{:.1f}%\"></i><s "
                  "style=\"left:{:.1f}%\"></s></div></td></tr>",
                  100 * number.here, 100 * number.paper);
    }
    out_ << "</table></div>";
  }

  void plots() {
    out_ << "<h2>How URLs are distributed over their ratios</h2><p class=\"soft\">A curve that is "
            "high at the left means static content: at 0 % lies the share that never changed. "
            "Figure 14 has a curve for each minimum number of requests.</p><div class=\"plots\">";
    for (const NamedPlot& named : plots_of(figures_))
      out_ << "<div>" << svg_of(named.plot, false) << "</div>\n";
    out_ << "</div><p class=\"soft\">A site of figure 16 is "
         << (figures_.by_prefix ? "an address prefix" : "a registrable domain") << ".";
    if (figures_.urls_without_site > 0) {
      out_ << " " << count("figure_16.urls_without_site", figures_.urls_without_site)
           << " URLs are in no prefix, or without an address.";
    }
    out_ << "</p>";
  }

  void dynamic_data() {
    const DynamicData& data = result_.dynamic_data;
    out_ << "<h2>What differs at transitions</h2>";
    if (data.compared == 0) {
      out_ << "<p class=\"soft\">No two bodies were compared.</p>";
      return;
    }
    out_ << "<p>Bodies of " << count("dynamic_data.compared", data.compared)
         << " transitions were compared; of these "
         << count("dynamic_data.equal_bodies", data.equal_bodies)
         << " have equal bodies, and differ in fields of the head.</p><div class=\"histogram\" "
            "title=\"transitions by the share of their chunks that differ\">";
    std::uint64_t most = 1;
    for (const std::uint64_t number : data.by_share)
      most = std::max(most, number);
    for (std::size_t i = 0; i < data.by_share.size(); ++i) {
      out_ << fmt::format("<i style=\"height:{:.1f}%\" title=\"{} %: {}\"></i>",
                          100.0 * static_cast<double>(data.by_share[i]) / static_cast<double>(most),
                          i, data.by_share[i]);
    }
    out_ << "</div><div class=\"ends\"><span>0 % of chunks differ</span><span>100 %</span></div>";
    causes();
  }

  void causes() {
    const ChangeCauses& causes = result_.causes;
    out_ << "<p>" << count("causes.followed", causes.followed())
         << " of the differing bodies could be followed word by word. In "
         << count("causes.avoidable", causes.avoidable())
         << " all differing words look like identifiers, times, counters or host numbers, which a "
            "page can often do without.</p><div class=\"table\"><table><tr><th>words that "
            "differ</th><th class=\"n\">words</th><th class=\"n\">transitions</th></tr>";
    for (std::size_t i = 0; i < kTokenClasses; ++i) {
      std::string name = kTokenClassNames[i];
      std::replace(name.begin(), name.end(), '_', ' ');
      const std::string path = fmt::format("causes.classes.{}.", i);
      out_ << "<tr><td>" << name << "</td><td class=\"n\">"
           << count(path + "words", causes.words()[i]) << "</td><td class=\"n\">"
           << count(path + "transitions", causes.transitions()[i]) << "</td></tr>";
    }
    out_ << "</table></div>";
    if (causes.by_fields().empty()) return;
    out_ << "<p>Fields of the head that alone made transitions:</p><div "
            "class=\"table\"><table><tr><th>fields</th><th class=\"n\">transitions</th></tr>";
    std::size_t i = 0;
    for (const auto& [names, transitions] : causes.by_fields()) {
      out_ << "<tr><td class=\"url\">" << escaped(names) << "</td><td class=\"n\">"
           << count(fmt::format("causes.fields_alone.{}.transitions", i++), transitions)
           << "</td></tr>";
    }
    out_ << "</table></div>";
  }

  void rules() {
    const auto& candidates = result_.rules.transitions();
    if (candidates.empty() && result_.trials.empty()) return;
    const Pairs& all = totals_.sketched;
    out_ << "<h2>Rules that would make answers equal</h2><p>Settings of "
            "<code>[canonical]</code>: a field's name stands for "
            "<code>dropped_answer_headers</code>, which leaves it out of answers. Is there a "
            "client that needs it?</p><div class=\"table\"><table><tr><th>rules</th><th "
            "class=\"n\">transitions gone</th><th class=\"n\">ratio that is left</th></tr>";
    std::size_t i = 0;
    for (const auto& [names, transitions] : candidates) {
      const Pairs then{all.pairs, all.transitions - std::min(transitions, all.transitions)};
      const std::string path = fmt::format("canonical_rules.rules.{}.", i++);
      out_ << "<tr><td class=\"url\">" << escaped(names) << "</td><td class=\"n\">"
           << count(path + "transitions", transitions) << "</td><td class=\"n\">"
           << percent(path + "ratio", then.ratio()) << "</td></tr>";
    }
    out_ << "</table></div>";
    if (!result_.trials.empty()) trials();
  }

  void trials() {
    out_ << "<p>Tried on the inputs: the rules together, then each further setting beside "
            "them.</p><div class=\"table\"><table><tr><th>settings</th><th class=\"n\">answers "
            "that a history could hold</th><th class=\"n\">transitions</th><th "
            "class=\"n\">ratio</th><th class=\"n\">URLs without a change</th></tr>";
    for (std::size_t i = 0; i < result_.trials.size(); ++i) {
      const RuleTrial& trial = result_.trials[i];
      const std::string path = fmt::format("canonical_rules.tried.{}.", i);
      out_ << "<tr><td>" << escaped(trial.settings) << "</td><td class=\"n\">"
           << count(path + "sketched", trial.sketched) << "</td><td class=\"n\">"
           << count(path + "transitions", trial.pairs.transitions) << "</td><td class=\"n\">"
           << percent(path + "ratio", trial.pairs.ratio()) << "</td><td class=\"n\">"
           << count(path + "static_urls", trial.static_urls) << "</td></tr>";
    }
    out_ << "</table></div>";
  }

  void costly_urls() {
    if (figures_.costly_urls.empty()) return;
    out_ << "<h2>URLs whose transitions cost most</h2><div class=\"table\"><table><tr><th>URL</th>"
            "<th class=\"n\">transitions</th><th class=\"n\">ratio</th></tr>";
    for (std::size_t i = 0; i < figures_.costly_urls.size(); ++i) {
      const CostlyUrl& costly = figures_.costly_urls[i];
      const std::string path = fmt::format("costly_urls.{}.", i);
      out_ << "<tr><td class=\"url\">" << escaped(result_.urls.text_of(costly.url));
      if (costly.example != nullptr) example(*costly.example);
      out_ << "</td><td class=\"n\">" << count(path + "transitions", costly.pairs.transitions)
           << "</td><td class=\"n\">" << percent(path + "ratio", costly.pairs.ratio())
           << "</td></tr>\n";
    }
    out_ << "</table></div>";
  }

  void example(const ChangeExample& example) {
    out_ << "<details><summary class=\"soft\">what changed last</summary>";
    if (!example.fields.empty()) {
      out_ << "<p class=\"soft\">fields:";
      for (const std::string& field : example.fields)
        out_ << " <code>" << escaped(field) << "</code>";
      out_ << "</p>";
    }
    if (!example.before.empty() || !example.after.empty()) {
      out_ << "<pre>" << escaped(example.before) << "</pre><pre>" << escaped(example.after)
           << "</pre>";
    }
    out_ << "</details>";
  }

  void cost() {
    const CostModel& model = figures_.cost;
    const double ratio = totals_.sketched.ratio();
    out_ << "<h2>What a sketcher would save</h2><p>By the cost model of the paper's section 3.4, a "
            "read costs "
         << amount("cost.prophecy", model.prophecy(ratio)) << " with a sketcher, "
         << amount("cost.replicated", model.replicated()) << " where every read is replicated, and "
         << amount("cost.read_optimised", model.read_optimised())
         << " by PBFT's read optimisation if that never fails. Assumed: "
         << count("cost.replicas", model.replicas) << " replicas, "
         << amount("cost.fast_read", model.fast_read) << " for a fast read, "
         << amount("cost.replicated_read", model.replicated_read)
         << " for a replicated read at each replica, " << amount("cost.history", model.history)
         << " for the history.</p>";
  }

  void declared() {
    out_ << "<h2>Declared cacheability beside observed changes</h2><p>By the header fields of the "
            "earlier answer, for a shared cache (RFC 9111). A change within a declared lifetime is "
            "one that a cache would have hidden from its clients.</p><div "
            "class=\"table\"><table><tr>"
            "<th>declared</th><th class=\"n\">URLs</th><th class=\"n\">without a change</th><th "
            "class=\"n\">ratio</th><th class=\"n\">changes within the lifetime</th></tr>";
    for (std::size_t i = 0; i < result_.declared.size(); ++i) {
      const DeclaredFigures& figures = result_.declared[i];
      if (figures.answers == 0) continue;
      const std::string path = fmt::format("declared_caching.{}.", i);
      out_ << "<tr><td>" << kDeclaredNames[i] << "</td><td class=\"n\">"
           << count(path + "urls", figures.urls) << "</td><td class=\"n\">"
           << count(path + "static_urls", figures.static_urls) << "</td><td class=\"n\">"
           << percent(path + "pairs.ratio", figures.pairs.ratio()) << "</td><td class=\"n\">"
           << count(path + "within_lifetime.transitions", figures.within_lifetime.transitions)
           << "</td></tr>";
    }
    out_ << "</table></div>";
  }

  void shared() {
    if (result_.shared.empty()) return;
    out_ << "<h2>One answer under many URLs</h2><p>Each of these URLs costs a replicated read of "
            "its "
            "own, and an entry of the history. Is a part of them a cache buster?</p><div "
            "class=\"table\"><table><tr><th>the first of them</th><th class=\"n\">URLs</th></tr>";
    for (std::size_t i = 0; i < result_.shared.size(); ++i) {
      const SharedAnswer& shared = result_.shared[i];
      out_ << "<tr><td class=\"url\">" << escaped(result_.urls.text_of(shared.urls.front()))
           << "</td><td class=\"n\">"
           << count(fmt::format("one_answer_under_many_urls.{}.urls", i), shared.urls.size())
           << "</td></tr>";
    }
    out_ << "</table></div>";
  }

  void sites() {
    out_ << "<h2>Sites</h2><div class=\"table\"><table><tr><th>registrable domain</th><th "
            "class=\"n\">URLs</th><th class=\"n\">answers</th><th class=\"n\">ratio</th><th "
            "class=\"n\">static URLs</th><th class=\"n\">cost of a read</th></tr>";
    for (std::size_t i = 0; i < std::min(figures_.sites.size(), kSitesShown); ++i) {
      const SiteFigures& site = figures_.sites[i];
      const std::string path = fmt::format("sites.{}.", i);
      out_ << "<tr><td class=\"url\">" << escaped(site.site) << "</td><td class=\"n\">"
           << count(path + "urls", site.urls) << "</td><td class=\"n\">"
           << count(path + "answers", site.answers) << "</td><td class=\"n\">"
           << percent(path + "ratio", site.pairs.ratio()) << "</td><td class=\"n\">"
           << percent(path + "static_share", site.static_share) << "</td><td class=\"n\">"
           << amount(path + "cost", figures_.cost.prophecy(site.pairs.ratio())) << "</td></tr>";
    }
    out_ << "</table></div>";
    if (figures_.sites.size() > kSitesShown) {
      out_ << "<p class=\"soft\">" << figures_.sites.size() - kSitesShown
           << " more are in the data.</p>";
    }
  }

  void inputs() {
    out_ << "<h2>Inputs</h2><div class=\"table\"><table><tr><th>file</th><th>format</th><th "
            "class=\"n\">answers</th><th class=\"n\">damaged</th></tr>";
    for (std::size_t i = 0; i < result_.inputs.size(); ++i) {
      const InputFigures& input = result_.inputs[i];
      const std::string path = fmt::format("inputs.{}.", i);
      out_ << "<tr><td class=\"url\">" << escaped(input.file);
      for (std::size_t j = 0; j < std::min(input.damage.size(), kDamageShown); ++j) {
        out_ << "<br><span class=\"soft\">offset " << input.damage[j].offset << ": "
             << escaped(input.damage[j].problem) << "</span>";
      }
      out_ << "</td><td>" << escaped(input.format) << "</td><td class=\"n\">"
           << count(path + "answers", input.answers) << "</td><td class=\"n\">"
           << count(path + "damage_count", input.damage_count) << "</td></tr>";
    }
    out_ << "</table></div>";
  }

  void choices() {
    out_ << "<h2>How it was counted</h2><details><summary>Choices that the paper leaves "
            "open</summary><dl>";
    for (const Choice& choice : kChoices)
      out_ << "<dt>" << escaped(choice.name) << "</dt><dd>" << escaped(choice.text) << "</dd>";
    out_ << "</dl></details>";
  }

  // The JSON output. Nothing in it may end the element.
  void data() {
    std::ostringstream json;
    write_json(result_, figures_, json);
    std::string text = std::move(json).str();
    for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at))
      text.replace(at, 1, "\\u003c");
    out_ << "<script type=\"application/json\" id=\"figures\">" << text << "</script>\n";
  }

  const MeasurementResult& result_;
  const Figures& figures_;
  Totals totals_;
  std::ostream& out_;
};

}  // namespace

void write_html(const MeasurementResult& result, const Figures& figures, std::ostream& out) {
  Page(result, figures, out).write();
}

}  // namespace prophecy::measurement
