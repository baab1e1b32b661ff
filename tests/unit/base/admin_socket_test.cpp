#include "base/io/admin_socket.hpp"

#include <array>
#include <cstring>
#include <fstream>
#include <future>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/unique_fd.hpp"
#include "support/event_loop.hpp"
#include "support/temporary_folder.hpp"

using namespace prophecy;
using namespace prophecy::test;

namespace {

AdminServer::Handler echo() {
  return [](std::string_view line) { return "<" + std::string(line) + ">"; };
}

// The blocking client in a thread of its own, the server on this one.
Result<std::string> ask(boost::asio::io_context& io, const std::filesystem::path& path,
                        const std::string& line, Duration timeout = seconds(5),
                        std::span<const int> files = {}) {
  auto answer =
      std::async(std::launch::async, [&] { return admin_request(path, line, timeout, files); });
  REQUIRE(run_until(io, [&] { return answer.wait_for(seconds(0)) == std::future_status::ready; }));
  return answer.get();
}

}  // namespace

TEST_CASE("One line in, one line out, for the owner only") {
  TemporaryFolder folder;
  const auto path = folder.path() / "admin.sock";
  boost::asio::io_context io(1);
  auto server = AdminServer::listen(io, path, echo());
  REQUIRE(server.has_value());
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  const auto answer = ask(io, path, R"({"command":"status"})");
  REQUIRE(answer.has_value());
  CHECK(*answer == R"(<{"command":"status"}>)");
  CHECK(ask(io, path, std::string(60'000, 'x'))->size() == 60'002);
  (*server)->stop();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("A socket left behind is replaced, a living one and a file are not") {
  TemporaryFolder folder;
  const auto path = folder.path() / "admin.sock";
  boost::asio::io_context io(1);
  auto server = AdminServer::listen(io, path, echo());
  REQUIRE(server.has_value());
  const auto second = AdminServer::listen(io, path, echo());
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().message == path.string() + ": another process seems to listen there");
  (*server)->abandon();
  CHECK(std::filesystem::exists(path));
  auto next = AdminServer::listen(io, path, echo());
  REQUIRE(next.has_value());
  CHECK(ask(io, path, "x").has_value());

  const auto file = folder.path() / "file";
  std::ofstream(file) << "content";
  const auto link = folder.path() / "link";
  std::filesystem::create_symlink(file, link);
  for (const auto& taken : {file, link, folder.path()}) {
    const auto refused = AdminServer::listen(io, taken, echo());
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message.starts_with(taken.string() + ": exists and is not a socket"));
    CHECK(std::filesystem::exists(std::filesystem::symlink_status(taken)));
  }
  CHECK(std::filesystem::file_size(file) == 7);
}

TEST_CASE("At its end a server removes its socket, and not what took its place") {
  TemporaryFolder folder;
  const auto path = folder.path() / "admin.sock";
  boost::asio::io_context io(1);
  auto server = AdminServer::listen(io, path, echo());
  REQUIRE(server.has_value());
  std::filesystem::remove(path);
  std::ofstream(path) << "content";
  (*server)->stop();
  CHECK(std::filesystem::file_size(path) == 7);
}

TEST_CASE("A request without an end is refused, and so is one client too many") {
  TemporaryFolder folder;
  const auto path = folder.path() / "admin.sock";
  boost::asio::io_context io(1);
  auto server = AdminServer::listen(io, path, echo());
  REQUIRE(server.has_value());
  CHECK_FALSE(ask(io, path, std::string(kAdminRequestBytesMax + 10, 'x')).has_value());

  std::vector<UniqueFd> silent;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  for (std::size_t i = 0; i < kAdminConnectionsMax; ++i) {
    silent.emplace_back(::socket(AF_UNIX, SOCK_STREAM, 0));
    REQUIRE(::connect(silent.back().get(), reinterpret_cast<const sockaddr*>(&address),
                      sizeof address) == 0);
    run_for(io, milliseconds(1));
  }
  run_for(io, milliseconds(20));
  CHECK_FALSE(ask(io, path, "x").has_value());
  silent.clear();
  run_for(io, milliseconds(20));
  CHECK(ask(io, path, "x").has_value());
}

TEST_CASE("Files come with a request, as they were opened") {
  TemporaryFolder folder;
  const auto path = folder.path() / "admin.sock";
  boost::asio::io_context io(1);
  auto server = AdminServer::listen(io, path, echo());
  REQUIRE(server.has_value());
  const auto name = folder.path() / "file";
  std::ofstream(name) << "content";
  const UniqueFd first(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd second(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const std::array<int, 2> files{first.get(), second.get()};
  SECTION("who does not take them refuses") {
    CHECK(ask(io, path, "x", seconds(5), files).error().kind == ErrorKind::protocol);
    CHECK(ask(io, path, "x").has_value());
  }
  SECTION("in their order, and the server owns them") {
    std::vector<UniqueFd> taken;
    (*server)->take_files([&](std::string_view line, std::vector<UniqueFd> got) {
      taken = std::move(got);
      return "files " + std::string(line);
    });
    CHECK(*ask(io, path, "x") == "<x>");
    const std::string long_line(60'000, 'y');
    CHECK(*ask(io, path, long_line, seconds(5), files) == "files " + long_line);
    REQUIRE(taken.size() == 2);
    CHECK(taken[0].get() != first.get());
    char text[8] = {};
    CHECK(::read(taken[0].get(), text, sizeof text) == 7);
    CHECK(std::string(text) == "content");
    CHECK((::fcntl(taken[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
  }
  SECTION("too many are refused, and closed") {
    const auto open_files = [] {
      return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
    };
    const UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.native().copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
            0);
    run_for(io, milliseconds(20));
    const auto before = open_files();
    bool is_asked = false;
    (*server)->take_files([&](std::string_view, std::vector<UniqueFd>) {
      is_asked = true;
      return std::string();
    });
    constexpr std::size_t kMany = 20;
    std::array<int, kMany> many;
    many.fill(first.get());
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof many)> control{};
    char line[] = "x\n";
    iovec part{line, 2};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof many);
    std::memcpy(CMSG_DATA(header), many.data(), sizeof many);
    REQUIRE(::sendmsg(client.get(), &message, MSG_NOSIGNAL) == 2);
    run_for(io, milliseconds(50));
    CHECK_FALSE(is_asked);
    CHECK(open_files() == before - 1);  // its connection
  }
}

TEST_CASE("A tool says what is wrong when nobody listens") {
  TemporaryFolder folder;
  const auto path = folder.path() / "nobody.sock";
  const auto answer = admin_request(path, "x", seconds(1));
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().kind == ErrorKind::unavailable);
  CHECK(answer.error().message == path.string() + ": No such file or directory");
}
