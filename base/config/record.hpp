// `RecordedTable` keeps what readers asked a ConfigFile for, with what they got: the schema of the
// file, and the configuration in effect.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/key.hpp"

namespace prophecy {

struct RecordedSetting {
  std::string name;
  std::string help;
  std::string type;           // "size", "time", "number" ...
  std::string bounds;         // "1 to 64"; "" for none
  std::string default_value;  // as the file would have it, or in words; "" when it is required
  std::string condition;      // `kind = "vote"`; "" for none
  Reload reload = Reload::restart;
  std::string value;  // in effect, as TOML; "" when there is none
};

struct RecordedTable {
  std::string name;  // of the last part alone; "" for the whole file
  std::string help;
  std::string condition;
  bool is_list = false;  // one of [[name]]
  std::vector<RecordedSetting> settings;
  std::vector<std::unique_ptr<RecordedTable>> tables;  // those of a list side by side
  std::vector<std::string> lists;                      // of tables, there may be none in

  // The setting of that name under that condition, made when there is none.
  RecordedSetting& setting(std::string_view key, std::string_view when);
  // The table of that name, or the one at that place of a list, made when there is none.
  RecordedTable& table(const Key& key, bool list, std::size_t place);
  // The names of its settings and its tables, each once.
  [[nodiscard]] std::vector<std::string> names() const;
};

// The table of that path, "group.health", below this one; null when there is none.
[[nodiscard]] const RecordedTable* table_at(const RecordedTable& root, std::string_view path);
// `kind is "vote"` for a key of that table which is read under such a condition alone; "".
[[nodiscard]] std::string condition_of(const RecordedTable& table, std::string_view key);
// "[table]" or "[[table]]" of each one below `root` that has such a key.
[[nodiscard]] std::vector<std::string> tables_with(const RecordedTable& root, std::string_view key);

// The configuration in effect, as TOML that reads as the same configuration.
[[nodiscard]] std::string dump(const RecordedTable& root);

// The schema, as TOML: a [[table]] for each table, and below it a [[table.setting]] for each
// setting, with the members of RecordedSetting.
[[nodiscard]] std::string describe(const RecordedTable& root);

// `text` as a string of TOML, with its quotes.
[[nodiscard]] std::string toml_text(std::string_view text);
[[nodiscard]] std::string toml_text(const std::vector<std::string>& texts);
[[nodiscard]] std::string toml_literal(double value);
[[nodiscard]] std::string toml_literal(bool value);

}  // namespace prophecy
