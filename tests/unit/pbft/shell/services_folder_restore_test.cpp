// How a folder is restored: from what is damaged, over what is there, with whose rights.
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "folder_place.hpp"

namespace prophecy::pbft::test {
namespace {

// So deep that no path leads to its end, as a client makes it that moves folders into folders.
void make_deep_folder(const fs::path& folder, int levels) {
  UniqueFd place(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < levels; ++level) {
    REQUIRE(::mkdirat(place.get(), "deeper", 0755) == 0);
    place.reset(::openat(place.get(), "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(place);
  }
  const UniqueFd file(::openat(place.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  REQUIRE(file);
}

// This process may have so many descriptors open, until the end of the block.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t number) {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
    const rlimit few{number, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("A part that is missing or damaged leaves the folder as it was") {
  Place here;
  fill(here);
  MapPartStore whole;
  const Digest root = *here.snapshot(whole);
  Place there;
  there.write("index.html", "other");  // of the same size
  there.write("old/page", "kept");
  there.write("exact", "another size");
  MapPartStore own;
  const Digest before = *there.snapshot(own);
  for (const auto& [digest, part] : whole.parts) {
    MapPartStore parts = whole;
    parts.parts.erase(digest);
    CHECK_FALSE(there.restore(parts, root).has_value());
    parts.parts[digest] = encode_content(as_bytes("rotten"));
    CHECK_FALSE(there.restore(parts, root).has_value());
    CHECK(*there.snapshot(own) == before);
  }
  REQUIRE(there.restore(whole, root).has_value());
  CHECK(*there.snapshot(own) == root);
}

TEST_CASE("A restore reads no parts of files that are in their places") {
  Place place;
  place.write("large", std::string(20 * kContentBytesMax, 'x'));
  MapPartStore parts;
  const Digest root = *place.snapshot(parts);
  place.write("more", "to be removed");
  REQUIRE(place.restore(parts, root).has_value());
  CHECK(parts.reads < 10);
}

TEST_CASE("What a restore that was cut short leaves behind, the next one repairs") {
  Place here;
  fill(here);
  MapPartStore parts;
  const Digest root = *here.snapshot(parts);
  Place there;
  MapPartStore incomplete;
  incomplete.parts = parts.parts;
  const Digest lost = sha256(encode_content(as_bytes("hello")));
  REQUIRE(incomplete.parts.erase(lost) == 1);
  CHECK_THAT(there.restore_error(incomplete, root), Catch::Contains(to_hex(lost)));
  CHECK(there.is_empty());
  // As a crash leaves it, in the middle.
  there.write("exact", here.read("exact"));
  there.write(".prophecy-restore-0", "half");
  there.write("deep/.prophecy-restore-1", "half");
  MapPartStore others;
  CHECK(*there.snapshot(others) != root);
  REQUIRE(there.restore(parts, root).has_value());
  CHECK_FALSE(fs::exists(there.folder.path() / ".prophecy-restore-0"));
  CHECK(*there.snapshot(others) == root);
}

TEST_CASE("A client's file may have the name of our temporary ones") {
  Place here;
  here.write(".prophecy-restore-0", "a client's");
  here.write("z", "z");
  MapPartStore parts;
  const Digest root = *here.snapshot(parts);
  Place there;
  REQUIRE(there.restore(parts, root).has_value());
  CHECK(there.read(".prophecy-restore-0") == "a client's");
}

TEST_CASE("Names of temporary files cannot be used up") {
  Place here;
  for (int number = 0; number < 1000; ++number)
    here.write(".prophecy-restore-" + std::to_string(number), "a client's");
  here.write("z", "z");
  MapPartStore parts;
  const Digest root = *here.snapshot(parts);
  Place there;
  CHECK(there.restore_error(parts, root).empty());
  CHECK(there.read("z") == "z");
}

TEST_CASE("A restore repairs what nobody may read, write or search") {
  if (::geteuid() != 0) {
    WARN("not run: only root can give the folder to another user");
    return;
  }
  constexpr uid_t kFormerOwner = 65534;
  Place here;
  here.write("page", "right");
  here.write("sub/page", "right");
  MapPartStore parts;
  const Digest root = *here.snapshot(parts);
  Place there;
  there.write("page", "wrong");  // as long as the right one
  there.write("sub/page", "wrong");
  there.write("more/deep/file", "goes");
  for (const char* path : {"", "page", "sub", "sub/page", "more", "more/deep", "more/deep/file"})
    REQUIRE(::chown((there.folder.path() / path).c_str(), kFormerOwner, kFormerOwner) == 0);
  REQUIRE(::chmod((there.folder.path() / "page").c_str(), 0) == 0);
  REQUIRE(::chmod((there.folder.path() / "sub").c_str(), 0) == 0);
  REQUIRE(::chmod((there.folder.path() / "more/deep").c_str(), 0555) == 0);
  REQUIRE(::chmod((there.folder.path() / "more").c_str(), 0) == 0);
  CHECK(there.restore_error(parts, root).empty());
  CHECK(there.read("page") == "right");
  CHECK(there.read("sub/page") == "right");
  CHECK_FALSE(fs::exists(there.folder.path() / "more"));
  // By the owner, who gave nothing away: another user's file that lies there was no way out.
  struct stat status {};
  REQUIRE(::stat((there.folder.path() / "sub/page").c_str(), &status) == 0);
  CHECK(status.st_uid == kFormerOwner);
  CHECK(status.st_gid == kFormerOwner);
}

TEST_CASE("A restore as root has its folder's owner's rights alone") {
  if (::geteuid() != 0) {
    WARN("not run: only root can give the folder to another user");
    return;
  }
  constexpr uid_t kFormerOwner = 65534;
  Place here;
  here.write("locked/page", "right");
  MapPartStore parts;
  const Digest root = *here.snapshot(parts);
  Place there;
  there.write("locked/page", "wrong");
  REQUIRE(::chown(there.folder.path().c_str(), kFormerOwner, kFormerOwner) == 0);
  REQUIRE(::chmod((there.folder.path() / "locked").c_str(), 0755) == 0);  // root's
  CHECK_THAT(there.restore_error(parts, root), Catch::Contains("ermission denied"));
  CHECK(there.read("locked/page") == "wrong");
  // The rights of the thread, and of this one, are as they were.
  REQUIRE(::chown((there.folder.path() / "locked").c_str(), kFormerOwner, kFormerOwner) == 0);
  CHECK(there.restore_error(parts, root).empty());
  CHECK(there.read("locked/page") == "right");
}

TEST_CASE("An agent of root's touches no folder that somebody else could exchange") {
  if (::geteuid() != 0) return;
  constexpr uid_t kOrigin = 65534;
  constexpr uid_t kOther = 65533;
  TemporaryFolder home;
  const fs::path folder = home.path() / "data";
  fs::create_directory(folder);
  std::ofstream(folder / "page") << "content";
  FolderSettings settings;
  settings.folder = folder;
  boost::asio::io_context io{1};
  MapPartStore parts;
  const auto snapshot = [&] {
    StateKeeper keeper(io, std::make_unique<FolderState>(settings));
    return take_snapshot(io, keeper, parts);
  };
  const auto restore = [&](const Digest& root) {
    StateKeeper keeper(io, std::make_unique<FolderState>(settings));
    return run_restore(io, keeper, parts, root);
  };
  const auto root = snapshot();
  REQUIRE(root.has_value());
  fs::create_directory(home.path() / "precious");
  std::ofstream(home.path() / "precious/page") << "another";
  // The origin owns the folder around its own, and puts a link to root's there, or to others'.
  REQUIRE(::chown(home.path().c_str(), kOrigin, kOrigin) == 0);
  REQUIRE(::chown(folder.c_str(), kOrigin, kOrigin) == 0);
  CHECK(snapshot().has_value());
  fs::rename(folder, home.path() / "aside");
  fs::create_directory_symlink("precious", folder);
  for (const uid_t owner : {uid_t{0}, kOther}) {
    REQUIRE(::chown((home.path() / "precious").c_str(), owner, owner) == 0);
    CHECK_THAT(restore(*root).error().message, Catch::Contains("could put another folder there"));
    CHECK_FALSE(snapshot().has_value());
  }
  std::ifstream kept(home.path() / "precious/page");
  CHECK(std::string(std::istreambuf_iterator<char>(kept), {}) == "another");
  // A link that leads there from elsewhere is no better.
  TemporaryFolder rooted;
  fs::create_directory_symlink(folder, rooted.path() / "link");
  settings.folder = rooted.path() / "link";
  CHECK_FALSE(restore(*root).has_value());
  REQUIRE(::chown(home.path().c_str(), 0, 0) == 0);
  CHECK(restore(*root).has_value());
}

TEST_CASE("A restore removes folders however deep they are") {
  Place here;
  here.write("page", "right");
  here.write("kept/page", "right");
  MapPartStore parts;
  const Digest root = *here.snapshot(parts);
  Place there;
  there.write("kept/page", "right");
  make_deep_folder(there.folder.path(), 1000);
  make_deep_folder(there.folder.path() / "kept", 100);
  fs::create_directory(there.folder.path() / "page");  // where a file belongs
  make_deep_folder(there.folder.path() / "page", 50);
  {
    const FewDescriptors limit(256);
    REQUIRE(there.restore_error(parts, root).empty());
  }
  MapPartStore own;
  CHECK(*there.snapshot(own) == root);
}

TEST_CASE("A restore makes room before it writes") {
  Place here;
  here.write("a/first", std::string(100'000, 'x'));
  here.write("b/kept", "kept");
  MapPartStore parts;
  const Digest root = *here.snapshot(parts);
  Place there;
  there.write("a/more", "to be removed");
  there.write("a/second/more", "to be removed");
  there.write("b/kept", "kept");
  there.write("b/more", "to be removed");
  there.write("z", "to be removed");
  // As on a disk that is full.
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{10'000, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string error = there.restore_error(parts, root);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK_THAT(error, Catch::Contains("too large"));
  for (const char* path : {"a/first", "a/more", "a/second", "b/more", "z"})
    CHECK_FALSE(fs::exists(there.folder.path() / path));
  CHECK(there.restore_error(parts, root).empty());
}

TEST_CASE("Another file system below the folder is no part of a state") {
  REQUIRE(fs::exists("/proc/self"));
  boost::asio::io_context io{1};
  // Of all that lies in /, but the mount point.
  FolderSettings settings;
  settings.folder = "/";
  settings.exclude = {"[!p]*", "p[!r]*"};
  StateKeeper keeper(io, std::make_unique<FolderState>(settings));
  MapPartStore parts;
  const auto root = take_snapshot(io, keeper, parts);
  REQUIRE_FALSE(root.has_value());
  CHECK_THAT(root.error().message, Catch::Contains("/proc: another file system"));
}

TEST_CASE("Stopping in the middle of a snapshot ends it without an answer") {
  Place place;
  for (int i = 0; i < 200; ++i)
    place.write(std::to_string(i), std::string(kContentBytesMax, 'x'));
  MapPartStore parts;
  bool answered = false;
  place.keeper->snapshot(parts, [&](Result<Digest>) { answered = true; });
  REQUIRE(run_until(place.io, [&] { return !parts.parts.empty(); }));
  place.keeper->stop();
  run_for(place.io, milliseconds(50));
  CHECK_FALSE(answered);
  CHECK(parts.parts.size() < 200);
}

}  // namespace prophecy::pbft::test
