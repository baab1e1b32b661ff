// The Date field's value, formatted once a second.
#pragma once

#include <array>
#include <ctime>
#include <string_view>

namespace prophecy::sketcher {

class DateCache {
 public:
  // IMF-fixdate of this second (RFC 9110, 5.6.7). Valid until the next call.
  [[nodiscard]] std::string_view now();

 private:
  std::time_t second_ = -1;
  std::array<char, 32> text_{};
  std::size_t size_ = 0;
};

}  // namespace prophecy::sketcher
