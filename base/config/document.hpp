// `Document` is the TOML of one file. A syntax error in one line does not hide what else is wrong:
// the line is noted and left out, and the rest is read.
#pragma once

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
  // Tables that stand in place of second ones of one name; nothing in them is looked at.
  std::set<std::string, std::less<>> ignored_tables;
  // What was left out may be anything, so that only `mistakes` can be relied on.
  bool is_broken = false;
};

[[nodiscard]] Document parse_document(std::string_view text);

}  // namespace prophecy
