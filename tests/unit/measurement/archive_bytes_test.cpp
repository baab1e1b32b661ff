#include "measurement/input/archive_bytes.hpp"

#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "compressed.hpp"

namespace prophecy::measurement {
namespace {

struct SeenBytes : ArchiveSink {
  std::string text;
  std::vector<std::uint64_t> offsets;  // of members, or of the first byte
  std::vector<std::string> gaps;
  std::uint64_t total = 0;
  bool keep = true;

  void on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) override {
    total += bytes.size();
    if (keep) text.append(bytes);
    if (!moves && (offsets.empty() || offsets.back() != offset)) offsets.push_back(offset);
  }
  void on_gap(Damage damage) override {
    text += "|";
    gaps.push_back(std::to_string(damage.offset) + " " + damage.problem);
  }
};

SeenBytes expand(std::string_view bytes, std::size_t piece) {
  SeenBytes seen;
  ArchiveBytes archive(seen);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    archive.feed(bytes.substr(0, piece));
  archive.finish();
  return seen;
}

}  // namespace

TEST_CASE("members follow one another, each with its offset") {
  const std::string first = deflated("one, ");
  const std::string bytes = first + deflated("two, ") + deflated("three");
  for (const std::size_t piece : {1, 3, 1000}) {
    const SeenBytes seen = expand(bytes, piece);
    CHECK(seen.text == "one, two, three");
    CHECK(seen.offsets.size() == 3);
    CHECK(seen.offsets[1] == first.size());
    CHECK(seen.gaps.empty());
  }
}

TEST_CASE("a file that is not compressed passes through") {
  for (const std::size_t piece : {1, 1000})
    CHECK(expand("WARC/1.0 and so on", piece).text == "WARC/1.0 and so on");
  CHECK(expand("W", 1).text == "W");
  CHECK(expand("", 1).text.empty());
}

TEST_CASE("behind a damaged member the next one is found") {
  std::string text;
  for (int i = 0; i < 500; ++i)
    text += std::to_string(i * 7919);
  const std::string first = deflated("first ");
  std::string second = deflated(text);
  second[second.size() / 2] = static_cast<char>(~second[second.size() / 2]);
  const std::string bytes = first + second + deflated("third");
  for (const std::size_t piece : {1, 1000000}) {
    const SeenBytes seen = expand(bytes, piece);
    CHECK(seen.text.starts_with("first "));
    CHECK(seen.text.ends_with("|third"));
    REQUIRE(seen.gaps.size() == 1);
    CHECK(seen.gaps[0] == std::to_string(first.size()) + " a gzip member is damaged");
  }
}

TEST_CASE("a file that ends inside a member is damaged") {
  const std::string bytes = deflated("one") + deflated("two").substr(0, 15);
  CHECK(expand(bytes, 5).gaps.size() == 1);
}

TEST_CASE("a bomb is not expanded to its end") {
  const std::string member = deflated(std::string(64 << 20, 'a'));
  SeenBytes seen;
  seen.keep = false;
  ArchiveBytes archive(seen);
  for (int i = 0; i < 100; ++i)
    archive.feed(member);
  archive.finish();
  CHECK(seen.gaps.size() == 1);
  CHECK(seen.total < (std::uint64_t{1} << 30) + (64 << 20));
}

}  // namespace prophecy::measurement
