#include "base/config/document.hpp"

#include <algorithm>
#include <cstdio>

#include "base/config/printable.hpp"
#include "base/config/statement.hpp"

namespace prophecy {
namespace {

constexpr std::size_t kMistakesMax = 64;
// Of a key or a heading. Together with the parser's own limit on tables within tables, it bounds
// the depth of the document, which is left by recursion.
constexpr std::size_t kNamesMax = 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines)
    text += line + '\n';
  return text;
}

std::string in_quotes(std::string_view text) {
  return '"' + shortened(trimmed(text), kFoundBytesMax) + '"';
}

std::size_t first_column(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos ? 1 : first + 1;
}

// A line that no value goes on in.
bool begins_a_statement(std::string_view line) {
  return !key_of(line).empty() || !heading_of(line).empty();
}

// Parses a text again and again, and takes a statement with an error out of it each time.
class Recovery {
 public:
  explicit Recovery(std::string_view text) : lines_(split(text)) {}

  Document parse();

 private:
  void leave_out_other_encodings();
  void leave_out_deep_names();
  void leave_out(const toml::parse_error& error);
  // The number of the error's line, from 0, and the column, from 1.
  void leave_out_heading(std::size_t number, std::size_t column);
  // The parser may be beyond the heading whose name, in the description, it does not take.
  [[nodiscard]] std::size_t heading_before(std::size_t number, std::string_view description) const;
  void leave_out_repetition(const Statement& statement, bool of_a_table);
  [[nodiscard]] bool leave_out_number(std::size_t number, std::size_t column);
  void leave_out_line(std::size_t number, std::size_t column);
  void leave_out_lines(const Statement& statement, std::size_t number, std::size_t column);
  // In place of a heading: the tables below it are those of `path`, or of no known one.
  void replace_heading(std::size_t number, std::string path);
  void take_up(const std::string& stand_in, std::size_t number, const std::string& path);
  toml::table* table_at(const std::string& path, std::size_t number);

  void note(std::size_t number, std::size_t column, std::string text) {
    document_.mistakes.push_back({number + 1, column, std::move(text)});
  }
  void lose(const std::string& key) { document_.lost_keys.insert(key.substr(key.rfind('.') + 1)); }

  struct Second {
    std::size_t number = 0;
    std::string path;
  };

  std::vector<std::string> lines_;
  Document document_;
  std::vector<Second> seconds_;  // tables
};

// No name that a file can have in plain sight.
std::string stand_in_for(std::size_t number) {
  return "\001" + std::to_string(number);
}

Document Recovery::parse() {
  leave_out_other_encodings();
  leave_out_deep_names();
  while (!document_.is_broken) {
    try {
      document_.table = toml::parse(joined(lines_));
      break;
    } catch (const toml::parse_error& error) {
      leave_out(error);
    }
  }
  for (const Second& second : seconds_)
    take_up(stand_in_for(second.number), second.number, second.path);
  return std::move(document_);
}

void Recovery::replace_heading(std::size_t number, std::string path) {
  seconds_.push_back({number, std::move(path)});
  lines_[number] = "[\"\\u0001" + std::to_string(number) + "\"]";
}

void Recovery::leave_out_other_encodings() {
  if (lines_.front().starts_with("\xFF\xFE") || lines_.front().starts_with("\xFE\xFF")) {
    note(0, 1, "expected a file in UTF-8, found UTF-16");
    document_.is_broken = true;
    return;
  }
  for (std::size_t i = 0; i < lines_.size() && document_.mistakes.size() < kMistakesMax; ++i) {
    std::string& line = lines_[i];
    const std::size_t good = utf8_bytes(line);
    if (good == line.size()) continue;
    const std::string key = key_of(line);
    if (!key.empty()) lose(key);
    char byte[8];
    std::snprintf(byte, sizeof byte, "0x%02X", static_cast<unsigned char>(line[good]));
    note(i, good + 1,
         (key.empty() ? "" : table_of(lines_, i) + key + ": ") +
             "expected a file in UTF-8, found the byte " + byte);
    const Statement statement = statement_around(lines_, i);
    if (statement.first == statement.last) {
      line.clear();
    } else {
      std::replace_if(
          line.begin(), line.end(), [](char c) { return (c & 0x80) != 0; }, '?');
    }
  }
}

void Recovery::leave_out_deep_names() {
  const std::vector<std::size_t> names = names_in_a_row(lines_);
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (names[i] <= kNamesMax) continue;
    note(i, first_column(lines_[i]),
         "expected at most " + std::to_string(kNamesMax) + " names with dots between them, found " +
             std::to_string(names[i]));
    document_.has_lost_table = true;
    if (trimmed(lines_[i]).starts_with('[')) {
      replace_heading(i, "");
    } else {
      lines_[i].clear();
    }
  }
}

void Recovery::leave_out(const toml::parse_error& error) {
  const auto place = error.source().begin;
  const std::size_t number = std::min<std::size_t>(std::max(1U, place.line), lines_.size()) - 1;
  const std::size_t column = std::max(1U, place.column);
  constexpr std::size_t npos = std::string_view::npos;
  const std::string_view description = error.description();
  const bool of_heading = description.find("table header") != npos;
  const bool again = description.find("redefine") != npos ||
                     (of_heading && description.find("inline table") != npos);
  const Statement statement =
      statement_around(lines_, again && of_heading ? heading_before(number, description) : number);
  if (document_.mistakes.size() + document_.odd_numbers.size() >= kMistakesMax) {
    note(number, column, "expected TOML, found too many errors to read on");
    document_.is_broken = true;
  } else if (again) {
    leave_out_repetition(statement, description.find("existing table") != npos ||
                                        description.find("existing array") != npos);
  } else if (statement.first != statement.last) {
    leave_out_lines(statement, number, column);
  } else if (trimmed(lines_[number]).empty()) {
    note(number, column, "expected TOML, found \"" + std::string(description) + "\"");
    document_.is_broken = true;
  } else if (trimmed(lines_[number]).starts_with('[')) {
    leave_out_heading(number, column);
  } else {
    leave_out_line(number, column);
  }
}

void Recovery::leave_out_heading(std::size_t number, std::size_t column) {
  std::string& line = lines_[number];
  note(number, column, "expected a heading such as [table] or [[list]], found " + in_quotes(line));
  // With its brackets set right, its table has the right name.
  const bool is_list = trimmed(line).starts_with("[[");
  std::string name(trimmed(line.substr(0, line.find('#'))));
  std::erase_if(name, [](char c) { return c == '[' || c == ']'; });
  const std::string heading = is_list ? "[[" + name + "]]" : "[" + name + "]";
  if (heading != trimmed(line) && !heading_of(heading).empty()) {
    line = heading;
    return;
  }
  document_.has_lost_table = true;
  replace_heading(number, "");
}

std::size_t Recovery::heading_before(std::size_t number, std::string_view description) const {
  const std::size_t quote = std::min(description.find('\''), description.size());
  const std::string_view named = description.substr(quote);
  for (std::size_t i = number + 1; i > 0; --i) {
    const std::string heading = heading_of(lines_[i - 1]);
    if (!heading.empty() && named.starts_with('\'' + heading + '\'')) return i - 1;
  }
  return number;
}

void Recovery::leave_out_repetition(const Statement& statement, bool of_a_table) {
  const std::size_t number = statement.first;
  std::string& line = lines_[number];
  const std::string heading = heading_of(line);
  if (heading.empty()) {
    const std::string key = key_of(line);
    note(number, first_column(line),
         table_of(lines_, number) + key + ": expected this key once, found it again");
    for (std::size_t i = statement.first; i <= statement.last; ++i)
      lines_[i].clear();
    return;
  }
  note(number, first_column(line),
       heading +
           (of_a_table ? ": expected one table or one list of tables of this name, found another "
                       : ": expected a heading whose names are not those of values, found ") +
           in_quotes(line.substr(0, line.find('#'))));
  replace_heading(number, trimmed(line).starts_with("[[") ? "" : heading);
}

// Its setting's reader says what is allowed.
bool Recovery::leave_out_number(std::size_t number, std::size_t column) {
  std::string& line = lines_[number];
  const std::size_t equals = line.find('=');
  const std::string value(trimmed(line.substr(equals + 1, line.find('#') - (equals + 1))));
  if (column <= equals + 1 || !is_whole_number(value)) return false;
  document_.odd_numbers.emplace(number + 1, shortened(value, kFoundBytesMax));
  line = line.substr(0, line.find(value, equals)) + "00:00:00";
  return true;
}

void Recovery::leave_out_line(std::size_t number, std::size_t column) {
  std::string& line = lines_[number];
  if (const std::string key = key_of(line); !key.empty()) {
    if (leave_out_number(number, column)) return;
    note(number, column,
         table_of(lines_, number) + key +
             ": expected a TOML value (strings stand in quotes), found " +
             in_quotes(line.substr(line.find('=') + 1)));
    lose(key);
  } else {
    note(number, column, "expected a heading, or KEY = VALUE, found " + in_quotes(line));
    // "key: value", perhaps.
    const std::string_view text = trimmed(line);
    lose(std::string(text.substr(0, text.find_first_of(" \t:=\"'"))));
  }
  line.clear();
}

void Recovery::leave_out_lines(const Statement& statement, std::size_t number, std::size_t column) {
  const std::string& first = lines_[statement.first];
  const std::string key = key_of(first);
  const std::string name = key.empty() ? "" : table_of(lines_, statement.first) + key + ": ";
  lose(key);
  std::size_t end = statement.first + 1;  // behind what is left out
  while (end <= statement.last && end < lines_.size() && !begins_a_statement(lines_[end]))
    ++end;
  if (!statement.is_closed || end <= statement.last) {
    const std::size_t value = first.find_first_not_of(" \t", first.find('=') + 1);
    note(statement.first, value == std::string::npos ? 1 : value + 1,
         name + "expected the end of this value, found " +
             (end < lines_.size() ? in_quotes(lines_[end]) + " in line " + std::to_string(end + 1)
                                  : std::string("the end of the file")));
  } else {
    note(number, column,
         name + "expected a TOML value (strings stand in quotes), found " +
             in_quotes(lines_[number]));
  }
  for (std::size_t i = statement.first; i < end; ++i)
    lines_[i].clear();
}

// Keys below a second heading are checked as if they stood below the first one.
void Recovery::take_up(const std::string& stand_in, std::size_t number, const std::string& path) {
  toml::node* node = document_.table.get(stand_in);
  toml::table* second = node != nullptr ? node->as_table() : nullptr;
  toml::table* first = path.empty() ? nullptr : table_at(path, number);
  if (second != nullptr && first != nullptr) {
    for (auto&& [key, value] : *second) {
      if (!first->contains(key.str())) {
        first->insert(key, std::move(value));
        continue;
      }
      const auto place = key.source().begin;
      document_.mistakes.push_back(
          {place.line, place.column,
           path + "." + std::string(key.str()) + ": expected this key once, found it again"});
    }
  }
  if (node != nullptr) document_.table.erase(stand_in);
}

// In a list, this is the last table above that line.
toml::table* Recovery::table_at(const std::string& path, std::size_t number) {
  toml::node* node = &document_.table;
  for (std::size_t begin = 0; node != nullptr && begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    toml::table* table = node->as_table();
    node = table != nullptr ? table->get(path.substr(begin, end - begin)) : nullptr;
    toml::array* list = node != nullptr ? node->as_array() : nullptr;
    if (list != nullptr && end == path.size()) return nullptr;  // a table in place of a list
    if (list != nullptr) {
      node = nullptr;
      for (toml::node& each : *list)
        if (each.source().begin.line <= number) node = &each;
    }
    begin = end + 1;
  }
  return node != nullptr ? node->as_table() : nullptr;
}

}  // namespace

Document parse_document(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return Recovery(text).parse();
}

}  // namespace prophecy
