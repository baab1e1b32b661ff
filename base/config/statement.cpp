#include "base/config/statement.hpp"

#include <algorithm>
#include <cctype>

namespace prophecy {
namespace {

bool is_name_character(unsigned char c) {
  return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
}

// "limits.body" of `limits."body"`; "" for what is no name.
std::string name_of(std::string_view text) {
  std::string name;
  for (const char c : trimmed(text)) {
    if (c == '"' || c == '\'') continue;
    if (!is_name_character(static_cast<unsigned char>(c))) return {};
    name += c;
  }
  return name;
}

// Brackets and quotes that are open at the end of a line.
class Nesting {
 public:
  [[nodiscard]] bool is_open() const { return depth_ > 0 || !quote_.empty(); }
  // The longest row of names on the last line.
  [[nodiscard]] std::size_t names_in_a_row() const { return names_max_; }

  void read(std::string_view line) {
    names_ = names_max_ = 1;
    if (!is_open() && trimmed(line).starts_with('[')) {  // a heading
      names_max_ += static_cast<std::size_t>(std::count(line.begin(), line.end(), '.'));
      return;
    }
    for (std::size_t at = 0; at < line.size();) {
      if (quote_.empty() && line[at] == '#') break;
      at = quote_.empty() ? outside(line, at) : inside(line, at);
    }
    if (quote_.size() == 1) quote_.clear();  // ends with its line, or is an error
  }

 private:
  std::size_t outside(std::string_view line, std::size_t at) {
    const char c = line[at];
    if (c == '"' || c == '\'') {
      const std::string three(3, c);
      quote_ = line.substr(at).starts_with(three) ? three : std::string(1, c);
      return at + quote_.size();
    }
    if (c == '[' || c == '{') ++depth_;
    if ((c == ']' || c == '}') && depth_ > 0) --depth_;
    if (c == '.') names_max_ = std::max(names_max_, ++names_);
    if (std::string_view("=,[]{}").find(c) != std::string_view::npos) names_ = 1;
    return at + 1;
  }

  std::size_t inside(std::string_view line, std::size_t at) {
    if (line[at] == '\\' && quote_.front() == '"') return at + 2;
    if (!line.substr(at).starts_with(quote_)) return at + 1;
    std::size_t end = at + quote_.size();
    // Up to two quotes in front of the closing three are part of the string.
    for (int more = 0; more < 2 && quote_.size() == 3 && end < line.size(); ++more)
      end += line[end] == quote_.front() ? 1 : 0;
    quote_.clear();
    return end;
  }

  std::size_t depth_ = 0;
  std::size_t names_ = 1;
  std::size_t names_max_ = 1;
  std::string quote_;
};

}  // namespace

Statement statement_around(const std::vector<std::string>& lines, std::size_t number) {
  Nesting nesting;
  Statement statement;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!nesting.is_open()) {
      if (i > number) break;
      statement.first = i;
    }
    nesting.read(lines[i]);
    statement.last = i;
  }
  statement.is_closed = !nesting.is_open();
  return statement;
}

std::vector<std::size_t> names_in_a_row(const std::vector<std::string>& lines) {
  Nesting nesting;
  std::vector<std::size_t> counts;
  for (const std::string& line : lines) {
    nesting.read(line);
    counts.push_back(nesting.names_in_a_row());
  }
  return counts;
}

bool is_whole_number(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isdigit(c) != 0 || c == '_';
  });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

std::string key_of(std::string_view line) {
  const std::size_t equals = line.find('=');
  return equals == std::string_view::npos ? std::string() : name_of(line.substr(0, equals));
}

std::string heading_of(std::string_view line) {
  line = trimmed(line.substr(0, line.find('#')));
  const bool is_list = line.starts_with("[[") && line.ends_with("]]");
  if (!is_list && !(line.starts_with("[") && line.ends_with("]"))) return {};
  const std::size_t brackets = is_list ? 2 : 1;
  return name_of(line.substr(brackets, line.size() - 2 * brackets));
}

std::string table_of(const std::vector<std::string>& lines, std::size_t number) {
  for (std::size_t i = std::min(number, lines.size()); i > 0; --i) {
    const std::string heading = heading_of(lines[i - 1]);
    if (!heading.empty()) return heading + ".";
  }
  return {};
}

}  // namespace prophecy
