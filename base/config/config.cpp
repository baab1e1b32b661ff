#include "base/config/config.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <sys/un.h>

#include "base/config/document.hpp"
#include "base/config/nearest.hpp"
#include "base/config/printable.hpp"
#include "base/config/quantity.hpp"
#include "base/config/record.hpp"
#include "base/file.hpp"

namespace prophecy {
namespace {

constexpr std::size_t kLinesMax = 100;  // of an error's message

const toml::table* as_table(const void* table) {
  return static_cast<const toml::table*>(table);
}

const toml::node* as_node(const void* node) {
  return static_cast<const toml::node*>(node);
}

// A value as a message shows it.
std::string found(const toml::node* node) {
  if (node == nullptr) return "nothing";
  if (const auto text = node->value_exact<std::string>())
    return toml_text(shortened(*text, kFoundBytesMax));
  if (const auto number = node->value_exact<std::int64_t>()) return std::to_string(*number);
  if (const auto number = node->value_exact<double>()) return toml_literal(*number);
  if (const auto flag = node->value_exact<bool>()) return toml_literal(*flag);
  if (node->is_table()) return "a table";
  if (node->is_array_of_tables()) return "a list of tables";
  const toml::array* array = node->as_array();
  if (array == nullptr) return "a date or a time";
  if (array->empty()) return "an empty list";
  return "a list of " + std::to_string(array->size()) + (array->size() == 1 ? " value" : " values");
}

// Whether it holds more than other tables, for which alone it may be there.
bool has_values(const toml::table& table) {
  return std::any_of(table.begin(), table.end(), [](const auto& entry) {
    return !entry.second.is_table() && !entry.second.is_array_of_tables();
  });
}

}  // namespace

struct ConfigFile::State {
  std::string name;
  std::filesystem::path folder;
  Document document;
  bool is_schema = false;
  RecordedTable record;
  std::map<const toml::table*, const RecordedTable*> records;
  std::vector<Mistake> mistakes;
  std::set<std::tuple<std::size_t, std::size_t, std::string>> noted;
  // The places of mistakes that a key is missing, by its table and its name; where the table is
  // missing, too, by the whole name.
  std::map<std::pair<const toml::table*, std::string>, std::size_t> missing;
  std::set<std::size_t> explained;  // of these, the ones that a misspelt name explains
  // Choices that are wrong, by table: what belongs to any of their values may be there, or not.
  std::set<std::pair<const void*, std::string>> undecided;
  const RecordedTable* schema = nullptr;  // with all keys, also those that were not asked for
  // Stands for each list of tables in place of one table that has nothing to read: nothing is
  // missing in it.
  toml::table misplaced;

  void note(std::size_t line, std::size_t column, const std::string& key,
            const std::string& problem) {
    // The first mistake at a place is the cause of the others.
    if (is_schema || !noted.emplace(line, column, key).second) return;
    mistakes.push_back({line, column, key + ": " + problem});
  }
  // As in the file: the document has a time in the place of a number that it does not take.
  [[nodiscard]] std::string found_at(const toml::node* node) const {
    const auto odd = node != nullptr ? document.odd_numbers.find(node->source().begin.line)
                                     : document.odd_numbers.end();
    return odd != document.odd_numbers.end() && node->is_time() ? odd->second : found(node);
  }
  // Whether a condition depends on such a choice.
  [[nodiscard]] bool is_undecided(const void* table, std::string_view condition) const {
    return std::any_of(undecided.begin(), undecided.end(), [&](const auto& choice) {
      return choice.first == table &&
             condition.find("`" + choice.second + "`") != std::string_view::npos;
    });
  }
  void note_unknown_keys(const toml::table& in, const std::string& prefix);
  void note_unknown(const toml::table& in, const toml::key& key, const RecordedTable& known,
                    const std::string& prefix);
  void explain_missing(const toml::table& in, const std::string& meant, const std::string& prefix);
  void forget_explained();
};

void ConfigFile::State::note_unknown(const toml::table& in, const toml::key& key,
                                     const RecordedTable& known, const std::string& prefix) {
  const std::string unknown(key.str());
  const RecordedTable& all = schema != nullptr ? *schema : record;
  const RecordedTable* declared = schema != nullptr ? table_at(all, prefix) : nullptr;
  const std::vector<std::string> names = (declared != nullptr ? declared : &known)->names();
  explain_missing(in, nearest(unknown, names), prefix);
  std::string problem = "unknown key" + did_you_mean(unknown, names);
  if (declared != nullptr && std::find(names.begin(), names.end(), unknown) != names.end()) {
    problem = "expected only where " + condition_of(*declared, unknown) + ", found it here";
  } else if (problem.back() != '?') {
    const std::vector<std::string> others = tables_with(all, unknown);
    if (!others.empty()) {
      problem += "; did you mean the one of " + alternatives(others) + "?";
    } else if (!names.empty()) {
      problem += "; expected one of " + listed(names);
    }
  }
  note(key.source().begin.line, key.source().begin.column,
       prefix + (unknown.empty() ? "\"\"" : shortened(unknown, kFoundBytesMax)), problem);
}

void ConfigFile::State::note_unknown_keys(const toml::table& in, const std::string& prefix) {
  const auto known = records.find(&in);
  if (known == records.end()) return;  // nothing was to be read there
  const std::vector<std::string> names = known->second->names();
  for (const auto& [key, node] : in) {
    const std::string path = prefix + std::string(key.str());
    if (std::find(names.begin(), names.end(), key.str()) == names.end()) {
      note_unknown(in, key, *known->second, prefix);
    } else if (const toml::table* inner = node.as_table()) {
      note_unknown_keys(*inner, path + ".");
    } else if (const toml::array* array = node.as_array()) {
      for (const toml::node& element : *array) {
        if (const toml::table* table = element.as_table()) note_unknown_keys(*table, path + ".");
      }
    }
  }
}

void ConfigFile::State::explain_missing(const toml::table& in, const std::string& meant,
                                        const std::string& prefix) {
  if (meant.empty()) return;
  const auto key = missing.find({&in, meant});
  if (key != missing.end()) explained.insert(key->second);
  const std::string table = prefix + meant + ".";
  for (auto each = missing.lower_bound({nullptr, table});
       each != missing.end() && each->first.second.starts_with(table); ++each)
    explained.insert(each->second);
}

void ConfigFile::State::forget_explained() {
  for (auto place = explained.rbegin(); place != explained.rend(); ++place)
    mistakes.erase(mistakes.begin() + static_cast<std::ptrdiff_t>(*place));
  missing.clear();
  explained.clear();
}

ConfigFile::ConfigFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
ConfigFile::ConfigFile(ConfigFile&&) noexcept = default;
ConfigFile::~ConfigFile() = default;

Result<ConfigFile> ConfigFile::load(const std::filesystem::path& path) {
  auto content = read_file(path, kBytesMax);
  if (!content) return content.error();
  auto file = parse(*content, path.string());
  if (file) file->state_->folder = path.parent_path();
  return file;
}

Result<ConfigFile> ConfigFile::parse(std::string_view text, std::string name) {
  ConfigFile file(std::make_unique<State>());
  State& state = *file.state_;
  state.document = parse_document(text);
  state.name = std::move(name);
  state.mistakes = state.document.mistakes;
  state.records[&state.document.table] = &state.record;
  if (!state.document.is_broken) return file;
  auto finished = file.finish();
  return finished.error();
}

ConfigFile ConfigFile::schema() {
  ConfigFile file(std::make_unique<State>());
  file.state_->is_schema = true;
  return file;
}

ConfigSection ConfigFile::root() {
  return {*state_, state_->is_schema ? nullptr : &state_->document.table, state_->record};
}

Result<> ConfigFile::finish(Readers readers) {
  ConfigFile all = schema();
  if (readers != nullptr) {
    readers(all.root());
    state_->schema = &all.state_->record;
  }
  if (!state_->document.is_broken) state_->note_unknown_keys(state_->document.table, "");
  state_->schema = nullptr;
  state_->forget_explained();
  auto& mistakes = state_->mistakes;
  std::stable_sort(mistakes.begin(), mistakes.end(), [](const Mistake& one, const Mistake& other) {
    return std::tie(one.line, one.column) < std::tie(other.line, other.column);
  });
  if (mistakes.empty()) return {};
  std::string lines;
  for (std::size_t i = 0; i < std::min(mistakes.size(), kLinesMax); ++i) {
    const Mistake& mistake = mistakes[i];
    lines += (i == 0 ? "" : "\n") + state_->name + ":" + std::to_string(mistake.line) + ":" +
             std::to_string(mistake.column) + ": " + printable(mistake.text);
  }
  if (mistakes.size() > kLinesMax) {
    lines +=
        "\n" + state_->name + ": " + std::to_string(mistakes.size() - kLinesMax) + " more mistakes";
  }
  return Error{ErrorKind::invalid, lines};
}

std::string ConfigFile::dump() const {
  return prophecy::dump(state_->record);
}

std::string ConfigFile::describe() const {
  return prophecy::describe(state_->record);
}

const void* ConfigSection::declare(const Key& key, std::string_view type, const std::string& bounds,
                                   const std::optional<std::string>& fallback) {
  RecordedSetting& setting = record_->setting(key.name, condition_);
  if (!key.help.empty()) setting.help = key.help;
  setting.type = type;
  setting.bounds = key.bounds_text.empty() ? bounds : key.bounds_text;
  setting.default_value = key.default_text.empty() ? fallback.value_or("") : key.default_text;
  setting.reload = key.reload;
  const toml::node* node = table_ != nullptr ? as_table(table_)->get(key.name) : nullptr;
  if (node == nullptr) setting.value = fallback.value_or("");
  return node;
}

void ConfigSection::in_effect(std::string_view key, std::string value) {
  record_->setting(key, condition_).value = std::move(value);
}

void ConfigSection::mistake(std::string_view key, std::string_view expected) {
  if (table_ == &file_->misplaced) return;
  const toml::node* node = table_ != nullptr ? as_table(table_)->get(key) : nullptr;
  if (node == nullptr) {
    // A syntax error was reported there.
    if (file_->document.has_lost_table || file_->document.lost_keys.contains(key)) return;
    if (file_->is_undecided(table_, condition_)) return;
  }
  std::string problem(expected);
  if (problem.starts_with("expected") && problem.find("found") == std::string::npos) {
    problem += ", found " + file_->found_at(node);
  }
  const auto place = node != nullptr ? node->source().begin : toml::source_position{};
  const std::size_t noted = file_->mistakes.size();
  file_->note(place.line != 0 ? place.line : line_, place.line != 0 ? place.column : column_,
              name_ + std::string(key), problem);
  if (node != nullptr || file_->mistakes.size() == noted) return;
  const std::string name = (table_ != nullptr ? "" : name_) + std::string(key);
  file_->missing.emplace(std::pair(as_table(table_), name), noted);
}

void ConfigSection::mistake(std::string_view key, std::string_view element,
                            std::string_view expected) {
  const toml::node* node = table_ != nullptr ? as_table(table_)->get(key) : nullptr;
  const toml::array* array = node != nullptr ? node->as_array() : nullptr;
  if (array == nullptr) return mistake(key, expected);
  for (const toml::node& each : *array) {
    if (each.value_exact<std::string_view>() != element) continue;
    std::string problem(expected);
    if (problem.find("found") == std::string::npos) problem += ", found " + found(&each);
    const auto place = each.source().begin;
    return file_->note(place.line, place.column, name_ + std::string(key), problem);
  }
  mistake(key, expected);
}

bool ConfigSection::is_wrong(std::string_view key) const {
  const toml::node* node = table_ != nullptr ? as_table(table_)->get(key) : nullptr;
  const std::string name = name_ + std::string(key);
  if (node == nullptr || node->source().begin.line == 0)
    return file_->noted.contains({line_, column_, name});
  const auto is_noted = [&](const toml::node& at) {
    return file_->noted.contains({at.source().begin.line, at.source().begin.column, name});
  };
  const toml::array* array = node->as_array();
  return is_noted(*node) ||
         (array != nullptr && std::any_of(array->begin(), array->end(), is_noted));
}

bool ConfigSection::has(std::string_view key) const {
  return file_->is_schema || (table_ != nullptr && as_table(table_)->contains(key));
}

std::string ConfigSection::text(const Key& key, std::optional<std::string> fallback) {
  const toml::node* node = as_node(
      declare(key, "string", "", fallback ? std::optional(toml_text(*fallback)) : std::nullopt));
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value_exact<std::string>() : std::nullopt;
  if (!value) mistake(key.name, "expected a string in quotes");
  in_effect(key.name, value ? toml_text(*value) : "");
  return value.value_or("");
}

std::size_t ConfigSection::choice(const Key& key, const std::vector<std::string>& choices,
                                  std::optional<std::size_t> fallback) {
  std::string all;
  for (const std::string& each : choices)
    all += (all.empty() ? "" : ", ") + toml_text(each);
  const toml::node* node = as_node(declare(
      key, "choice", all, fallback ? std::optional(toml_text(choices[*fallback])) : std::nullopt));
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value_exact<std::string>() : std::nullopt;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (value != choices[i]) continue;
    in_effect(key.name, toml_text(choices[i]));
    return i;
  }
  if (table_ != nullptr) file_->undecided.emplace(table_, key.name);
  mistake(key.name, "expected one of " + all + ", found " + file_->found_at(node) +
                        did_you_mean(value.value_or(""), choices));
  return 0;
}

std::uint64_t ConfigSection::number(const Key& key, std::uint64_t min, std::uint64_t max,
                                    std::optional<std::uint64_t> fallback) {
  const std::string bounds = std::to_string(min) + " to " + std::to_string(max);
  const toml::node* node = as_node(declare(
      key, "number", bounds, fallback ? std::optional(std::to_string(*fallback)) : std::nullopt));
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value_exact<std::int64_t>() : std::nullopt;
  if (value && *value >= 0 && static_cast<std::uint64_t>(*value) >= min &&
      static_cast<std::uint64_t>(*value) <= max) {
    in_effect(key.name, std::to_string(*value));
    return static_cast<std::uint64_t>(*value);
  }
  mistake(key.name, "expected a whole number from " + bounds);
  return min;
}

bool ConfigSection::flag(const Key& key, std::optional<bool> fallback) {
  const toml::node* node = as_node(
      declare(key, "flag", "", fallback ? std::optional(toml_literal(*fallback)) : std::nullopt));
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value_exact<bool>() : std::nullopt;
  if (!value) mistake(key.name, "expected true or false");
  in_effect(key.name, toml_literal(value.value_or(false)));
  return value.value_or(false);
}

double ConfigSection::fraction(const Key& key, std::optional<double> fallback) {
  const toml::node* node =
      as_node(declare(key, "share", "0.0 to 1.0",
                      fallback ? std::optional(toml_literal(*fallback)) : std::nullopt));
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value<double>() : std::nullopt;
  if (value && *value >= 0 && *value <= 1) {
    in_effect(key.name, toml_literal(*value));
    return *value;
  }
  mistake(key.name, "expected a number from 0 to 1");
  return 0;
}

std::uint64_t ConfigSection::bytes(const Key& key, std::uint64_t min, std::uint64_t max,
                                   std::optional<std::uint64_t> fallback) {
  const toml::node* node =
      as_node(declare(key, "size", format_size(min) + " to " + format_size(max),
                      fallback ? std::optional(toml_text(format_size(*fallback))) : std::nullopt));
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value_exact<std::string>() : std::nullopt;
  const auto size = value ? parse_size(*value) : std::nullopt;
  if (size && *size >= min && *size <= max) {
    in_effect(key.name, toml_text(format_size(*size)));
    return *size;
  }
  mistake(key.name, "expected a size with its unit (B, KiB, MiB, GiB) from \"" + format_size(min) +
                        "\" to \"" + format_size(max) + "\"");
  return min;
}

Duration ConfigSection::duration(const Key& key, Duration min, Duration max,
                                 std::optional<Duration> fallback) {
  const toml::node* node =
      as_node(declare(key, "time", format_time(min) + " to " + format_time(max),
                      fallback ? std::optional(toml_text(format_time(*fallback))) : std::nullopt));
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value_exact<std::string>() : std::nullopt;
  const auto time = value ? parse_time(*value) : std::nullopt;
  if (time && *time >= min && *time <= max) {
    in_effect(key.name, toml_text(format_time(*time)));
    return *time;
  }
  mistake(key.name, "expected a time with its unit (us, ms, s, m, h) from \"" + format_time(min) +
                        "\" to \"" + format_time(max) + "\"");
  return min;
}

Endpoint ConfigSection::endpoint(const Key& key, std::optional<Endpoint> fallback) {
  const toml::node* node =
      as_node(declare(key, "address", "",
                      fallback ? std::optional(toml_text(to_string(*fallback))) : std::nullopt));
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value_exact<std::string>() : std::nullopt;
  auto parsed = parse_endpoint(value.value_or(""));
  if (parsed) {
    in_effect(key.name, toml_text(to_string(*parsed)));
    return *parsed;
  }
  mistake(
      key.name,
      "expected ADDRESS:PORT with a numeric address, such as \"127.0.0.1:8080\" or \"[::1]:8080\"");
  return {};
}

std::vector<Endpoint> ConfigSection::endpoints(const Key& key) {
  std::vector<Endpoint> result;
  for (const std::string& value : list(key, "list of addresses", std::nullopt)) {
    auto parsed = parse_endpoint(value);
    if (parsed) {
      result.push_back(*parsed);
    } else {
      mistake(key.name, value,
              "expected ADDRESS:PORT with a numeric address, such as \"127.0.0.1:8080\" or "
              "\"[::1]:8080\"");
    }
  }
  return result;
}

std::vector<std::string> ConfigSection::texts(const Key& key,
                                              std::optional<std::vector<std::string>> fallback) {
  return list(key, "list of strings", std::move(fallback));
}

std::vector<std::string> ConfigSection::list(const Key& key, std::string_view type,
                                             std::optional<std::vector<std::string>> fallback) {
  const toml::node* node = as_node(
      declare(key, type, "", fallback ? std::optional(toml_text(*fallback)) : std::nullopt));
  if (node == nullptr && fallback) return *fallback;
  std::vector<std::string> result;
  const toml::array* array = node != nullptr ? node->as_array() : nullptr;
  if (array == nullptr) {
    mistake(key.name, "expected a list of strings, [\"...\"]");
    return result;
  }
  for (const toml::node& element : *array) {
    const auto value = element.value_exact<std::string>();
    if (!value) {
      const auto place = element.source().begin;
      file_->note(place.line, place.column, name_ + std::string(key.name),
                  "expected strings only in this list, found " + found(&element));
      continue;
    }
    result.push_back(*value);
  }
  in_effect(key.name, toml_text(result));
  return result;
}

std::filesystem::path ConfigSection::socket_path(const Key& key) {
  constexpr std::size_t kBytesMax = sizeof(sockaddr_un{}.sun_path) - 1;
  std::filesystem::path result = path(key);
  if (result.native().size() > kBytesMax) {
    mistake(key.name, "expected a socket's path, of at most " + std::to_string(kBytesMax) +
                          " bytes, found " + std::to_string(result.native().size()) + " bytes");
  }
  return result;
}

std::filesystem::path ConfigSection::path(const Key& key,
                                          std::optional<std::filesystem::path> fallback) {
  const auto as_literal = [](const std::filesystem::path& path) {
    return toml_text(path.empty() ? std::string() : std::filesystem::absolute(path).string());
  };
  const toml::node* node = as_node(
      declare(key, "path", "", fallback ? std::optional(as_literal(*fallback)) : std::nullopt));
  if (node == nullptr && fallback) return *fallback;
  const auto value = node != nullptr ? node->value_exact<std::string>() : std::nullopt;
  if (!value || value->empty() || value->find('\0') != std::string::npos) {
    mistake(key.name, "expected a path");
    return {};
  }
  std::filesystem::path result = file_->folder / *value;
  in_effect(key.name, as_literal(result));
  return result;
}

ConfigSection ConfigSection::inner(const Key& key, const void* table, RecordedTable& record) const {
  ConfigSection section(*file_, table, record);
  section.name_ = name_ + std::string(key.name) + ".";
  section.line_ = line_;
  section.column_ = column_;
  record.condition = condition_;
  if (const toml::table* present = as_table(table)) {
    file_->records[present] = &record;
    const auto place = present->source().begin;
    section.line_ = std::max<std::size_t>(1, place.line);
    section.column_ = std::max<std::size_t>(1, place.column);
  }
  return section;
}

ConfigSection ConfigSection::section(const Key& key) {
  const toml::node* node = table_ != nullptr ? as_table(table_)->get(key.name) : nullptr;
  const toml::table* table = node != nullptr ? node->as_table() : nullptr;
  RecordedTable& record = record_->table(key, false, 0);
  if (table_ == &file_->misplaced) table = &file_->misplaced;
  if (node != nullptr && table == nullptr) {
    mistake(key.name, "expected one table, [" + name_ + std::string(key.name) + "]");
    // The first one is read; the others are checked for unknown keys alone.
    if (const toml::array* list = node->as_array()) {
      for (const toml::node& element : *list) {
        const toml::table* each = element.as_table();
        if (each == nullptr || !has_values(*each)) continue;
        if (table == nullptr) table = each;
        file_->records[each] = &record;
      }
    }
    if (table == nullptr) table = &file_->misplaced;
  }
  return inner(key, table, record);
}

std::vector<ConfigSection> ConfigSection::sections(const Key& key) {
  std::vector<ConfigSection> result;
  if (file_->is_schema) return {inner(key, nullptr, record_->table(key, true, 0))};
  record_->lists.emplace_back(key.name);
  const toml::node* node = table_ != nullptr ? as_table(table_)->get(key.name) : nullptr;
  if (node == nullptr) return result;
  const std::string expected = "expected tables, [[" + name_ + std::string(key.name) + "]]";
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    const std::size_t noted = file_->mistakes.size();
    mistake(key.name, expected);
    const toml::table* only = node->as_table();
    if (only != nullptr && has_values(*only)) {
      result.push_back(inner(key, only, record_->table(key, true, 0)));
      return result;
    }
    // The table may be there for a table in it alone, "[[key.inner]]", below a misspelt "[[key]]".
    if (only != nullptr && file_->mistakes.size() != noted)
      file_->missing.emplace(std::pair(as_table(table_), std::string(key.name)), noted);
    return result;
  }
  for (const toml::node& element : *array) {
    if (const toml::table* table = element.as_table()) {
      result.push_back(inner(key, table, record_->table(key, true, result.size())));
    } else {
      const auto place = element.source().begin;
      file_->note(place.line, place.column, name_ + std::string(key.name),
                  expected + ", found " + found(&element));
    }
  }
  return result;
}

std::optional<ConfigSection> ConfigSection::when(bool holds, std::string_view condition) const {
  if (!holds && !file_->is_schema && !file_->is_undecided(table_, condition)) return std::nullopt;
  ConfigSection section = *this;
  section.condition_ += (condition_.empty() ? "" : " and ") + std::string(condition);
  return section;
}

}  // namespace prophecy
