#include "pbft/services/write_in_flight.hpp"

#include <cerrno>
#include <csignal>
#include <fstream>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "http_world.hpp"
#include "support.hpp"

namespace prophecy::pbft::test {
namespace {

namespace fs = std::filesystem;

// Files of this process have so many bytes at most, until the end of the block.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit small{bytes, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    signal_ = ::signal(SIGXFSZ, SIG_IGN);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, signal_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
  void (*signal_)(int) = nullptr;
};

}  // namespace

TEST_CASE("What cannot be the record of a write in flight is one clear error") {
  TemporaryFolder folder;
  boost::asio::io_context io{1};
  fs::path file = folder.path() / "write-in-flight";
  std::string problem;
  SECTION("a folder") {
    fs::create_directory(file);
    problem = "Is a directory";
  }
  SECTION("a pipe") {
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    problem = "no regular file";
  }
  SECTION("a link") {
    fs::create_symlink("/dev/zero", file);
    problem = "symbolic links";
  }
  SECTION("in a folder that is not there") {
    file = folder.path() / "gone" / "write-in-flight";
    problem = "No such file";
  }
  SECTION("a file that this user may not write") {
    if (::geteuid() == 0) return;  // root may
    std::ofstream(file) << "12345678";
    fs::permissions(file, fs::perms{0400});
    problem = "Permission denied";
  }
  WriteInFlight in_flight(io);
  const auto opened = in_flight.open(file);
  REQUIRE_FALSE(opened.has_value());
  CHECK_THAT(opened.error().message,
             Catch::StartsWith(file.string() + ": ") && Catch::Contains(problem) &&
                 Catch::Contains("may be carrying out a write") && !Catch::Contains("\n"));
  // Nor does a service begin without it, unless it has no state.
  Loop loop;
  TemporaryFolder state;
  ScriptedOrigin origin(loop.io, {});
  HttpServiceSettings settings = World::settings(origin.address(), state.path());
  settings.in_flight = file;
  CHECK_FALSE(HttpService(loop.io, settings, sketch::Profile()).open().has_value());
  settings.state.kind = StateKind::stateless;
  CHECK(HttpService(loop.io, settings, sketch::Profile()).open().has_value());
}

TEST_CASE("The record has its place on the disk before the first write") {
  TemporaryFolder folder;
  boost::asio::io_context io{1};
  const fs::path file = folder.path() / "write-in-flight";
  {
    const SmallFiles full(4);
    WriteInFlight in_flight(io);
    const auto opened = in_flight.open(file);
    REQUIRE_FALSE(opened.has_value());
    CHECK_THAT(opened.error().message, Catch::StartsWith(file.string()));
  }
  WriteInFlight in_flight(io);
  REQUIRE(in_flight.open(file).has_value());
  CHECK(fs::file_size(file) == 8);
  CHECK(in_flight.left_behind(seconds(30)) == Duration::zero());
}

TEST_CASE("A time that cannot be recorded is told, once, and holds up no write") {
  TemporaryFolder folder;
  boost::asio::io_context io{1};
  WriteInFlight in_flight(io);
  REQUIRE(in_flight.open(folder.path() / "write-in-flight").has_value());
  std::vector<int> failures;
  in_flight.on_failure([&](int error) { failures.push_back(error); });
  const auto record = [&] {
    bool is_recorded = false;
    in_flight.begin([&] { is_recorded = true; });
    REQUIRE(run_until(io, [&] { return is_recorded; }));
  };
  record();
  CHECK(failures.empty());
  for (int time = 1; time <= 2; ++time) {
    {
      const SmallFiles full(0);
      record();
      record();
    }
    CHECK(failures == std::vector<int>(static_cast<std::size_t>(time), EFBIG));
    record();
  }
}

TEST_CASE("A record that is torn, or of a clock that was set back, is waited for no longer") {
  TemporaryFolder folder;
  boost::asio::io_context io{1};
  const fs::path file = folder.path() / "write-in-flight";
  std::string content;
  Duration left = seconds(30);
  SECTION("torn") {
    content = "abc";
    left = Duration::zero();
  }
  SECTION("in the future") {
    content = std::string(8, '\x7f');
  }
  std::ofstream(file) << content;
  WriteInFlight in_flight(io);
  REQUIRE(in_flight.open(file).has_value());
  CHECK(in_flight.left_behind(seconds(30)) == left);
}

}  // namespace prophecy::pbft::test
