// A bucket's fingerprints compared with one, all at once. Most of what a lookup does: the fewer
// instructions it takes, the more lookups has the processor under way while it waits for memory.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "history_table/layout.hpp"

namespace prophecy::table {

using FingerprintWords = decltype(Bucket::fingerprints);

// A bit for each slot with this fingerprint. For any machine.
inline unsigned equal_fingerprints_portable(const FingerprintWords& words,
                                            std::uint32_t fingerprint) {
  constexpr Word kTops = Word{1} << 63 | Word{1} << 31;  // of a word's two
  const Word wanted = Word{fingerprint} << 32 | fingerprint;
  const auto equal = [&](std::size_t w) {
    const Word other = words[w] ^ wanted;
    return ~(((other & ~kTops) + ~kTops) | other) & kTops;
  };
  // Of slots 0, 2, 4, 6; and 32 places on, of 1, 3, 5, 7.
  const Word slots = equal(0) >> 31 | equal(1) >> 29 | equal(2) >> 27 | equal(3) >> 25;
  return static_cast<unsigned>(slots | slots >> 31) & 0xff;
}

// The same.
[[gnu::always_inline]] inline unsigned equal_fingerprints(const FingerprintWords& words,
                                                          std::uint32_t fingerprint) {
#if defined(__SSE2__)
  // Word by word into the registers: a vector loaded from where these words were just stored would
  // have to wait for the stores.
  const auto two = [](Word first, Word second) {
    return _mm_set_epi64x(static_cast<long long>(second), static_cast<long long>(first));
  };
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(fingerprint));
  const __m128i low = _mm_cmpeq_epi32(two(words[0], words[1]), wanted);
  const __m128i high = _mm_cmpeq_epi32(two(words[2], words[3]), wanted);
  const __m128i all = _mm_packs_epi16(_mm_packs_epi32(low, high), _mm_setzero_si128());
  return static_cast<unsigned>(_mm_movemask_epi8(all));
#else
  return equal_fingerprints_portable(words, fingerprint);
#endif
}

}  // namespace prophecy::table
