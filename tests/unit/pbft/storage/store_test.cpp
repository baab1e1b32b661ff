// A store that nothing happens to, and those that are refused.
#include "pbft/storage/store.hpp"

#include <algorithm>
#include <fstream>

#include <sys/stat.h>

#include "base/digest.hpp"
#include "stores.hpp"
#include "support/temporary_folder.hpp"

namespace prophecy::pbft::test {
namespace {

namespace fs = std::filesystem;
using prophecy::test::TemporaryFolder;

Result<std::unique_ptr<Store>> open(boost::asio::io_context& io, const fs::path& folder,
                                    const StoreIdentity& identity) {
  return Store::open({folder, SyncPolicy::always}, identity, io.get_executor());
}

// Why it is refused; fails when it is not.
Error refusal(const fs::path& folder, const StoreIdentity& identity = identity_of(1)) {
  boost::asio::io_context io;
  const auto opened = open(io, folder, identity);
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error().message.find('\n') == std::string::npos);
  CHECK(opened.error().message.starts_with(folder.string()));
  return opened.error();
}

bool says(const Error& error, const std::string& text) {
  INFO(error.message);
  return error.message.find(text) != std::string::npos;
}

std::uint64_t bytes_in(const fs::path& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    struct stat status {};
    if (::stat(entry.path().c_str(), &status) == 0 && S_ISREG(status.st_mode))
      bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

TEST_CASE("What was committed is there when the store is opened again") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store";
  {
    TestStore store(path);
    CHECK(store->fresh());
    CHECK(store.contents().empty());
    store.commit({put("b", "2"), put("a", "1"), put("", "empty")});
    store.commit({erase("b"), put("c", std::string("\0x", 2)), put("c2", "")});
    CHECK(store.contents() ==
          Contents{{"", "empty"}, {"a", "1"}, {"c", std::string("\0x", 2)}, {"c2", ""}});
  }
  for (int time = 0; time < 3; ++time) {
    TestStore store(path);
    CHECK_FALSE(store->fresh());
    Contents expected{{"", "empty"}, {"a", "1"}, {"c", std::string("\0x", 2)}, {"c2", ""}};
    for (int earlier = 0; earlier < time; ++earlier)
      expected["time" + std::to_string(earlier)] = "x";
    CHECK(store.contents() == expected);
    store.commit({put("time" + std::to_string(time), "x")});
  }
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("Keys are visited in their order") {
  const TemporaryFolder folder;
  TestStore store(folder.path() / "store");
  store.commit({put("\xff", ""), put("b", ""), put("a", ""), put("aa", "")});
  std::vector<std::string> keys;
  const auto loaded = store->load([&](ByteView key, ByteView) { keys.emplace_back(as_text(key)); });
  REQUIRE(loaded.has_value());
  CHECK(keys == std::vector<std::string>{"a", "aa", "b", "\xff"});
}

TEST_CASE("Commits complete in their order and share writes") {
  const TemporaryFolder folder;
  TestStore store(folder.path() / "store");
  constexpr int kCommits = 2000;
  std::vector<int> completed;
  for (int i = 0; i < kCommits; ++i) {
    auto writes =
        i % 3 == 0 ? std::vector<DurableWrite>() : std::vector{put("last", std::to_string(i))};
    store->commit(std::move(writes), [&completed, i](const Result<>& outcome) {
      CHECK(outcome.has_value());
      completed.push_back(i);
    });
  }
  CHECK(completed.empty());  // only the event loop calls back
  REQUIRE(prophecy::test::run_until(store.io(), [&] { return completed.size() == kCommits; }));
  CHECK(std::is_sorted(completed.begin(), completed.end()));
  const StoreCounters counters = store->counters();
  CHECK(counters.commits == kCommits);
  CHECK(counters.writes > 0);
  CHECK(counters.writes < kCommits / 2);
  CHECK(counters.syncs == counters.writes);
  CHECK(counters.sync_time_max > Duration::zero());
  CHECK(counters.sync_time_total >= counters.sync_time_max);
  CHECK(counters.bytes > kCommits);
  CHECK(counters.pending_bytes == 0);
  CHECK(store.contents() == Contents{{"last", "1999"}});
}

TEST_CASE("An event loop does not end before a commit is complete") {
  const TemporaryFolder folder;
  TestStore store(folder.path() / "store", 1, SyncPolicy::os);
  bool done = false;
  store->commit({put("a", "b")}, [&](const Result<>&) { done = true; });
  store.io().run();
  CHECK(done);
  CHECK(store->counters().syncs == 0);
}

TEST_CASE("What was handed in is written before the store closes") {
  const TemporaryFolder folder;
  {
    TestStore store(folder.path() / "store");
    for (int i = 0; i < 100; ++i)
      store->commit({put("last", std::to_string(i))}, [](const Result<>&) {});
  }
  TestStore store(folder.path() / "store");
  CHECK(store.contents() == Contents{{"last", "99"}});
}

TEST_CASE("Values may be large") {
  const TemporaryFolder folder;
  const std::string value(20 * 1024 * 1024, 'x');
  {
    TestStore store(folder.path() / "store", 1, SyncPolicy::os);
    int done = 0;
    for (const char* key : {"a", "b", "c"}) {
      store->commit({put(key, value + key)}, [&](const Result<>& outcome) {
        CHECK(outcome.has_value());
        ++done;
      });
    }
    REQUIRE(prophecy::test::run_until(store.io(), [&] { return done == 3; }));
  }
  TestStore store(folder.path() / "store");
  const Contents contents = store.contents();
  REQUIRE(contents.size() == 3);
  for (const auto& [key, stored] : contents)
    CHECK(stored == value + key);
}

TEST_CASE("What is erased soon takes no room for long") {
  const TemporaryFolder folder;
  TestStore store(folder.path() / "store", 1, SyncPolicy::os);
  constexpr std::uint64_t kCommits = 40'000;
  constexpr std::size_t kSize = 8192;  // 320 MiB in all
  std::uint64_t done = 0;
  std::uint64_t largest = 0;
  for (std::uint64_t number = 1; number <= kCommits; ++number) {
    store->commit(numbered(number, 100, kSize), [&](const Result<>& outcome) {
      REQUIRE(outcome.has_value());
      ++done;
    });
    REQUIRE(prophecy::test::run_until(store.io(), [&] { return number - done < 32; }));
    if (number % 500 == 0) largest = std::max(largest, bytes_in(folder.path()));
  }
  REQUIRE(prophecy::test::run_until(store.io(), [&] { return done == kCommits; }));
  CHECK(store.contents() == after(kCommits, 100, [](std::uint64_t) { return kSize; }));
  INFO(largest);
  CHECK(largest < 64 * 1024 * 1024);
}

TEST_CASE("A store of somebody else is refused and left alone") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store";
  { TestStore(path).commit({put("a", "1")}); }
  const Error replica = refusal(path, identity_of(2));
  CHECK(replica.kind == ErrorKind::invalid);
  CHECK(says(replica, "the store of replica 1, not of replica 2"));
  const Error group = refusal(path, identity_of(1, 8));
  CHECK(group.kind == ErrorKind::invalid);
  CHECK(says(group, "the store of another group (0707"));
  StoreIdentity anew = identity_of(1);
  anew.founded.fill(9);
  const Error life = refusal(path, anew);
  CHECK(life.kind == ErrorKind::invalid);
  CHECK(says(life, "a store of another life of this group (founded '0000"));
  CHECK(TestStore(path).contents() == Contents{{"a", "1"}});
}

TEST_CASE("A store is open once") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store";
  {
    const TestStore store(path);
    const Error again = refusal(path);
    CHECK(again.kind == ErrorKind::unavailable);
    CHECK(says(again, "has this store open"));
    CHECK(set_aside(path).error().kind == ErrorKind::unavailable);
  }
  const TestStore store(path);
}

TEST_CASE("A folder in which others may write is refused") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store";
  { const TestStore store(path); }
  for (const mode_t mode : {0770, 0720, 0702, 0777}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    const Error error = refusal(path);
    CHECK(error.kind == ErrorKind::invalid);
    CHECK(says(error, "others may write"));
  }
  REQUIRE(::chmod(path.c_str(), 0750) == 0);
  const TestStore store(path);
}

TEST_CASE("Another format is refused, not called damage") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store";
  { const TestStore store(path); }
  const std::string text = "format 1\nreplica 1\n";
  std::ofstream(path / "store" / "identity")
      << text << "sha256 " << to_hex(sha256(as_bytes(text))) << "\n";
  const Error error = refusal(path);
  CHECK(error.kind == ErrorKind::invalid);
  CHECK(says(error, "format '1'"));
}

TEST_CASE("A path that cannot be a store is the system's refusal") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "x";
  CHECK(refusal(folder.path() / "file").kind == ErrorKind::io);
  CHECK(refusal(folder.path() / "absent" / "store").kind == ErrorKind::io);
}

TEST_CASE("A store with sectors that cannot be read is damaged: the replica begins without it") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store";
  { const TestStore store(path); }
  // Its first page is nobody's: EIO.
  const char* const unreadable = "/proc/self/mem";
  SECTION("in a log") {
    fs::create_symlink(unreadable, path / "store" / "promises" / "999999.log");
  }
  SECTION("in a table") {
    fs::create_symlink(unreadable, path / "store" / "promises" / "999999.sst");
  }
  CHECK(refusal(path).kind == ErrorKind::damaged);
  CHECK(set_aside(path).has_value());
  const TestStore store(path);
}

TEST_CASE("A folder that has lost its store is damaged; one that is empty is not") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store";
  fs::create_directory(path);
  fs::permissions(path, fs::perms::owner_all);
  // A creation that was cut short.
  fs::create_directories(path / "store.new" / "promises");
  std::ofstream(path / "store.new" / "promises" / "CURRENT") << "MANI";
  {
    TestStore store(path);
    CHECK(store->fresh());
    store.commit({put("a", "1")});
  }
  CHECK_FALSE(fs::exists(path / "store.new"));

  SECTION("without its identity") {
    fs::remove(path / "store" / "identity");
  }
  SECTION("with something else alone") {
    fs::remove_all(path / "store");
    fs::create_directory(path / "parts");
  }
  SECTION("without its database") {
    fs::remove_all(path / "store" / "promises");
  }
  SECTION("without the database's beginning") {
    fs::remove(path / "store" / "promises" / "CURRENT");
  }
  CHECK(refusal(path).kind == ErrorKind::damaged);
}

TEST_CASE("Damaged stores are set aside, the newest three are kept") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "store";
  for (int time = 1; time <= 5; ++time) {
    {
      TestStore store(path);
      CHECK(store->fresh());
      store.commit({put("time", std::to_string(time))});
    }
    // As an operator may write it.
    const auto aside = set_aside(time % 2 == 0 ? path : path / "");
    REQUIRE(aside.has_value());
    CHECK(*aside == path.string() + ".damaged-" + std::to_string(time));
    CHECK_FALSE(fs::exists(path));
    CHECK(TestStore(*aside).contents() == Contents{{"time", std::to_string(time)}});
  }
  for (int time = 1; time <= 5; ++time)
    CHECK(fs::exists(path.string() + ".damaged-" + std::to_string(time)) == (time > 2));
  CHECK(set_aside(path).error().kind == ErrorKind::io);
}

}  // namespace
}  // namespace prophecy::pbft::test
