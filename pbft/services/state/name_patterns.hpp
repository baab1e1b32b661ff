// Patterns of file names, as a shell has them: `*`, `?`, `[...]`. One without a slash is about the
// last name of a path, at any depth; one with a slash about the whole path below the folder. `*`
// matches slashes too: "static/*" is everything below static.
#pragma once

#include <string>
#include <vector>

namespace prophecy::pbft {

class NamePatterns {
 public:
  explicit NamePatterns(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}

  // `path` is relative to the folder.
  [[nodiscard]] bool match(const std::string& path) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace prophecy::pbft
