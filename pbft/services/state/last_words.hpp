// `LastWords` keeps the end of what a program has written to its standard error, for the log.
#pragma once

#include <cstddef>
#include <string>

namespace prophecy::pbft {

class LastWords {
 public:
  // Reads what is there, but no more than kBytesAtOnceMax: a program that writes faster than it is
  // read must not hide its deadline from its caller. False at the end of it. Requires a descriptor
  // that does not block.
  [[nodiscard]] bool take(int fd);
  // The last kBytesMax of it, in one line.
  [[nodiscard]] std::string text() const;

  static constexpr std::size_t kBytesMax = 1000;
  static constexpr std::size_t kBytesAtOnceMax = 64 * 1024;

 private:
  std::string last_;
};

}  // namespace prophecy::pbft
