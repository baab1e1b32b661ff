// Marks in files that only look like a database's.
#include "pbft/storage/write_marks.hpp"

#include <fstream>

#include <catch2/catch.hpp>

#include "support/temporary_folder.hpp"

namespace prophecy::pbft::test {
namespace {

using prophecy::test::TemporaryFolder;

constexpr MarkSecret kSecret{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

std::string mark(std::uint64_t write) {
  return std::string(as_text(encode_mark(kSecret, write)));
}

class FolderWithMarks {
 public:
  FolderWithMarks& add(const std::string& name, const std::string& content) {
    std::ofstream(folder_.path() / name, std::ios::binary) << content;
    return *this;
  }
  [[nodiscard]] Result<std::uint64_t> newest() const {
    return newest_mark(folder_.path(), kSecret);
  }

 private:
  TemporaryFolder folder_;
};

bool is_missing(const Result<std::uint64_t>& newest) {
  return !newest && newest.error().kind == ErrorKind::damaged;
}

TEST_CASE("A mark is read as it was made, and no other") {
  const Bytes bytes = encode_mark(kSecret, 0x1234567890abcdef);
  CHECK(decode_mark(kSecret, bytes) == 0x1234567890abcdef);
  CHECK_FALSE(decode_mark(MarkSecret{}, bytes).has_value());
  CHECK_FALSE(decode_mark(kSecret, ByteView(bytes).first(bytes.size() - 1)).has_value());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Bytes harmed = bytes;
    harmed[at] ^= 1;
    CHECK_FALSE(decode_mark(kSecret, harmed).has_value());
  }
}

TEST_CASE("The newest mark is found wherever it lies") {
  CHECK(*FolderWithMarks().newest() == 0);
  CHECK(*FolderWithMarks().add("000001.log", "x" + mark(1) + "x").newest() == 1);
  CHECK(*FolderWithMarks().add("000001.sst", mark(7)).add("000002.sst", mark(5)).newest() == 7);
  CHECK(*FolderWithMarks().add("LOG", mark(9)).add("x.log", mark(9)).newest() == 0);
  // Around the end of what is read at once.
  constexpr std::size_t kMebibyte = 1024 * 1024;
  for (std::size_t before = kMebibyte - 100; before <= kMebibyte + 10; ++before) {
    const std::string content = std::string(before, 'x') + mark(1) + "y" + mark(2);
    CHECK(*FolderWithMarks().add("000001.log", content).newest() == 2);
    CHECK(
        *FolderWithMarks().add("000001.log", content.substr(0, before + mark(1).size())).newest() ==
        1);
  }
}

TEST_CASE("One of a mark's two halves is enough, wherever the log cuts it") {
  for (std::size_t cut = 0; cut <= mark(2).size(); ++cut) {
    const std::string halves = mark(2).substr(0, cut) + "1234567" + mark(2).substr(cut);
    CHECK(*FolderWithMarks().add("000001.log", mark(1) + halves + mark(3)).newest() == 3);
  }
}

TEST_CASE("A write that is missing between others is noticed") {
  CHECK(is_missing(FolderWithMarks().add("000001.log", mark(2)).newest()));
  CHECK(is_missing(FolderWithMarks().add("000001.log", mark(1) + mark(3)).newest()));
  CHECK(is_missing(FolderWithMarks().add("000001.log", mark(1) + mark(2) + mark(1)).newest()));
  CHECK(
      is_missing(FolderWithMarks().add("000001.log", mark(1)).add("000002.log", mark(3)).newest()));
  CHECK(
      is_missing(FolderWithMarks().add("000001.sst", mark(3)).add("000002.log", mark(5)).newest()));
  CHECK(*FolderWithMarks().add("000001.sst", mark(3)).add("000002.log", mark(4)).newest() == 4);
  CHECK(
      *FolderWithMarks().add("000001.sst", mark(3)).add("000002.log", mark(2) + mark(3)).newest() ==
      3);
  // By number, not by name.
  CHECK(*FolderWithMarks()
             .add("000001.sst", mark(3))
             .add("999999.log", mark(4))
             .add("1000000.log", mark(5))
             .newest() == 5);
}

}  // namespace
}  // namespace prophecy::pbft::test
