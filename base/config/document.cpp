#include "base/config/document.hpp"

#include <algorithm>

namespace prophecy {
namespace {

constexpr std::size_t kMistakesMax = 64;

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

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

// "limits.body" of "limits.body = 1"; "" when the line does not begin so.
std::string_view key_of(std::string_view line) {
  const std::string_view key = trimmed(line.substr(0, line.find('=')));
  const bool is_key = line.find('=') != std::string_view::npos && !key.empty() &&
                      std::all_of(key.begin(), key.end(), [](unsigned char c) {
                        return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
                      });
  return is_key ? key : std::string_view();
}

// "limits" of "[limits]" and "[[limits]]"; "" for what is no heading.
std::string_view heading_of(std::string_view line) {
  line = trimmed(line.substr(0, line.find('#')));
  const bool is_list = line.starts_with("[[") && line.ends_with("]]");
  if (!is_list && !(line.starts_with("[") && line.ends_with("]"))) return {};
  const std::size_t brackets = is_list ? 2 : 1;
  return trimmed(line.substr(brackets, line.size() - 2 * brackets));
}

// "limits." for what stands below "[limits]"; "" above all headings.
std::string table_of(const std::vector<std::string>& lines, std::size_t number) {
  for (std::size_t i = std::min(number, lines.size()); i > 0; --i) {
    const std::string_view heading = heading_of(lines[i - 1]);
    if (!heading.empty()) return std::string(heading) + ".";
  }
  return {};
}

bool is_redefinition(std::string_view description) {
  return description.find("redefine") != std::string_view::npos;
}

// toml++ begins with what it was doing, "Error while parsing key-value pair: ".
std::string cause(std::string_view description) {
  const std::size_t colon = description.find(": ");
  if (description.starts_with("Error") && colon != std::string_view::npos)
    description.remove_prefix(colon + 2);
  return std::string(description);
}

// Notes the error, and takes its line out of `lines`. False when nothing can be said of the rest.
bool leave_out(const toml::parse_error& error, std::vector<std::string>& lines,
               Document& document) {
  const std::size_t number = std::max<std::size_t>(1, error.source().begin.line);
  const std::size_t column = std::max<std::size_t>(1, error.source().begin.column);
  const auto note = [&](std::size_t at, const std::string& text) {
    document.mistakes.push_back({number, at, text});
  };
  std::string& line = lines[std::min(number, lines.size()) - 1];
  const bool again = is_redefinition(error.description());
  const std::size_t start = line.find_first_not_of(" \t") + 1;
  if (const std::string heading(heading_of(line)); !heading.empty() && again) {
    const std::string written(trimmed(line.substr(0, line.find('#'))));
    note(start, heading +
                    ": expected one table or one list of tables of this name, found another "
                    "\"" +
                    written + "\"");
    const std::string stand_in = "left-out-" + std::to_string(number);
    document.ignored_tables.insert(stand_in);
    line = "[" + stand_in + "]";
    return true;
  }
  if (const std::string key(key_of(line)); !key.empty()) {
    const std::string path = table_of(lines, number) + key;
    if (again) {
      note(start, path + ": expected this key once, found it again");
    } else {
      note(column, path + ": expected a value of TOML (a text stands in quotes), found \"" +
                       std::string(trimmed(line.substr(line.find('=') + 1))) + "\"");
      document.lost_keys.insert(key.substr(key.rfind('.') + 1));
    }
    line.clear();
    return true;
  }
  note(column, "expected TOML, found \"" + std::string(trimmed(line)) +
                   "\": " + cause(error.description()));
  document.is_broken = true;
  return false;
}

}  // namespace

Document parse_document(std::string_view text) {
  Document document;
  std::vector<std::string> lines = split(text);
  while (document.mistakes.size() < kMistakesMax) {
    try {
      document.table = toml::parse(joined(lines));
      return document;
    } catch (const toml::parse_error& error) {
      if (!leave_out(error, lines, document)) return document;
    }
  }
  document.is_broken = true;
  return document;
}

}  // namespace prophecy
