// A table in a file: what is found there again, and what is never taken for it.
#include <csignal>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "history_table/history_table.hpp"
#include "support.hpp"
#include "tests/unit/support/temporary_folder.hpp"

namespace prophecy {
namespace {

using table::answer_for;
using table::entry_for;
using table::Identity;
using table::key_number;
using test::TemporaryFolder;

constexpr std::size_t kBytes = HistoryTable::kBytesMin;
constexpr std::uint64_t kKeys = 100;
constexpr std::size_t kSummedHeaderBytes = 192;  // then their check sum

struct FileFixture {
  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "table";
  Identity identity{.digest = 1, .key = {1}, .groups = {2}, .ownership_epoch = 3};

  std::uint32_t groups = 2;

  [[nodiscard]] Result<HistoryTable> open(std::size_t bytes = kBytes) const {
    auto table = HistoryTable::open(path, bytes, identity, 7, BlockStore::kBytesMin,
                                    HistoryTable::kLimitedShare, groups);
    if (table) table->attach(1);
    return table;
  }
  // What a sketcher leaves that stops in order, or that is killed.
  void leave_table(bool closes) const {
    auto table = open();
    REQUIRE(table.has_value());
    for (std::uint64_t key = 0; key < kKeys; ++key)
      table->update(key_number(key), answer_for(key, key + 1), key + 1);
    REQUIRE(table->set_mark(key_number(kKeys), Mark::blacklisted) == ChangeOutcome::done);
    table->companion()[9] = std::byte{99};
    table->floors(1).raise(table->floors(1).slot_of("a", "/"), 88);
    if (closes) REQUIRE(table->close().has_value());
  }
  void check_warm() const {
    const auto table = open();
    REQUIRE(table.has_value());
    CHECK(table->origin().is_warm);
    CHECK(table->origin().emptied_for.empty());
    CHECK(table->stats().entries == kKeys + 1);
    for (std::uint64_t key = 0; key < kKeys; ++key)
      CHECK(table->lookup(key_number(key)) == entry_for(key, key + 1));
    CHECK(table->lookup(key_number(kKeys)) == table::marked_entry(Mark::blacklisted));
    CHECK(table->companion()[9] == std::byte{99});
    CHECK(table->floors(1).at(table->floors(1).slot_of("a", "/")) == 88);
  }
  void check_emptied(const std::string& reason, std::size_t bytes = kBytes) const {
    auto table = open(bytes);
    REQUIRE(table.has_value());
    CHECK_FALSE(table->origin().is_warm);
    CHECK(table->origin().emptied_for == reason);
    CHECK(table->stats().entries == 0);
    for (std::uint64_t key = 0; key <= kKeys; ++key)
      CHECK_FALSE(table->lookup(key_number(key)));
    CHECK(table->companion()[9] == std::byte{0});
    for (std::uint32_t group = 0; group < groups; ++group) {
      for (const WriteFloors::Word floor : table->floors(group).words())
        CHECK(floor == 0);
    }
    CHECK(table->update(key_number(1), answer_for(1, 1), 1) == UpdateOutcome::inserted);
  }
  void overwrite(std::size_t offset, const std::string& bytes) const {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file << bytes;
    REQUIRE(file.good());
  }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

}  // namespace

TEST_CASE_METHOD(FileFixture, "a table that was closed is found again, again and again") {
  leave_table(true);
  for (int i = 0; i < 3; ++i) {
    check_warm();
    auto table = open();
    REQUIRE(table->close().has_value());
  }
}

TEST_CASE_METHOD(FileFixture, "a table whose processes were killed is found as they left it") {
  leave_table(false);
  check_warm();
}

TEST_CASE_METHOD(FileFixture, "what processes killed at random instants held is opened") {
  leave_table(false);
  Sigma sigma = 1000;
  std::uint64_t random = 5;
  std::uint64_t recoveries = 0;
  for (int kills = 0; kills < 1000 && recoveries < 3; ++kills) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      auto table = open();
      for (Sigma newest = sigma;; ++newest)
        table->update(key_number(1), answer_for(1, newest), newest);
    }
    ::usleep(static_cast<useconds_t>(2000 + table::next_random(random) % 3000));
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    auto table = open();
    REQUIRE(table.has_value());
    REQUIRE(table->origin().is_warm);
    recoveries = table->stats().recoveries;
    const auto found = table->lookup(key_number(1));
    sigma += 1'000'000'000;  // beyond whatever was emptied
    if (!found || found->sigma < 1000) continue;
    REQUIRE(found == entry_for(1, found->sigma));
    REQUIRE(table->update(key_number(1), answer_for(1, 900), 900) == UpdateOutcome::older);
  }
  CHECK(recoveries >= 3);
}

TEST_CASE_METHOD(FileFixture, "a table of another identity is emptied, and says why") {
  leave_table(GENERATE(true, false));
  SECTION("digest") {
    identity.digest = 0;
    check_emptied("another digest");
  }
  SECTION("key") {
    identity.key[31] = 1;
    check_emptied("another key_file");
  }
  SECTION("groups") {
    identity.groups[0] = 3;
    check_emptied("other groups");
  }
  SECTION("ownership") {
    identity.ownership_epoch = 4;
    check_emptied("another ownership of keys");
  }
  SECTION("write floors of another shape") {
    groups = 1;
    check_emptied("another number of groups");
  }
  SECTION("larger") {
    check_emptied("another size", 2 * kBytes);
  }
  SECTION("cut") {
    REQUIRE(::truncate(path.c_str(), kBytes - 4096) == 0);
    check_emptied("another size");
  }
}

TEST_CASE_METHOD(
    FileFixture,
    "whoever erases former owners' entries may begin with anybody's, not the other way") {
  identity.ownership_epoch = GENERATE(as<std::uint64_t>(), 0, 3, table::kChangingOwnership);
  leave_table(GENERATE(true, false));
  identity.ownership_epoch = table::kChangingOwnership;
  check_warm();
  identity.ownership_epoch = GENERATE(0, 3);
  check_emptied("another ownership of keys");
}

TEST_CASE_METHOD(FileFixture, "one bit changed in a closed file empties it") {
  leave_table(true);
  const std::string whole = text();
  const std::size_t offset = GENERATE(16, 24, 40, 100, 4096, 30000, kBytes - 1);
  overwrite(offset, std::string(1, static_cast<char>(whole[offset] ^ 4)));
  const auto table = open();
  REQUIRE(table.has_value());
  CHECK_FALSE(table->origin().is_warm);
  CHECK(table->stats().entries == 0);
  CHECK_FALSE(table->lookup(key_number(1)));
}

TEST_CASE_METHOD(FileFixture, "a file in use when the machine stopped is not used again") {
  leave_table(false);
  // As after a start of the machine: another boot, in a header that is whole.
  const std::string boot = [] {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  const std::size_t at = text().find(boot.substr(0, 36));
  REQUIRE(at < table::KeptFile::kHeaderBytes);
  overwrite(at, "x");
  const std::string header = text().substr(0, kSummedHeaderBytes);
  XXH128_canonical_t sum;
  XXH128_canonicalFromHash(&sum, XXH3_128bits(header.data(), header.size()));
  overwrite(header.size(), std::string(reinterpret_cast<const char*>(&sum), sizeof sum));
  check_emptied("it was in use when the machine stopped");
}

TEST_CASE_METHOD(FileFixture, "a copy of a file in use is not taken for it") {
  leave_table(false);
  const auto copy = folder.path() / "copy";
  std::filesystem::copy_file(path, copy);
  std::filesystem::rename(copy, path);
  check_emptied("a copy of one that was in use");
}

TEST_CASE_METHOD(FileFixture, "a closed file may be copied") {
  leave_table(true);
  const auto copy = folder.path() / "copy";
  std::filesystem::copy_file(path, copy);
  std::filesystem::rename(copy, path);
  check_warm();
}

TEST_CASE_METHOD(FileFixture, "a file that is none of ours is left as it is") {
  const std::string content = GENERATE(std::string("a"), std::string(100'000, '\0'));
  std::ofstream(path) << content;
  std::filesystem::permissions(path, std::filesystem::perms(0600));
  const auto table = open();
  REQUIRE_FALSE(table.has_value());
  CHECK(table.error().message ==
        "history table " + path.string() + ": is not a history table; it is left as it is");
  CHECK(text() == content);
}

TEST_CASE_METHOD(FileFixture, "a file that others may use is refused") {
  leave_table(true);
  std::filesystem::permissions(path, std::filesystem::perms(0640));
  const auto table = open();
  REQUIRE_FALSE(table.has_value());
  CHECK(table.error().message.find("expected mode 0600") != std::string::npos);
}

TEST_CASE_METHOD(FileFixture, "neither a folder nor a link is a table") {
  const auto other = folder.path() / "other";
  std::ofstream(other) << "x";
  SECTION("folder") {
    std::filesystem::create_directory(path);
  }
  SECTION("link") {
    std::filesystem::create_symlink(other, path);
  }
  CHECK_FALSE(open().has_value());
}

TEST_CASE_METHOD(FileFixture, "a file is one process's, and its successor waits for its end") {
  leave_table(true);
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto table = open();
    (void)!::write(ready[1], table ? "x" : "-", 1);
    ::usleep(300'000);
    ::_exit(0);
  }
  char byte;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK(byte == 'x');
  check_warm();
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE_METHOD(FileFixture, "a disk without room is one error") {
  // More than any disk has, and less than the bound on sizes.
  const auto table = open(std::size_t{1} << 45);
  REQUIRE_FALSE(table.has_value());
  CHECK(table.error().kind == ErrorKind::io);
  CHECK(table.error().message.find(path.string()) != std::string::npos);
  CHECK(std::filesystem::file_size(path) == 0);
}

}  // namespace prophecy
