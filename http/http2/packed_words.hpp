// Memory in a compact form: of each word the bytes that are not zero, of many zero words in a row
// their number (Cap'n Proto's packing). What pointers, counters and sparse tables lie in takes a
// fraction of its size so, and text a little more than its own.
//
//   packed: (tag, bytes)*        a tag's bit n: the word's byte n is there
//           tag 0x00 ~ count     that many more zero words
//           tag 0xff ~ count     that many more words follow as they are
//
// Words that occur often change places with others of few bytes first (WordSwap).
//
// No I/O; `unpack_words` is for what `pack_words` made in this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace prophecy::http {

// A range of words, and one word beside it, change places with words that hardly occur: a pointer
// into the range becomes its offset and one byte more. The same function goes back.
class WordSwap {
 public:
  WordSwap() = default;
  // REQUIRES: all of these words are below kRangeOther, as addresses are; `word` is not in the
  // range.
  WordSwap(std::uint64_t range, std::uint64_t size, std::uint64_t word)
      : range_(range), size_(size), word_(word) {}

  [[nodiscard]] std::uint64_t operator()(std::uint64_t word) const {
    if (word - range_ < size_) return word - range_ + kRangeOther;
    if (word == word_) return kWordOther;
    if (word < kRangeOther) return word;
    if (word - kRangeOther < size_) return word - kRangeOther + range_;
    return word == kWordOther ? word_ : word;
  }

 private:
  static constexpr std::uint64_t kRangeOther = std::uint64_t{1} << 56;
  static constexpr std::uint64_t kWordOther = std::uint64_t{2} << 56;

  std::uint64_t range_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t word_ = kWordOther;  // none
};

// Appends to `out`. REQUIRES: `memory` is a number of words of 8 bytes.
void pack_words(std::span<const std::byte> memory, const WordSwap& swap, std::string& out);
// REQUIRES: `memory` is as large as what was packed, and all zero: zeros are not written.
void unpack_words(std::string_view packed, const WordSwap& swap, std::span<std::byte> memory);

}  // namespace prophecy::http
