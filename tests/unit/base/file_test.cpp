#include "base/file.hpp"

#include <cstdlib>

#include <catch2/catch.hpp>
#include <sys/stat.h>

namespace prophecy {
namespace {

// A folder of its own for each test, gone at its end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "prophecy-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

unsigned mode_of(const std::filesystem::path& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

}  // namespace

TEST_CASE("files are created once and read back") {
  const Folder folder;
  const std::string content("a\0b", 3);
  REQUIRE(create_file(folder / "f", content, FileSecrecy::open).has_value());
  CHECK(*read_file(folder / "f", 3) == content);
  CHECK_FALSE(create_file(folder / "f", "other", FileSecrecy::open).has_value());
  CHECK(*read_file(folder / "f", 3) == content);
}

TEST_CASE("what cannot be read") {
  const Folder folder;
  REQUIRE(create_file(folder / "f", "abcd", FileSecrecy::open).has_value());
  CHECK(read_file(folder / "f", 3).error().kind == ErrorKind::limit);
  CHECK(read_file(folder / "absent", 3).error().kind == ErrorKind::io);
  CHECK(read_file(folder / ".", 3).error().kind == ErrorKind::invalid);
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK(read_file(folder / "fifo", 3).error().kind == ErrorKind::invalid);
}

TEST_CASE("secrets that others may touch are refused") {
  const Folder folder;
  REQUIRE(create_file(folder / "key", "secret", FileSecrecy::secret).has_value());
  CHECK(mode_of(folder / "key") == 0600);
  CHECK(*read_secret_file(folder / "key", 100) == "secret");
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0610, 0601, 0644}) {
    INFO(std::oct << mode);
    REQUIRE(::chmod((folder / "key").c_str(), mode) == 0);
    const auto content = read_secret_file(folder / "key", 100);
    REQUIRE_FALSE(content.has_value());
    CHECK(content.error().message.find("0600") != std::string::npos);
  }
  REQUIRE(::chmod((folder / "key").c_str(), 0400) == 0);
  CHECK(read_secret_file(folder / "key", 100).has_value());
}

TEST_CASE("a file is replaced as a whole, with the mode that is asked for") {
  const Folder folder;
  REQUIRE(create_file(folder / "f", "former", FileSecrecy::open).has_value());
  // What a crash has left.
  REQUIRE(create_file(folder / "f.new", "half", FileSecrecy::open).has_value());
  REQUIRE(replace_file(folder / "f", "latter", FileSecrecy::secret).has_value());
  CHECK(*read_secret_file(folder / "f", 10) == "latter");
  CHECK_FALSE(std::filesystem::exists(folder / "f.new"));
  REQUIRE(replace_file(folder / "g", "first", FileSecrecy::secret).has_value());
  CHECK(*read_file(folder / "g", 10) == "first");
  std::filesystem::create_directory(folder / "h");
  CHECK(replace_file(folder / "h", "x", FileSecrecy::secret).has_error());
  CHECK(replace_file(folder / "absent" / "f", "x", FileSecrecy::secret).has_error());
}

}  // namespace prophecy
