// `UrlTable` numbers URLs from 0 on. A URL costs its own bytes and about 30 more.
//
// For one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prophecy::measurement {

using UrlNumber = std::uint32_t;

class UrlTable {
 public:
  UrlTable();

  [[nodiscard]] UrlNumber number_of(std::string_view url);
  // Valid until the next number_of().
  [[nodiscard]] std::string_view text_of(UrlNumber number) const;
  [[nodiscard]] std::size_t size() const { return ends_.size() - 1; }

 private:
  void grow();

  std::vector<char> text_;              // one behind the other
  std::vector<std::uint64_t> ends_;     // of each, behind a zero
  std::vector<std::uint64_t> digests_;  // of each
  std::vector<UrlNumber> slots_;        // by digest; a power of two of them, at most half taken
};

}  // namespace prophecy::measurement
