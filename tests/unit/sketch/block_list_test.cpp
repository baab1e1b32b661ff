#include "canonical/block_list.hpp"

#include <random>

#include <catch2/catch.hpp>

namespace prophecy::sketch {
namespace {

constexpr std::uint32_t kBlock = kBlockBytesMin;

std::string body_of(std::size_t size, std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::string body(size, '\0');
  for (char& byte : body)
    byte = static_cast<char>(random());
  return body;
}

Bytes digests_of(std::string_view body) {
  Bytes digests;
  for (; !body.empty(); body.remove_prefix(std::min<std::size_t>(kBlock, body.size()))) {
    const auto digest = sha256(as_bytes(body.substr(0, kBlock)));
    digests.insert(digests.end(), digest.begin(), digest.end());
  }
  return digests;
}

}  // namespace

TEST_CASE("a list is of the blocks, however the body came") {
  std::mt19937 random(GENERATE(7));
  for (const std::size_t size : {std::size_t{1}, std::size_t{kBlock - 1}, std::size_t{kBlock},
                                 std::size_t{kBlock + 1}, std::size_t{5 * kBlock}}) {
    const std::string body = body_of(size);
    BlockHasher hasher(kBlock);
    for (std::string_view rest = body; !rest.empty();) {
      const std::size_t piece = std::min<std::size_t>(rest.size(), 1 + random() % (2 * kBlock));
      REQUIRE(hasher.update(rest.substr(0, piece)));
      rest.remove_prefix(piece);
    }
    CHECK(hasher.length() == size);
    const BlockList list = hasher.finish();
    REQUIRE(is_valid(list));
    CHECK(list.length == size);
    CHECK(Bytes(list.digests.begin(), list.digests.end()) == digests_of(body));
    for (std::size_t block = 0; block < list.count(); ++block) {
      std::string bytes = body.substr(list.begin_of(block), list.size_of(block));
      CHECK(list.matches(block, bytes));
      CHECK_FALSE(list.matches(block, bytes + "x"));
      bytes.back() = static_cast<char>(bytes.back() ^ 1);
      CHECK_FALSE(list.matches(block, bytes));
    }
  }
}

TEST_CASE("a list has as many digests as its length needs, and blocks of a size that can be held") {
  const Bytes digests(3 * sizeof(Sha256::Digest));
  const auto valid = [&](std::uint64_t length, std::uint32_t block_bytes, std::size_t size) {
    return is_valid({length, block_bytes, ByteView(digests).first(size)});
  };
  CHECK(valid(3 * kBlock, kBlock, digests.size()));
  CHECK(valid(2 * kBlock + 1, kBlock, digests.size()));
  CHECK_FALSE(valid(2 * kBlock, kBlock, digests.size()));
  CHECK_FALSE(valid(3 * kBlock + 1, kBlock, digests.size()));
  CHECK_FALSE(valid(3 * kBlock, kBlock, digests.size() - 1));
  CHECK_FALSE(valid(0, kBlock, 0));
  CHECK_FALSE(valid(3 * (kBlock - 1), kBlock - 1, digests.size()));
  CHECK_FALSE(valid(3 * std::uint64_t{kBlockBytesMax + 1}, kBlockBytesMax + 1, digests.size()));
}

TEST_CASE("a body of too many blocks has no list") {
  BlockHasher hasher(kBlockBytesMin);
  const std::string block(kBlockBytesMin, 'x');
  for (std::size_t i = 0; i < kBlocksMax; ++i)
    REQUIRE(hasher.update(block));
  CHECK_FALSE(hasher.update("x"));
}

}  // namespace prophecy::sketch
