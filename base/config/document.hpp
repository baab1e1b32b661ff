// `Document` is the TOML of one file. A syntax error in one statement does not hide what else is
// wrong: the statement is noted and left out, and the rest is read. What a second table of one name
// holds is read as well, as if it stood in the first one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

namespace prophecy {

struct Mistake {
  std::size_t line = 1;
  std::size_t column = 1;
  std::string text;  // "KEY: expected ..., found ..."
};

struct Document {
  toml::table table;
  std::vector<Mistake> mistakes;
  // Names of keys whose lines were left out: they are not missing.
  std::set<std::string, std::less<>> lost_keys;
  // The name of a table is unknown, and so is what it holds: nothing is missing.
  bool has_lost_table = false;
  // Whole numbers of more than 64 bits, or with zeros in front, as they are written, by their
  // lines. `table` has a time in the place of each, which no setting takes.
  std::map<std::size_t, std::string> odd_numbers;
  // What was left out may be anything, so that only `mistakes` can be relied on.
  bool is_broken = false;
};

[[nodiscard]] Document parse_document(std::string_view text);

}  // namespace prophecy
