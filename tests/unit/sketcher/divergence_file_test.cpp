#include "sketcher/shared/divergence_file.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <sys/stat.h>

namespace prophecy::sketcher {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/divergence-file-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

// The process may make no file larger while it exists.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &former_);
    rlimit limit = former_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &former_);
    ::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit former_{};
  sighandler_t handler_;
};

std::string content(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct Fixture {
  Folder folder;
  fs::path path = folder / "log";
  Logger log{"test", {LogLevel::error, LogFormat::text}};
  DivergenceFile file{log};
};

}  // namespace

TEST_CASE_METHOD(Fixture, "Lines are appended to what is there, in a file of mode 0640") {
  file.append("nowhere\n");
  REQUIRE(file.open(path, 1000).has_value());
  file.append("a\n");
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777 & ~0640) == 0);
  REQUIRE(file.reopen().has_value());
  file.append("b\n");
  CHECK(content(path) == "a\nb\n");
  CHECK(file.skipped() == 0);
}

TEST_CASE_METHOD(Fixture, "A file that was renamed is left to its new name when it is reopened") {
  REQUIRE(file.open(path, 1000).has_value());
  file.append("a\n");
  fs::rename(path, folder / "log.1");
  file.append("b\n");
  REQUIRE(file.reopen().has_value());
  file.append("c\n");
  CHECK(content(folder / "log.1") == "a\nb\n");
  CHECK(content(path) == "c\n");
}

TEST_CASE_METHOD(Fixture, "Nothing is appended beyond the bound, until the file is another one") {
  REQUIRE(file.open(path, 10).has_value());
  file.append("123456\n");
  file.append("7890\n");
  CHECK(content(path) == "123456\n");
  CHECK(file.skipped() == 1);
  file.append("78\n");
  CHECK(content(path) == "123456\n78\n");
  SECTION("truncated") {
    fs::resize_file(path, 0);
  }
  SECTION("reopened") {
    fs::remove(path);
    REQUIRE(file.reopen().has_value());
  }
  file.append("new\n");
  CHECK(content(path) == "new\n");
  CHECK(file.skipped() == 1);
}

TEST_CASE_METHOD(Fixture, "A line is whole or missing when the disk takes no more") {
  REQUIRE(file.open(path, 1000).has_value());
  file.append("first\n");
  {
    const FileSizeLimit disk(10);
    file.append("second\n");
  }
  CHECK(content(path) == "first\n");
  CHECK(file.skipped() == 1);
  file.append("third\n");
  CHECK(content(path) == "first\nthird\n");
}

TEST_CASE_METHOD(Fixture, "Files that others could have put there are refused") {
  SECTION("a symbolic link") {
    std::ofstream(folder / "other") << "x";
    fs::create_symlink(folder / "other", path);
  }
  SECTION("a named pipe, which nobody reads") {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  }
  SECTION("a folder") {
    fs::create_directory(path);
  }
  SECTION("others may write it") {
    std::ofstream(path) << "x";
    fs::permissions(path, fs::perms(0622));
  }
  const auto opened = file.open(path, 1000);
  REQUIRE(opened.has_error());
  CHECK(opened.error().message.find(path.string()) != std::string::npos);
  CHECK_FALSE(file.is_open());
}

TEST_CASE_METHOD(Fixture, "The former file stays when it cannot be reopened") {
  REQUIRE(file.open(path, 1000).has_value());
  fs::rename(path, folder / "log.1");
  fs::create_directory(path);
  REQUIRE(file.reopen().has_error());
  file.append("a\n");
  CHECK(content(folder / "log.1") == "a\n");
}

}  // namespace prophecy::sketcher
