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
// As many words as the byte behind a tag can count.
constexpr std::size_t kRunWordsMax = 255;

std::uint8_t tag_of(std::uint64_t word) {
  unsigned tag = 0;
  for (std::size_t i = 0; i < kWordBytes; ++i)
    tag |= ((word >> (8 * i) & 0xffU) != 0 ? 1U : 0U) << i;
  return static_cast<std::uint8_t>(tag);
}

// A word with more zero bytes takes less when it is packed by itself.
bool is_kept_whole(std::uint64_t word) {
  return std::popcount(tag_of(word)) + 1U >= kWordBytes;
}

void append_bytes(std::uint64_t word, std::uint8_t tag, std::string& out) {
  for (std::size_t i = 0; i < kWordBytes; ++i) {
    if ((tag >> i & 1U) != 0) out.push_back(static_cast<char>(word >> (8 * i)));
  }
}

std::uint8_t take_byte(std::string_view& packed) {
  ASSERT(!packed.empty());
  const auto byte = static_cast<std::uint8_t>(packed.front());
  packed.remove_prefix(1);
  return byte;
}

std::uint64_t take_word(std::uint8_t tag, std::string_view& packed) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kWordBytes; ++i) {
    if ((tag >> i & 1U) != 0) word |= std::uint64_t{take_byte(packed)} << (8 * i);
  }
  return word;
}

}  // namespace

void pack_words(std::span<const std::byte> memory, const WordSwap& swap, std::string& out) {
  ASSERT(memory.size() % kWordBytes == 0);
  const std::size_t words = memory.size() / kWordBytes;
  const auto word_at = [&](std::size_t at) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory.data() + at * kWordBytes, kWordBytes);
    return swap(word);
  };
  for (std::size_t at = 0; at < words;) {
    const std::uint64_t word = word_at(at++);
    const std::uint8_t tag = tag_of(word);
    out.push_back(static_cast<char>(tag));
    append_bytes(word, tag, out);
    if (tag != 0 && tag != kWholeWord) continue;
    const std::size_t run_end = std::min(words, at + kRunWordsMax);
    std::size_t end = at;
    while (end < run_end && (tag == 0 ? word_at(end) == 0 : is_kept_whole(word_at(end))))
      ++end;
    out.push_back(static_cast<char>(end - at));
    for (; at < end; ++at) {
      if (tag != 0) append_bytes(word_at(at), kWholeWord, out);
    }
  }
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
