#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/file.h>

#include "base/unique_fd.hpp"
#include "pbft/services/state/command_state.hpp"
#include "pbft/services/state/last_words.hpp"
#include "pbft/services/state/state_parts.hpp"
#include "state_runs.hpp"

namespace prophecy::pbft::test {
namespace {

// A state in a file, dumped and loaded by shell scripts that are told its name.
struct Program {
  explicit Program(const std::string& dump, const std::string& load = "cat > \"$0\"",
                   Duration timeout = seconds(10), std::uint64_t bytes_max = 10 << 20) {
    const auto shell = [&](const std::string& script) {
      return std::vector<std::string>{"/bin/sh", "-c", script, file()};
    };
    start({shell(dump), shell(load), timeout, bytes_max});
  }
  explicit Program(CommandSettings settings) { start(std::move(settings)); }
  void start(CommandSettings settings) {
    keeper = std::make_unique<StateKeeper>(io, std::make_unique<CommandState>(std::move(settings)));
  }

  [[nodiscard]] std::string file() const { return (folder.path() / "state").string(); }
  void write(const std::string& content) const {
    std::ofstream(file(), std::ios::binary) << content;
  }
  [[nodiscard]] std::string read() const {
    std::ifstream stream(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  Result<Digest> snapshot() { return take_snapshot(io, *keeper, parts); }
  std::string snapshot_error() {
    const auto root = snapshot();
    return root.has_value() ? "" : root.error().message;
  }
  std::string restore_error(const PartStore& from, const Digest& root) {
    const auto restored = run_restore(io, *keeper, from, root);
    return restored.has_value() ? "" : restored.error().message;
  }

  boost::asio::io_context io{1};
  TemporaryFolder folder;
  MapPartStore parts;
  std::unique_ptr<StateKeeper> keeper;
};

const std::string kDump = "cat \"$0\"";

// A zombie does not: in a container the first process may never collect it.
bool runs(const std::string& process_file) {
  pid_t process = 0;
  if (!(std::ifstream(process_file) >> process)) return false;
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");  // number, (name), state
  std::string name;
  char state = 'Z';
  return stat >> process >> name >> state && state != 'Z';
}

}  // namespace

TEST_CASE("What one program dumps, the other loads elsewhere") {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{5}, kContentBytesMax, 7 * kContentBytesMax + 3}) {
    Program here(kDump);
    Program there(kDump);
    std::string content(size, 'x');
    for (std::size_t i = 0; i < size; i += 1000)
      content[i] = static_cast<char>(i / 1000);
    here.write(content);
    there.write("another state");
    const auto root = here.snapshot();
    REQUIRE(root.has_value());
    CHECK(here.parts.children_first);
    CHECK(there.restore_error(here.parts, *root).empty());
    CHECK(there.read() == content);
    CHECK(*there.snapshot() == *root);
  }
}

TEST_CASE("A program that fails is reported with its status and what it said last") {
  Program bad("echo first >&2; echo the disk is gone >&2; exit 3");
  CHECK_THAT(bad.snapshot_error(), Catch::Contains("/bin/sh: ended with status 3") &&
                                       Catch::Contains("the disk is gone"));
  Program killed("kill -9 $$");
  CHECK_THAT(killed.snapshot_error(), Catch::Contains("ended by signal 9"));
  Program half("echo half; exit 1");  // what it wrote does not count
  CHECK_FALSE(half.snapshot_error().empty());
  Program missing(CommandSettings{.dump = {"/nowhere/program"}, .load = {"/nowhere/program"}});
  CHECK_THAT(missing.snapshot_error(), Catch::Contains("/nowhere/program: No such file"));
  // Much on standard error does not block it, and only the end is told.
  Program loud("yes noise | head -c 300000 >&2; echo the end >&2; exit 1");
  const std::string said = loud.snapshot_error();
  CHECK_THAT(said, Catch::Contains("the end"));
  CHECK(said.size() < 1200);
}

TEST_CASE("After a failure the next one may succeed") {
  Program program("test -f \"$0\" || exit 1; cat \"$0\"");
  CHECK_FALSE(program.snapshot_error().empty());
  program.write("there now");
  CHECK(program.snapshot_error().empty());
}

TEST_CASE("A program that takes too long is killed with all that it started") {
  Program slow("sleep 60 & echo $! > \"$0\"; wait", "sleep 60", milliseconds(300));
  const TimePoint begin = std::chrono::steady_clock::now();
  CHECK_THAT(slow.snapshot_error(), Catch::Contains("state_timeout"));
  CHECK(std::chrono::steady_clock::now() - begin < seconds(5));
  CHECK(run_until(slow.io, [&] { return !runs(slow.file()); }));

  Program other(kDump);
  other.write(std::string(1 << 20, 'x'));  // more than a pipe holds
  const auto root = other.snapshot();
  CHECK_THAT(slow.restore_error(other.parts, *root), Catch::Contains("state_timeout"));
}

TEST_CASE("A program that never stops complaining has a deadline all the same") {
  // Several at a time, so that there is always more to read.
  Program loud("for i in 1 2 3 4; do yes noise >&2 & done; yes noise >&2", "cat > \"$0\"",
               milliseconds(300));
  const TimePoint begin = std::chrono::steady_clock::now();
  CHECK_THAT(loud.snapshot_error(), Catch::Contains("state_timeout") && Catch::Contains("noise"));
  CHECK(std::chrono::steady_clock::now() - begin < seconds(5));
}

TEST_CASE("Of what a program complains so much is read at a time, and the end is kept") {
  const UniqueFd endless(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  LastWords words;
  CHECK(words.take(endless.get()));  // and comes back
  CHECK(words.text() == std::string(LastWords::kBytesMax, ' '));
  const UniqueFd ended(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(words.take(ended.get()));
}

TEST_CASE("Output beyond the bound is an error, not a state that is cut short") {
  Program large("yes | head -c 100000", "cat > /dev/null", seconds(10), 99'999);
  CHECK_THAT(large.snapshot_error(), Catch::Contains("state_bytes_max"));
  Program exact("yes | head -c 100000", "cat > /dev/null", seconds(10), 100'000);
  CHECK(exact.snapshot_error().empty());
  CHECK_THAT(large.restore_error(exact.parts, *exact.snapshot()), Catch::Contains("longer"));
}

TEST_CASE("A program that does not take its whole input has not restored it") {
  Program other(kDump);
  other.write(std::string(4 << 20, 'x'));
  const Digest root = *other.snapshot();
  Program lazy(kDump, "head -c 10 > \"$0\"");
  CHECK_THAT(lazy.restore_error(other.parts, root), Catch::Contains("whole input"));
  Program bad(kDump, "cat > \"$0\"; echo no >&2; exit 1");
  CHECK_THAT(bad.restore_error(other.parts, root), Catch::Contains("status 1; it said: no"));
}

TEST_CASE("What was loaded is dumped once more and compared") {
  Program other(kDump);
  other.write("the whole state");
  const Digest root = *other.snapshot();
  const std::string half = "head -c 5 > \"$0\"; cat > /dev/null";
  CHECK_THAT(Program(kDump, half).restore_error(other.parts, root), Catch::Contains("another one"));
  // Where the dump is too dear for that.
  Program trusting(kDump);
  trusting.start(
      {.dump = {"/bin/false"}, .load = {"/bin/sh", "-c", half, trusting.file()}, .verify = false});
  CHECK(trusting.restore_error(other.parts, root).empty());
}

TEST_CASE("A program that loads can tell the end of its input from the end of its agent") {
  Program other(kDump);
  other.write(std::string(300'000, 'x'));
  const Digest root = *other.snapshot();
  Program careful(kDump,
                  "cat > \"$0.new\"; test $(wc -c < \"$0.new\") = $STATE_BYTES || exit 1; "
                  "echo $STATE_ROOT > \"$0.root\"; mv \"$0.new\" \"$0\"");
  CHECK(careful.restore_error(other.parts, root).empty());
  std::string told;
  std::ifstream(careful.file() + ".root") >> told;
  CHECK(told == to_hex(root));
}

TEST_CASE("No two programs load a state at a time, whoever has started them") {
  Program other(kDump);
  other.write("state");
  const Digest root = *other.snapshot();
  Program program(kDump);
  const std::string lock = (program.folder.path() / "lock").string();
  CommandSettings settings{.dump = {"/bin/sh", "-c", kDump, program.file()},
                           .load = {"/bin/sh", "-c",
                                    "readlink /proc/$$/fd/3 > \"$0.lock\"; sleep 60 & "
                                    "cat > \"$0\"",
                                    program.file()},
                           .timeout = milliseconds(300),
                           .lock = lock};
  program.start(settings);
  const UniqueFd held(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::flock(held.get(), LOCK_EX | LOCK_NB) == 0);
  CHECK_THAT(program.restore_error(other.parts, root), Catch::Contains("locked"));
  REQUIRE(::flock(held.get(), LOCK_UN) == 0);
  // What a program leaves running does not keep the next one out.
  for (int times = 0; times < 2; ++times)
    CHECK(program.restore_error(other.parts, root).empty());
  CHECK(program.read() == "state");
  std::string inherited;
  std::ifstream(program.file() + ".lock") >> inherited;
  CHECK(inherited == lock);
}

TEST_CASE("No program is started for a state that is not whole") {
  Program other(kDump);
  std::string content(3 * kContentBytesMax, 'x');
  other.write(content.append("tail"));
  const Digest root = *other.snapshot();
  other.parts.parts.erase(sha256(encode_content(as_bytes("tail"))));
  Program there(kDump);
  there.write("old");
  CHECK_FALSE(there.restore_error(other.parts, root).empty());
  CHECK(there.read() == "old");
  // Nor for the state of a folder.
  MapPartStore parts;
  const Bytes listing = encode_listing({});
  parts.parts.emplace(sha256(listing), listing);
  CHECK_THAT(there.restore_error(parts, sha256(listing)), Catch::Contains("content is a listing"));
  CHECK(there.read() == "old");
}

TEST_CASE("A program gets nothing but its three descriptors, and the signals' defaults") {
  const int leaked = ::dup(0);  // not closed on exec
  Program program("ls /proc/self/fd | wc -l | tr -d ' '; grep SigBlk /proc/self/status");
  const auto root = program.snapshot();
  ::close(leaked);
  REQUIRE(root.has_value());
  const auto part = decode_state_part(program.parts.parts.at(*root));
  // The fourth is the one with which ls reads the folder.
  CHECK(as_text(std::get<ContentPiece>(*part).bytes) == "4\nSigBlk:\t0000000000000000\n");
}

TEST_CASE("Stopping kills the program") {
  Program program("echo $$ > \"$0\"; sleep 60");
  bool answered = false;
  program.keeper->snapshot(program.parts, [&](Result<Digest>) { answered = true; });
  REQUIRE(run_until(program.io, [&] { return runs(program.file()); }));
  const TimePoint begin = std::chrono::steady_clock::now();
  program.keeper->stop();
  CHECK(std::chrono::steady_clock::now() - begin < seconds(5));
  CHECK_FALSE(runs(program.file()));
  run_for(program.io, milliseconds(20));
  CHECK_FALSE(answered);
}

}  // namespace prophecy::pbft::test
