#include "dht/core/placement.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"

namespace prophecy::dht {
namespace {

// The finishing step of SplitMix64: a bijection that spreads every bit.
std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// FNV-1a, mixed.
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char letter : name)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  return mixed(hash);
}

constexpr int kFractionBits = 24;

// -log2(x / 2^64), with kFractionBits behind the point, by squaring; of 0 that of 1.
std::uint64_t negative_logarithm(std::uint64_t x) {
  x = std::max<std::uint64_t>(x, 1);
  const int zeros = std::countl_zero(x);
  std::uint64_t mantissa = (x << zeros) >> 32;  // in [2^31, 2^32): 1 to 2, with 31 bits behind
  std::uint64_t fraction = 0;
  for (int i = 0; i < kFractionBits; ++i) {
    mantissa = mantissa * mantissa >> 31;
    const std::uint64_t carry = mantissa >> 32;
    mantissa >>= carry;
    fraction = fraction << 1 | carry;
  }
  return (static_cast<std::uint64_t>(zeros + 1) << kFractionBits) - fraction;
}

// How reluctantly a member takes a partition: exponentially distributed, at a rate that is its
// weight, so that the least of all is each one's with a probability in proportion to its weight.
struct Bid {
  std::uint64_t cost = 0;
  MemberIndex member = 0;
};

}  // namespace

std::size_t Placement::room(std::size_t partitions, std::uint64_t weight, std::uint64_t weights) {
  ASSERT(weights > 0);
  const std::uint64_t share = partitions * weight / weights;
  std::uint64_t root = 0;
  while ((root + 1) * (root + 1) <= share)
    ++root;
  // A twentieth; of small shares, which vary by more, four fifths of what they vary by: a tighter
  // room moves partitions about whenever somebody comes or goes. One at least, so that all rooms
  // together hold all partitions, whatever was rounded down.
  return share + std::max({share / 20, root * 4 / 5, std::uint64_t{1}});
}

Placement::Placement(std::span<const Share> members, std::size_t partitions) : owners_(partitions) {
  ASSERT(!members.empty() && members.size() <= UINT16_MAX && partitions <= kPartitions);
  std::uint64_t weights = 0;
  std::vector<std::uint64_t> hashes;
  for (const Share& member : members) {
    ASSERT(member.weight <= kWeightMax);
    weights += member.weight;
    hashes.push_back(hash_of(member.name));
  }
  std::vector<MemberIndex> bidders;
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].weight > 0) bidders.push_back(static_cast<MemberIndex>(i));
    left.push_back(room(partitions, members[i].weight, weights));
  }

  std::vector<Bid> bids(bidders.size());
  for (std::size_t partition = 0; partition < partitions; ++partition) {
    const std::uint64_t place = mixed(partition + 1);
    for (std::size_t i = 0; i < bidders.size(); ++i) {
      const std::uint64_t draw = mixed(hashes[bidders[i]] ^ place);
      bids[i] = {(negative_logarithm(draw) << 16) / members[bidders[i]].weight, bidders[i]};
    }
    std::sort(bids.begin(), bids.end(), [&](const Bid& a, const Bid& b) {
      // The order of the list decides nothing.
      return a.cost != b.cost ? a.cost < b.cost : members[a.member].name < members[b.member].name;
    });
    const auto taker = std::find_if(bids.begin(), bids.end(),
                                    [&](const Bid& bid) { return left[bid.member] > 0; });
    ASSERT(taker != bids.end());
    owners_[partition] = taker->member;
    --left[taker->member];
  }
}

}  // namespace prophecy::dht
