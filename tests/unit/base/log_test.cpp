#include "base/log.hpp"

#include <array>

#include <catch2/catch.hpp>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.hpp"

namespace prophecy {
namespace {

// While it lives, standard error is the writing end of a pipe or a pair of sockets.
class Reader {
 public:
  explicit Reader(bool sockets) : saved_(::dup(STDERR_FILENO)) {
    std::array<int, 2> ends{};
    REQUIRE((sockets ? ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) : ::pipe(ends.data())) ==
            0);
    reading_.reset(ends[0]);
    const UniqueFd writing(ends[1]);
    REQUIRE(::dup2(writing.get(), STDERR_FILENO) >= 0);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { ::dup2(saved_.get(), STDERR_FILENO); }

  // What is there, at least a byte.
  std::string read() {
    std::string text(1 << 20, '\0');
    const ssize_t size = ::read(reading_.get(), text.data(), text.size());
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }

 private:
  UniqueFd saved_;
  UniqueFd reading_;
};

std::size_t lines_of(const std::string& text, std::string_view event) {
  std::size_t count = 0;
  for (std::size_t at = text.find(event); at != std::string::npos; at = text.find(event, at + 1))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("Nobody waits for who reads the log: what does not fit is lost, and counted") {
  const bool sockets = GENERATE(false, true);
  // Of a line that is longer than a pipe takes at once, a part may have gone.
  const std::size_t size = GENERATE(100, 9000);
  Reader reader(sockets);
  Logger log("test", {LogLevel::info, LogFormat::text});
  constexpr std::size_t kLines = 5000;
  for (std::size_t i = 0; i < kLines; ++i)
    log.info("an-event", {{"value", std::string(size, 'x')}});
  const std::string text = reader.read();
  const std::size_t begun = lines_of(text, " an-event ");
  CHECK(begun > 0);
  CHECK(begun < kLines);
  const bool cut = text.back() != '\n';
  const std::size_t whole = begun - (cut ? 1 : 0);
  log.info("later");
  log.info("last");
  const std::string rest = reader.read();
  CHECK(rest.starts_with('\n') == cut);
  CHECK(rest.find(" log-lines-lost lines=" + std::to_string(kLines - whole) + "\n") !=
        std::string::npos);
  CHECK(lines_of(rest, "log-lines-lost") == 1);
  CHECK(lines_of(rest, " later\n") == 1);
  CHECK(lines_of(rest, " last\n") == 1);
}

TEST_CASE("A fork that closes what is not its own writes to the log, and to nothing else") {
  const bool sockets = GENERATE(false, true);
  Reader reader(sockets);
  Logger log("parent", {LogLevel::info, LogFormat::text});
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::close_range(STDERR_FILENO + 1, ~0U, 0);
    std::array<int, 2> others{};  // take the numbers of what was closed
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, others.data()) != 0) ::_exit(2);
    log.rename("child");
    log.info("an-event");
    char byte = 0;
    const bool elsewhere = ::read(others[0], &byte, 1) >= 0 || ::read(others[1], &byte, 1) >= 0;
    ::_exit(elsewhere ? 1 : 0);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  log.info("an-event");
  const std::string text = reader.read();
  CHECK(lines_of(text, " child an-event\n") == 1);
  CHECK(lines_of(text, " parent an-event\n") == 1);
}

TEST_CASE("A fork does not tell of lines that its parent has lost") {
  Reader reader(false);
  Logger log("parent", {LogLevel::info, LogFormat::text});
  for (std::size_t i = 0; i < 5000; ++i)
    log.info("an-event", {{"value", std::string(100, 'x')}});
  static_cast<void>(reader.read());
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    log.rename("child");
    log.info("an-event");
    ::_exit(0);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  log.info("an-event");
  const std::string text = reader.read();
  CHECK(lines_of(text, " child log-lines-lost ") == 0);
  CHECK(lines_of(text, " parent log-lines-lost ") == 1);
}

}  // namespace prophecy
