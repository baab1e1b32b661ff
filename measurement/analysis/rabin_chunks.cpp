#include "measurement/analysis/rabin_chunks.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include <xxhash.h>

namespace prophecy::measurement {
namespace {

// Irreducible, of degree 63: that of LBFS.
constexpr std::uint64_t kPolynomial = 0xbfe6b8a5bf378d83;
constexpr std::uint64_t kTopBit = std::uint64_t{1} << 63;
constexpr unsigned kPushShift = 55;
constexpr std::size_t kWindowMax = 48;
constexpr std::size_t kWindowMin = 8;
// A run of equal bytes may have no cut.
constexpr std::size_t kLongest = 16;  // times the expected size

std::uint64_t times_x(std::uint64_t value) {
  value <<= 1;
  return (value & kTopBit) != 0 ? value ^ kPolynomial : value;
}

std::size_t expected_for(std::size_t size) {
  std::size_t expected = kChunkBytes;
  while (expected > 1 && expected * kChunksMin > size)
    expected /= 2;
  return expected;
}

using Digests = std::vector<std::uint64_t>;

std::size_t common_count(Digests one, Digests other) {
  std::sort(one.begin(), one.end());
  std::sort(other.begin(), other.end());
  Digests common;
  std::set_intersection(one.begin(), one.end(), other.begin(), other.end(),
                        std::back_inserter(common));
  return common.size();
}

void find_edit(const Digests& before, const Digests& after, BodyDifference& difference) {
  const std::size_t shorter = std::min(before.size(), after.size());
  std::size_t prefix = 0;
  while (prefix < shorter && before[prefix] == after[prefix])
    ++prefix;
  std::size_t suffix = 0;
  while (suffix < shorter - prefix &&
         before[before.size() - 1 - suffix] == after[after.size() - 1 - suffix]) {
    ++suffix;
  }
  const std::size_t kept = prefix + suffix;
  const bool removes = kept < before.size();
  const bool adds = kept < after.size();
  if (!removes && !adds) return;
  difference.one_edit =
      (!removes || 2 * kept >= before.size()) && (!adds || after.size() <= 2 * before.size());
  if (!difference.one_edit) return;
  const auto middle = [&](const Digests& all) {
    return Digests(all.begin() + static_cast<std::ptrdiff_t>(prefix),
                   all.end() - static_cast<std::ptrdiff_t>(suffix));
  };
  difference.one_strict_edit = common_count(middle(before), middle(after)) == 0;
}

}  // namespace

RabinChunks::RabinChunks(std::size_t expected)
    : expected_(expected), window_(std::clamp(expected, kWindowMin, kWindowMax)) {
  std::array<std::uint64_t, 8> powers{};
  std::uint64_t power = kPolynomial ^ kTopBit;  // x^63
  for (std::uint64_t& each : powers) {
    each = power;
    power = times_x(power);
  }
  for (std::size_t byte = 0; byte < push_.size(); ++byte) {
    // The lowest of the bits that leave is still in the word.
    push_[byte] = (byte & 1) != 0 ? kTopBit : 0;
    for (std::size_t bit = 0; bit < powers.size(); ++bit) {
      if ((byte >> bit & 1) != 0) push_[byte] ^= powers[bit];
    }
  }
  for (std::size_t byte = 0; byte < pop_.size(); ++byte) {
    std::uint64_t value = byte;
    for (std::size_t i = 1; i < window_; ++i)
      value = (value << 8) ^ push_[value >> kPushShift];
    pop_[byte] = value;
  }
}

Digests RabinChunks::digests(std::string_view bytes) const {
  Digests digests;
  const std::uint64_t mask = expected_ - 1;
  // Not zero, which runs of zero bytes have.
  const std::uint64_t cut = 0x78 & mask;
  std::uint64_t fingerprint = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i >= window_) fingerprint ^= pop_[static_cast<std::uint8_t>(bytes[i - window_])];
    fingerprint = ((fingerprint << 8) | static_cast<std::uint8_t>(bytes[i])) ^
                  push_[fingerprint >> kPushShift];
    const std::size_t size = i + 1 - begin;
    if ((fingerprint & mask) != cut && size < kLongest * expected_ && i + 1 < bytes.size())
      continue;
    digests.push_back(::XXH3_64bits(bytes.data() + begin, size));
    begin = i + 1;
  }
  return digests;
}

namespace {

// The tables of each size, which are made once.
const RabinChunks& chunks_of(std::size_t expected) {
  static const std::vector<RabinChunks> all = [] {
    std::vector<RabinChunks> made;
    for (std::size_t size = 1; size <= kChunkBytes; size *= 2)
      made.emplace_back(size);
    return made;
  }();
  return all[static_cast<std::size_t>(std::countr_zero(expected))];
}

}  // namespace

BodyDifference compare_bodies(std::string_view before, std::string_view after) {
  const std::size_t smaller = std::min(before.size(), after.size());
  Digests old_chunks;
  Digests new_chunks;
  for (std::size_t expected = expected_for(smaller);; expected /= 2) {
    const RabinChunks& chunks = chunks_of(expected);
    old_chunks = chunks.digests(before);
    new_chunks = chunks.digests(after);
    if (expected == 1 || std::min(old_chunks.size(), new_chunks.size()) >= kChunksMin) break;
  }
  BodyDifference difference;
  difference.chunks_before = old_chunks.size();
  difference.chunks_after = new_chunks.size();
  const std::size_t all = old_chunks.size() + new_chunks.size();
  const std::size_t common = common_count(old_chunks, new_chunks);
  difference.share =
      all == 0 ? 0 : static_cast<double>(all - 2 * common) / static_cast<double>(all);
  find_edit(old_chunks, new_chunks, difference);
  return difference;
}

}  // namespace prophecy::measurement
