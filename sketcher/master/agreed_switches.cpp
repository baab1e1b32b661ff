#include "sketcher/master/agreed_switches.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "sketcher/ring/settings_messages.hpp"

namespace prophecy::sketcher {
namespace {

using Json = nlohmann::ordered_json;
using dht::SettingsOutcome;

// The older ones are forgotten.
constexpr std::size_t kOutcomesMax = 1024;
// Of a mark that may be in the table, or not: it differs from each value.
constexpr std::string_view kUnsure = "?";

bool is_mark(std::string_view name) {
  return name.starts_with(dht::kMarkPrefix);
}

std::optional<dht::SettingValues> values_at(const Json& memory, const char* key) {
  if (!memory.contains(key)) return std::nullopt;
  return parse_setting_values(memory[key]);
}

}  // namespace

// ---- Memory.

// {"ring": NAME, "number": N, "values": {NAME: VALUE}, "own": {NAME: VALUE or ""}, "bases": {NAME:
// [VALUE]},
//  "marks": [NAME]}
Json AgreedSwitches::memory() const {
  Json own = Json::object();
  Json bases = Json::object();
  for (const auto& [name, each] : own_) {
    own[name] = each.value;
    bases[name] = each.bases;
  }
  std::set<std::string> marks;
  for (const dht::SettingValues* const values : {&agreed_.values, &in_force_}) {
    for (const auto& [name, value] : *values) {
      if (is_mark(name)) marks.insert(name);
    }
  }
  return {{"ring", ring_},         {"number", agreed_.number},  {"values", agreed_.values},
          {"own", std::move(own)}, {"bases", std::move(bases)}, {"marks", marks}};
}

Result<> AgreedSwitches::restore(std::string ring, dht::SettingValues in_force,
                                 const Json& memory) {
  ring_ = std::move(ring);
  in_force_ = std::move(in_force);
  if (memory.is_null()) return {};
  const auto damaged = [] {
    return Error{ErrorKind::damaged, "what is remembered of the ring's settings is damaged"};
  };
  const auto values = memory.is_object() ? values_at(memory, "values") : std::nullopt;
  const bool is_whole =
      values && memory.contains("number") && memory["number"].is_number_unsigned() &&
      memory.contains("own") && memory["own"].is_object() && memory.contains("bases") &&
      memory["bases"].is_object() && memory.contains("marks") && memory["marks"].is_array();
  if (!is_whole) return damaged();
  std::map<std::string, Own> own;
  for (const auto& [name, value] : memory["own"].items()) {
    const auto bases = memory["bases"].find(name);
    const bool has_bases = bases != memory["bases"].end() && bases->is_array();
    if (!dht::is_setting_name(name) || !value.is_string() || !has_bases) return damaged();
    Own each{.id = ++last_id_, .value = value.get<std::string>()};
    for (const Json& base : *bases) {
      if (!base.is_string()) return damaged();
      each.bases.push_back(base.get<std::string>());
    }
    own[name] = std::move(each);
  }
  for (const Json& mark : memory["marks"]) {
    if (!mark.is_string() || !dht::is_setting_name(mark.get<std::string>())) return damaged();
    in_force_[mark.get<std::string>()] = kUnsure;
  }
  const auto former = memory.find("ring");
  if (former == memory.end() || !former->is_string() || former->get<std::string>() != ring_) {
    dht::SettingValues held = *values;
    for (const auto& [name, each] : own)
      held[name] = each.value;
    begin_elsewhere(held);
    return {};
  }
  agreed_.number = memory["number"].get<dht::SettingsNumber>();
  agreed_.values = *values;
  own_ = std::move(own);
  reconcile();
  return {};
}

// Its operators' values stay in force until that ring says what is agreed there; one that has
// agreed on nothing takes them over (on_agreed).
void AgreedSwitches::begin_elsewhere(const dht::SettingValues& values) {
  for (const auto& [name, value] : values) {
    if (value.empty()) {
      in_force_.erase(name);
    } else if (target_.carry_out(name, value)) {
      in_force_[name] = value;
    }
  }
}

// ---- Operators.

void AgreedSwitches::prepare(const std::string& name) {
  if (!is_mark(name) || in_force_.contains(name)) return;
  in_force_[name] = kUnsure;
  target_.remember();
}

std::uint64_t AgreedSwitches::set(const std::string& name, const std::string& value) {
  const std::uint64_t id = ++last_id_;
  Own own{.id = id, .value = value, .bases = {dht::value_of(agreed_.values, name)}};
  if (const auto before = own_.find(name); before != own_.end()) {
    // Either may be what the ring has by then.
    own.bases = before->second.bases;
    own.bases.push_back(before->second.value);
    std::sort(own.bases.begin(), own.bases.end());
    own.bases.erase(std::unique(own.bases.begin(), own.bases.end()), own.bases.end());
    if (!before->second.is_sent)
      note_outcome({before->second.id, SettingsOutcome::Kind::replaced, "by a later change"});
  }
  own_[name] = std::move(own);
  refused_.erase(name);
  if (value.empty()) {
    in_force_.erase(name);
  } else {
    in_force_[name] = value;
  }
  return id;
}

std::uint64_t AgreedSwitches::decide(dht::SettingsOrder::Kind kind) {
  const std::uint64_t id = ++last_id_;
  decisions_[id] = {.id = id, .kind = kind};
  return id;
}

// ---- The ring.

std::optional<dht::SettingsOrder> AgreedSwitches::unsent() const {
  if (!decisions_.empty()) return decisions_.begin()->second;
  const std::pair<const std::string, Own>* first = nullptr;
  for (const auto& entry : own_) {
    if (!entry.second.is_sent && (first == nullptr || entry.second.id < first->second.id))
      first = &entry;
  }
  if (first == nullptr) return std::nullopt;
  return dht::SettingsOrder{.id = first->second.id,
                            .change = {first->first, first->second.value},
                            .bases = first->second.bases};
}

void AgreedSwitches::on_sent(std::uint64_t id) {
  if (decisions_.erase(id) > 0) sent_decisions_.insert(id);
  for (auto& [name, own] : own_) {
    if (own.id == id) own.is_sent = true;
  }
}

void AgreedSwitches::on_ring_started() {
  is_ring_known_ = false;
  for (auto& [name, own] : own_)
    own.is_sent = false;
  for (const std::uint64_t id : std::exchange(sent_decisions_, {}))
    note_outcome(
        {id, SettingsOutcome::Kind::refused,
         "the ring's process has ended, perhaps before it was carried out; see prophecyctl "
         "ring settings, and decide again if there is still something to decide"});
}

// Where nobody has ever set anything for the ring, what this member has remembered of its own is
// what its operators have set.
void AgreedSwitches::on_agreed(dht::AgreedSettings settings) {
  const bool is_first = agreed_.number == 0 && settings.number <= 1;
  agreed_ = std::move(settings);
  is_ring_known_ = true;
  if (is_first) {
    const dht::SettingValues in_force = in_force_;
    for (const auto& [name, value] : in_force) {
      if (!own_.contains(name) && value != kUnsure) set(name, value);
    }
  }
  target_.remember();
  reconcile();
}

void AgreedSwitches::on_outcome(const SettingsOutcome& outcome) {
  note_outcome(outcome);
  if (outcome.kind != SettingsOutcome::Kind::waiting) sent_decisions_.erase(outcome.id);
  const auto found = std::find_if(own_.begin(), own_.end(),
                                  [&](const auto& entry) { return entry.second.id == outcome.id; });
  if (found == own_.end()) return;
  if (outcome.kind == SettingsOutcome::Kind::waiting) {
    found->second.waits_for = outcome.message;
    return;
  }
  // Another own change of the same name has another id.
  if (outcome.kind == SettingsOutcome::Kind::replaced) return;
  own_.erase(found);
  reconcile();
  target_.remember();
}

void AgreedSwitches::note_outcome(SettingsOutcome outcome) {
  const std::uint64_t id = outcome.id;
  outcomes_[id] = std::move(outcome);
  if (outcomes_.size() > kOutcomesMax) outcomes_.erase(outcomes_.begin());
}

const SettingsOutcome* AgreedSwitches::outcome(std::uint64_t id) const {
  const auto found = outcomes_.find(id);
  return found == outcomes_.end() ? nullptr : &found->second;
}

// ---- What holds here.

std::string AgreedSwitches::wanted(const std::string& name) const {
  const auto own = own_.find(name);
  return own != own_.end() ? own->second.value : dht::value_of(agreed_.values, name);
}

void AgreedSwitches::retry() {
  if (!refused_.empty()) reconcile();
}

void AgreedSwitches::reconcile() {
  std::erase_if(refused_, [this](const auto& entry) {
    return wanted(entry.first) == dht::value_of(in_force_, entry.first);
  });
  carry_out_what(true);
  carry_out_what(false);
}

void AgreedSwitches::carry_out_what(bool puts_back) {
  std::set<std::string> names;
  for (const auto& [name, value] : in_force_)
    names.insert(name);
  for (const auto& [name, value] : agreed_.values)
    names.insert(name);
  for (const auto& [name, own] : own_)
    names.insert(name);
  for (const std::string& name : names) {
    const std::string value = wanted(name);
    if (value.empty() != puts_back || value == dht::value_of(in_force_, name)) continue;
    if (auto done = target_.carry_out(name, value); !done) {
      refused_[name] = {value, done.error().message};
      continue;
    }
    refused_.erase(name);
    if (value.empty()) {
      in_force_.erase(name);
    } else {
      in_force_[name] = value;
    }
  }
}

std::string AgreedSwitches::here(const std::string& name) const {
  const auto refused = refused_.find(name);
  if (refused != refused_.end()) return "refused: " + refused->second.reason;
  const auto own = own_.find(name);
  if (own == own_.end()) return is_ring_known_ ? "carried out" : "carried out, as remembered";
  const std::string value = own->second.value.empty() ? "as configured" : own->second.value;
  const std::string& reason = own->second.waits_for;
  return value + ", not shared yet" + (reason.empty() ? "" : ": " + reason);
}

Json AgreedSwitches::list() const {
  std::set<std::string> names;
  for (const auto& [name, value] : agreed_.values)
    names.insert(name);
  for (const auto& [name, own] : own_)
    names.insert(name);
  for (const auto& [name, refused] : refused_)
    names.insert(name);
  Json list = Json::array();
  for (const std::string& name : names) {
    const std::string agreed = dht::value_of(agreed_.values, name);
    list.push_back(
        {{"name", name}, {"agreed", agreed.empty() ? Json() : Json(agreed)}, {"here", here(name)}});
  }
  return list;
}

}  // namespace prophecy::sketcher
