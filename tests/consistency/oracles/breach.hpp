// `Breach` keeps the first breach that an oracle of a run has found, as text.
#pragma once

#include <optional>
#include <string>

namespace prophecy::consistency {

class Breach {
 public:
  void note(std::string what) {
    if (!first_) first_ = std::move(what);
  }
  [[nodiscard]] const std::optional<std::string>& first() const { return first_; }

 private:
  std::optional<std::string> first_;
};

}  // namespace prophecy::consistency
