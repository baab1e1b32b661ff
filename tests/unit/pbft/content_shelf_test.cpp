#include "pbft/core/state/content_shelf.hpp"

#include <catch2/catch.hpp>

#include "base/digest.hpp"
#include "pbft/core/state/memory_part_store.hpp"

namespace prophecy::pbft::test {
namespace {

// Takes so many new parts, and no more.
struct SmallParts final : MemoryPartStore {
  bool keep_written(const Digest& digest, ByteView part) override {
    if (holds(digest)) return true;
    if (room == 0) return false;
    --room;
    return keep(digest, part);
  }
  std::size_t room = SIZE_MAX;
};

constexpr std::size_t kLeafBytes = 128 * 1024;

// Leaves that differ: the last byte of each is another one.
Bytes content_of(std::size_t leaves) {
  Bytes content(leaves * kLeafBytes);
  for (std::size_t leaf = 0; leaf < leaves; ++leaf)
    content[(leaf + 1) * kLeafBytes - 1] = static_cast<std::uint8_t>(leaf);
  return content;
}

Bytes leaf_of(const Bytes& content, std::size_t leaf) {
  return encode_part({}, ByteView(content).subspan(leaf * kLeafBytes, kLeafBytes));
}

}  // namespace

TEST_CASE("A content lies on the shelf until it was dropped as often as it was put there") {
  SmallParts parts;
  ContentShelf shelf(parts);
  const Bytes content = content_of(3);
  const auto name = shelf.put(content);
  REQUIRE(name);
  CHECK(shelf.put(content) == name);
  shelf.drop(*name);
  REQUIRE(shelf.read(*name) != nullptr);
  CHECK(*shelf.read(*name) == content);
  shelf.drop(*name);
  CHECK(parts.parts() == 0);
}

TEST_CASE("A content that finds no room takes its own parts away, and nobody else's") {
  SmallParts parts;
  ContentShelf shelf(parts);
  const Bytes content = content_of(4);
  // Of a snapshot that is being taken: no root leads to it yet.
  const Bytes shared = leaf_of(content, 1);
  REQUIRE(parts.keep(sha256(shared), shared));
  parts.room = 2;
  CHECK_FALSE(shelf.put(content));
  CHECK(parts.parts() == 1);
  CHECK(parts.read(sha256(shared)) == shared);
  parts.room = SIZE_MAX;
  const auto name = shelf.put(content);
  REQUIRE(name);
  CHECK(*shelf.read(*name) == content);
}

}  // namespace prophecy::pbft::test
