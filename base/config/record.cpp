#include "base/config/record.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace prophecy {
namespace {

std::string path_of(const RecordedTable& table, const std::string& above) {
  return above.empty() ? table.name : above + "." + table.name;
}

std::string heading(const RecordedTable& table, const std::string& path) {
  return table.is_list ? "[[" + path + "]]" : "[" + path + "]";
}

void dump(const RecordedTable& table, const std::string& path, std::string& text) {
  for (const RecordedSetting& setting : table.settings) {
    if (!setting.value.empty()) text += setting.name + " = " + setting.value + "\n";
  }
  for (const auto& inner : table.tables) {
    const std::string inner_path = path_of(*inner, path);
    if (!text.empty()) text += '\n';
    text += heading(*inner, inner_path) + "\n";
    dump(*inner, inner_path, text);
  }
}

void add(std::string& text, std::string_view name, const std::string& value) {
  if (!value.empty()) text.append(name).append(" = ").append(toml_text(value)).append("\n");
}

void describe(const RecordedTable& table, const std::string& path, std::string& text) {
  text += "[[table]]\nheading = " + toml_text(path.empty() ? "" : heading(table, path)) + "\n";
  add(text, "condition", table.condition);
  add(text, "help", table.help);
  for (const RecordedSetting& setting : table.settings) {
    text += "[[table.setting]]\n";
    add(text, "name", setting.name);
    add(text, "type", setting.type);
    add(text, "bounds", setting.bounds);
    add(text, "default", setting.default_value);
    add(text, "condition", setting.condition);
    add(text, "reload", setting.reload == Reload::file ? "file" : "restart");
    add(text, "help", setting.help);
  }
  for (const auto& inner : table.tables)
    describe(*inner, path_of(*inner, path), text);
}

void add_tables_with(const RecordedTable& table, std::string_view key, const std::string& path,
                     std::vector<std::string>& headings) {
  for (const auto& inner : table.tables) {
    const std::string inner_path = path_of(*inner, path);
    const std::vector<std::string> names = inner->names();
    std::string name = heading(*inner, inner_path);
    // A list may have several tables.
    if (std::find(names.begin(), names.end(), key) != names.end() &&
        std::find(headings.begin(), headings.end(), name) == headings.end())
      headings.push_back(std::move(name));
    add_tables_with(*inner, key, inner_path, headings);
  }
}

}  // namespace

RecordedSetting& RecordedTable::setting(std::string_view key, std::string_view when) {
  const auto found = std::find_if(settings.begin(), settings.end(), [&](const auto& setting) {
    return setting.name == key && setting.condition == when;
  });
  if (found != settings.end()) return *found;
  RecordedSetting& made = settings.emplace_back();
  made.name = key;
  made.condition = when;
  return made;
}

RecordedTable& RecordedTable::table(const Key& key, bool list, std::size_t place) {
  for (const auto& inner : tables) {
    if (inner->name != key.name) continue;
    if (place == 0) return *inner;
    --place;
  }
  tables.push_back(std::make_unique<RecordedTable>());
  tables.back()->name = key.name;
  tables.back()->help = key.help;
  tables.back()->is_list = list;
  return *tables.back();
}

std::vector<std::string> RecordedTable::names() const {
  std::vector<std::string> all;
  for (const RecordedSetting& setting : settings) {
    if (std::find(all.begin(), all.end(), setting.name) == all.end()) all.push_back(setting.name);
  }
  for (const auto& inner : tables) {
    if (std::find(all.begin(), all.end(), inner->name) == all.end()) all.push_back(inner->name);
  }
  for (const std::string& list : lists) {
    if (std::find(all.begin(), all.end(), list) == all.end()) all.push_back(list);
  }
  return all;
}

const RecordedTable* table_at(const RecordedTable& root, std::string_view path) {
  const RecordedTable* table = &root;
  while (table != nullptr && !path.empty()) {
    const std::string_view name = path.substr(0, path.find('.'));
    const auto found = std::find_if(table->tables.begin(), table->tables.end(),
                                    [&](const auto& inner) { return inner->name == name; });
    table = found != table->tables.end() ? found->get() : nullptr;
    path.remove_prefix(std::min(path.size(), name.size() + 1));
  }
  return table;
}

std::string condition_of(const RecordedTable& table, std::string_view key) {
  std::string conditions;
  const auto add = [&](const std::string& name, const std::string& condition) {
    if (name != key || condition.empty()) return;
    conditions += (conditions.empty() ? "" : ", or ") + condition;
  };
  for (const RecordedSetting& setting : table.settings)
    add(setting.name, setting.condition);
  for (const auto& inner : table.tables)
    add(inner->name, inner->condition);
  std::erase(conditions, '`');
  return conditions;
}

std::vector<std::string> tables_with(const RecordedTable& root, std::string_view key) {
  std::vector<std::string> headings;
  add_tables_with(root, key, "", headings);
  return headings;
}

std::string toml_literal(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::string result(text, end);
  if (result.find_first_of(".en") == std::string::npos) result += ".0";  // neither inf nor nan
  return result;
}

std::string toml_literal(bool value) {
  return value ? "true" : "false";
}

std::string dump(const RecordedTable& root) {
  std::string text;
  dump(root, "", text);
  return text;
}

std::string describe(const RecordedTable& root) {
  std::string text;
  for (const auto& table : root.tables)
    describe(*table, table->name, text);
  return text;
}

std::string toml_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04X", static_cast<unsigned>(byte));
      result += escaped;
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string toml_text(const std::vector<std::string>& texts) {
  std::string result = "[";
  for (const std::string& text : texts)
    result += (result.size() > 1 ? ", " : "") + toml_text(text);
  return result + "]";
}

}  // namespace prophecy
