// `Lines` reads the texts of the ring's nodes (view.hpp, agreed_settings.hpp) for their decoders:
// line by line, and each line word by word.
//
// The first mistake stays, with the number of its line. Reading on behind it yields empty words and
// zeros, so that a decoder asks once, at its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace prophecy::dht {

class Lines {
 public:
  // A longer text is a mistake. Views of it are handed out.
  Lines(std::string_view text, std::size_t bytes_max);

  // The next line.
  void line();
  // Likewise; it begins with this word, which is taken.
  void line(std::string_view name);

  // The line's next word, which is missing by mistake only.
  [[nodiscard]] std::string_view word();
  // All that is left of the line; it may be nothing.
  [[nodiscard]] std::string_view rest_of_line();
  [[nodiscard]] bool has_word() const { return !error_ && !words_.empty(); }
  // The next word is a number within these bounds.
  [[nodiscard]] std::uint64_t number(std::uint64_t least, std::uint64_t most, int base = 10);

  void fail(std::string what);
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  // At the end.
  [[nodiscard]] std::optional<Error> error();

 private:
  std::string_view rest_;
  std::string_view words_;
  std::size_t number_ = 0;
  std::optional<Error> error_;
};

}  // namespace prophecy::dht
