// What a crash, a full disk and an ailing one do to a store: all that was completed is there, or
// the store says that it is damaged.
#include <csignal>
#include <fstream>
#include <random>
#include <set>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/unique_fd.hpp"
#include "pbft/storage/store.hpp"
#include "stores.hpp"
#include "support/temporary_folder.hpp"

namespace prophecy::pbft::test {
namespace {

namespace fs = std::filesystem;
using prophecy::test::TemporaryFolder;

// tests/unit/pbft/storage/store_writer.cpp as a process.
class WriterProcess {
 public:
  explicit WriterProcess(std::vector<std::string> arguments) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    told_.reset(ends[0]);
    const UniqueFd write_end(ends[1]);
    arguments.insert(arguments.begin(), STORE_WRITER);
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (std::string& argument : arguments)
      pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
    const int error =
        ::posix_spawn(&process_, STORE_WRITER, &actions, nullptr, pointers.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    REQUIRE(error == 0);
  }
  ~WriterProcess() {
    if (process_ > 0) kill();
  }

  // The next number that it tells; nothing when it has ended.
  std::optional<std::uint64_t> next() {
    std::uint64_t number = 0;
    const ssize_t size = ::read(told_.get(), &number, sizeof number);
    REQUIRE((size == 0 || size == sizeof number));
    return size == 0 ? std::nullopt : std::optional(number);
  }

  void kill() {
    ::kill(process_, SIGKILL);
    (void)end();
  }
  int end() {
    int status = 0;
    ::waitpid(std::exchange(process_, 0), &status, 0);
    return status;
  }

 private:
  UniqueFd told_;
  pid_t process_ = 0;
};

std::uint64_t last_of(const Contents& contents) {
  const auto last = contents.find("last");
  return last == contents.end() ? 0 : std::stoull(last->second);
}

TEST_CASE("What a killed process was told to be complete is there") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "store").string();
  const unsigned seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::uint64_t last = 0;
  for (int kill = 0; kill < 25; ++kill) {
    std::uint64_t told = last;
    {
      WriterProcess writer({path, "kept", std::to_string(last + 1)});
      // The number of completions before the kill, then somewhere in the next write.
      for (auto wanted = 1 + random() % 200; wanted > 0; --wanted) {
        const auto number = writer.next();
        REQUIRE(number.has_value());
        REQUIRE(*number == told + 1);
        told = *number;
      }
      ::usleep(static_cast<useconds_t>(random() % 3000));
      writer.kill();
      while (const auto number = writer.next())
        told = *number;
    }
    const TestStore store(path);
    const Contents contents = store.contents();
    last = last_of(contents);
    CHECK(last >= told);
    CHECK(contents == after(last, kKept, size_of));
  }
}

TEST_CASE("A store that another process has open is refused, until that one is killed") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store";
  WriterProcess writer({path.string(), "hold"});
  REQUIRE(writer.next() == 0);
  boost::asio::io_context io;
  const auto opened = Store::open({path, SyncPolicy::always}, identity_of(1), io.get_executor());
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error().kind == ErrorKind::unavailable);
  CHECK(opened.error().message.find("has this store open") != std::string::npos);
  CHECK(set_aside(path).error().kind == ErrorKind::unavailable);
  writer.kill();
  const TestStore store(path);
}

TEST_CASE("After a write that failed all others fail, and the store is as it was told") {
  const TemporaryFolder folder;
  for (int time = 0; time < 3; ++time) {
    const fs::path path = folder.path() / std::to_string(time);
    std::uint64_t told = 0;
    {
      WriterProcess writer({path.string(), "limited"});
      while (const auto number = writer.next())
        told = *number;
      CHECK(writer.end() == 0);
    }
    CHECK(told > 10);
    const TestStore store(path);
    const Contents contents = store.contents();
    CHECK(last_of(contents) >= told);
    CHECK(contents == after(last_of(contents), kKept, size_of));
  }
}

TEST_CASE("A write may end anywhere around the end of a log's block") {
  const TemporaryFolder folder;
  constexpr std::size_t kBlock = 32 * 1024;
  Contents expected;
  // The mark at its end lies across the end of the block in most of these.
  for (std::size_t size = kBlock - 120; size < kBlock - 20; ++size) {
    INFO(size);
    TestStore store(folder.path() / "store");
    CHECK(store.contents() == expected);
    store.commit({put("a", std::string(size, 'x'))});
    store.commit({put("b", std::to_string(size))});
    expected = {{"a", std::string(size, 'x')}, {"b", std::to_string(size)}};
  }
}

// A small store, copied for each harm that is done to it.
class Sample {
 public:
  static constexpr std::uint64_t kCommits = 7;

  Sample() {
    for (std::uint64_t number = 1; number <= kCommits; ++number) {
      // Opened anew in the middle: then there is a table beside the log.
      if (number == 1 || number == 4) store_.reset();
      if (!store_) store_.emplace(original());
      store_->commit(numbered(number, 3));
    }
    copy(original(), sample());
    store_.reset();
  }

  // As a kill leaves it: copied while it was open.
  [[nodiscard]] fs::path sample() const { return folder_.path() / "sample"; }

  // The files in which a store's data lies, by their names within it.
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(sample())) {
      if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(sample()));
    }
    return files;
  }

  // What can be read when one file has this content. Nothing when it is called damaged.
  [[nodiscard]] std::optional<Contents> read_with(const fs::path& file,
                                                  const std::string& content) const {
    const fs::path path = folder_.path() / "harmed";
    fs::remove_all(path);
    copy(sample(), path);
    std::ofstream(path / file, std::ios::binary | std::ios::trunc) << content;
    boost::asio::io_context io;
    const auto store = Store::open({path, SyncPolicy::always}, identity_of(1), io.get_executor());
    if (!store) {
      INFO(file << ": " << store.error().message);
      CHECK(store.error().kind == ErrorKind::damaged);
      return std::nullopt;
    }
    auto contents = contents_of(**store);
    if (!contents) {
      CHECK(contents.error().kind == ErrorKind::damaged);
      return std::nullopt;
    }
    return *contents;
  }

 private:
  [[nodiscard]] fs::path original() const { return folder_.path() / "original"; }
  static void copy(const fs::path& from, const fs::path& to) {
    fs::copy(from, to, fs::copy_options::recursive);
    fs::permissions(to, fs::perms::owner_all);
  }

  TemporaryFolder folder_ = TemporaryFolder::in_memory();
  std::optional<TestStore> store_;
};

std::string content_of(const fs::path& file) {
  auto content = read_file(file, 16 * 1024 * 1024);
  REQUIRE(content.has_value());
  return *content;
}

std::size_t plain_size(std::uint64_t) {
  return 8;
}

TEST_CASE("A log that ends anywhere gives the commits before that") {
  const Sample sample;
  std::set<std::uint64_t> seen;
  for (const fs::path& file : sample.files()) {
    if (file.extension() != ".log") continue;
    const std::string whole = content_of(sample.sample() / file);
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      INFO(file << " of " << size << " bytes");
      const auto contents = sample.read_with(file, whole.substr(0, size));
      if (!contents) continue;
      const std::uint64_t last = last_of(*contents);
      CHECK(*contents == after(last, 3, plain_size));
      seen.insert(last);
    }
  }
  CHECK(seen == std::set<std::uint64_t>{3, 4, 5, 6, 7});
}

TEST_CASE("A store of which one byte has changed gives what was committed, or is called damaged") {
  const Sample sample;
  const Contents truth = after(Sample::kCommits, 3, plain_size);
  std::map<std::string, std::size_t> damaged;
  for (const fs::path& file : sample.files()) {
    if (file.filename().string().starts_with("OPTIONS-")) continue;  // never read
    const std::string whole = content_of(sample.sample() / file);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      std::string harmed = whole;
      harmed[at] = static_cast<char>(harmed[at] ^ (1 << at % 8));
      INFO(file << ", byte " << at);
      const auto contents = sample.read_with(file, harmed);
      if (contents) {
        CHECK(*contents == truth);
      } else {
        ++damaged[file.extension().string()];
      }
    }
    if (file.extension() == ".log") CHECK(damaged[".log"] == whole.size());
  }
  // The test would be worth nothing had the files not been read.
  CHECK(damaged[".sst"] > 500);
  CHECK(damaged[""] > 200);
}

}  // namespace
}  // namespace prophecy::pbft::test
