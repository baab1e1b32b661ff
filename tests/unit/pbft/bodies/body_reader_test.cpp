#include "pbft/core/bodies/body_reader.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "base/digest.hpp"
#include "pbft/shell/map_part_store.hpp"

namespace prophecy::pbft::test {
namespace {

struct Written {
  MapPartStore parts;
  std::vector<Digest> leaves;
  std::string bytes;

  explicit Written(const std::vector<std::size_t>& sizes) {
    for (const std::size_t size : sizes) {
      const std::string leaf(size, static_cast<char>('a' + leaves.size() % 26));
      leaves.push_back(parts.add({}, as_bytes(leaf)));
      bytes += leaf;
    }
  }
  [[nodiscard]] BodyReader reader() const { return {parts, leaves, bytes.size()}; }
};

void check(const Written& written, const BodyReader& reader, std::size_t offset, std::size_t size) {
  std::string into(size, '?');
  REQUIRE(reader.read(offset, into));
  CHECK(into == written.bytes.substr(offset, size));
}

TEST_CASE("What a socket did not take is read again without beginning anew") {
  const Written written(std::vector<std::size_t>(50, 100));
  const BodyReader reader = written.reader();
  // Pieces that end in the next leaf, of which one byte was not taken, or nearly all.
  const std::size_t taken = GENERATE(1, 30, 59);
  for (std::size_t at = 0; at + 60 <= written.bytes.size(); at += taken)
    check(written, reader, at, 60);
  CHECK(written.parts.reads == written.leaves.size());
}

TEST_CASE("To go back in a body costs the leaves that are wanted, whatever their sizes are") {
  const Written written({1, 70, 3, 3, 100, 2, 50, 9, 1, 400});
  const BodyReader reader = written.reader();
  check(written, reader, 0, written.bytes.size());
  CHECK(written.parts.reads == written.leaves.size());
  for (std::size_t offset = written.bytes.size(); offset-- > 0;)
    check(written, reader, offset, 1);
  CHECK(written.parts.reads <= 2 * written.leaves.size());
  written.parts.reads = 0;
  check(written, reader, 0, 1);
  check(written, reader, 80, 1);
  CHECK(written.parts.reads <= 2);
}

TEST_CASE("A leaf that was lost is missed, and those that are here are not") {
  Written written({10, 10, 10, 10});
  const BodyReader reader = written.reader();
  check(written, reader, 0, 40);
  written.parts.discard(written.leaves[1]);
  std::string into(10, '?');
  CHECK_FALSE(reader.read(10, into));
  CHECK_FALSE(reader.read(5, into));
  check(written, reader, 0, 10);
  check(written, reader, 20, 20);
}

TEST_CASE("Bytes beyond the leaves are not had") {
  const Written written({10, 10});
  const BodyReader reader(written.parts, written.leaves, 30);
  std::string into(1, '?');
  CHECK_FALSE(reader.read(20, into));
  CHECK(reader.read(19, into));
}

}  // namespace
}  // namespace prophecy::pbft::test
