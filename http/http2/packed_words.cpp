#include "http/http2/packed_words.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "base/assert.hpp"

namespace prophecy::http {
namespace {

constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
constexpr std::uint8_t kWholeWord = 0xff;
// Its tag, its bytes, and the count of a run that begins with it.
constexpr std::size_t kPackedWordBytesMax = 1 + kWordBytes + 1;
// As many words as the byte behind a tag can count.
constexpr std::size_t kRunWordsMax = 255;

// Each byte's lowest bit says whether any of its bits was set; the product gathers these bits.
std::uint8_t tag_of(std::uint64_t word) {
  word |= word >> 4;
  word |= word >> 2;
  word |= word >> 1;
  return static_cast<std::uint8_t>((word & 0x0101010101010101U) * 0x0102040810204080U >> 56);
}

// A word with more zero bytes takes less when it is packed by itself.
bool is_kept_whole(std::uint64_t word) {
  return std::popcount(tag_of(word)) + 1U >= kWordBytes;
}

char* put_bytes(std::uint64_t word, std::uint8_t tag, char* out) {
  for (unsigned left = tag; left != 0; left &= left - 1)
    *out++ = static_cast<char>(word >> (8 * std::countr_zero(left)));
  return out;
}

std::uint8_t take_byte(std::string_view& packed) {
  ASSERT(!packed.empty());
  const auto byte = static_cast<std::uint8_t>(packed.front());
  packed.remove_prefix(1);
  return byte;
}

std::uint64_t take_word(std::uint8_t tag, std::string_view& packed) {
  std::uint64_t word = 0;
  ASSERT(packed.size() >= static_cast<std::size_t>(std::popcount(tag)));
  const char* next = packed.data();
  for (unsigned left = tag; left != 0; left &= left - 1)
    word |= std::uint64_t{static_cast<std::uint8_t>(*next++)} << (8 * std::countr_zero(left));
  packed.remove_prefix(static_cast<std::size_t>(next - packed.data()));
  return word;
}

}  // namespace

void pack_words(std::span<const std::byte> memory, const WordSwap& swap, std::string& out) {
  ASSERT(memory.size() % kWordBytes == 0);
  const std::size_t words = memory.size() / kWordBytes;
  const auto word_at = [&](std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory.data() + at * kWordBytes, kWordBytes);
    return word;
  };
  const std::size_t size_before = out.size();
  out.resize(size_before + words * kPackedWordBytesMax);
  char* end = out.data() + size_before;
  for (std::size_t at = 0; at < words;) {
    const std::uint64_t word = swap(word_at(at++));
    const std::uint8_t tag = tag_of(word);
    *end++ = static_cast<char>(tag);
    end = put_bytes(word, tag, end);
    if (tag != 0 && tag != kWholeWord) continue;
    const std::size_t run_max = std::min(words, at + kRunWordsMax);
    char* const count = end++;
    const std::size_t begin = at;
    // (No other word changes places with zero.)
    if (tag == 0) {
      while (at < run_max && word_at(at) == 0)
        ++at;
    } else {
      for (; at < run_max && is_kept_whole(swap(word_at(at))); ++at)
        end = put_bytes(swap(word_at(at)), kWholeWord, end);
    }
    *count = static_cast<char>(at - begin);
  }
  out.resize(static_cast<std::size_t>(end - out.data()));
}

void unpack_words(std::string_view packed, const WordSwap& swap, std::span<std::byte> memory) {
  const auto put = [&](std::uint64_t word) {
    ASSERT(memory.size() >= kWordBytes);
    word = swap(word);
    if (word != 0) std::memcpy(memory.data(), &word, kWordBytes);
    memory = memory.subspan(kWordBytes);
  };
  while (!memory.empty()) {
    const std::uint8_t tag = take_byte(packed);
    put(take_word(tag, packed));
    if (tag != 0 && tag != kWholeWord) continue;
    const std::size_t run = take_byte(packed);
    if (tag == 0) {
      ASSERT(run * kWordBytes <= memory.size());
      memory = memory.subspan(run * kWordBytes);
    } else {
      for (std::size_t i = 0; i < run; ++i)
        put(take_word(kWholeWord, packed));
    }
  }
  ASSERT(packed.empty());
}

}  // namespace prophecy::http
