// Who may have a folder as a state, and with whose rights it is read.
#include <thread>

#include <catch2/catch.hpp>
#include <grp.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "folder_place.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr uid_t kOwner = 65534;

void give(const fs::path& path) {
  REQUIRE(::chown(path.c_str(), kOwner, kOwner) == 0);
}

// This process has root's groups beside its own, until the end of the block.
class RootsGroups {
 public:
  RootsGroups() {
    before_.resize(static_cast<std::size_t>(::getgroups(0, nullptr)));
    REQUIRE(::getgroups(static_cast<int>(before_.size()), before_.data()) >= 0);
    const gid_t root = 0;
    REQUIRE(::setgroups(1, &root) == 0);
  }
  ~RootsGroups() { ::setgroups(before_.size(), before_.data()); }
  RootsGroups(const RootsGroups&) = delete;
  RootsGroups& operator=(const RootsGroups&) = delete;

 private:
  std::vector<gid_t> before_;
};

// Takes a capability from the calling thread.
bool give_up(unsigned capability) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return false;
  data[CAP_TO_INDEX(capability)].effective &= ~CAP_TO_MASK(capability);
  return ::syscall(SYS_capset, &header, data) == 0;
}

}  // namespace

TEST_CASE("A second agent gets no folder that one has") {
  Place first;
  first.write("page", "content");
  REQUIRE(first.keeper->open().has_value());
  FolderSettings settings;
  settings.folder = first.folder.path();
  MapPartStore parts;
  const auto is_refused = [&] {
    FolderState second(settings);
    const auto opened = second.open();
    if (!opened) CHECK_THAT(opened.error().message, Catch::Contains("another agent has it"));
    return !opened;
  };
  CHECK(is_refused());
  REQUIRE(first.snapshot(parts).has_value());
  CHECK(is_refused());
  // Whoever comes too late has no snapshots and no restores either.
  StateKeeper late(first.io, std::make_unique<FolderState>(settings));
  CHECK_THAT(take_snapshot(first.io, late, parts).error().message,
             Catch::Contains("another agent has it"));
  first.keeper.reset();
  CHECK_FALSE(is_refused());
}

TEST_CASE("A folder that takes another's name is locked as that was") {
  TemporaryFolder home;
  FolderSettings settings;
  settings.folder = home.path() / "data";
  fs::create_directory(settings.folder);
  boost::asio::io_context io{1};
  MapPartStore parts;
  StateKeeper first(io, std::make_unique<FolderState>(settings));
  REQUIRE(first.open().has_value());
  fs::rename(settings.folder, home.path() / "aside");
  fs::create_directory(settings.folder);
  CHECK(take_snapshot(io, first, parts).has_value());
  CHECK_FALSE(FolderState(settings).open().has_value());
  settings.folder = home.path() / "aside";
  CHECK(FolderState(settings).open().has_value());
}

TEST_CASE("What its owner may not read is no part of a state, whoever runs the agent") {
  if (::geteuid() != 0) {
    WARN("not run: only root can give the folder to another user");
    return;
  }
  Place place;
  place.write("page", "content");
  give(place.folder.path());
  give(place.folder.path() / "page");
  MapPartStore parts;
  REQUIRE(place.snapshot(parts).has_value());
  // A file of root's, to which the origin has made a hard link.
  TemporaryFolder roots;
  const fs::path secret = roots.path() / "secret";
  std::ofstream(secret) << "root's own";
  const mode_t mode = GENERATE(0600, 0640);
  REQUIRE(::chmod(secret.c_str(), mode) == 0);
  fs::create_hard_link(secret, place.folder.path() / "mine");
  const RootsGroups groups;
  place.start({});
  const auto root = place.snapshot(parts);
  REQUIRE_FALSE(root.has_value());
  CHECK_THAT(root.error().message, Catch::Contains("mine: Permission denied"));
  CHECK_FALSE(parts.holds(sha256(encode_content(as_bytes("root's own")))));
  // What everybody may read, the origin may copy as well.
  REQUIRE(::chmod(secret.c_str(), 0644) == 0);
  CHECK(place.snapshot(parts).has_value());
}

TEST_CASE("A root that may not act as the folder's owner does not start, and stays itself") {
  if (::geteuid() != 0) {
    WARN("not run: only root can give the folder to another user");
    return;
  }
  Place place;
  place.write("page", "content");
  give(place.folder.path());
  FolderSettings settings;
  settings.folder = place.folder.path();
  const RootsGroups groups;
  const unsigned capability = GENERATE(CAP_SETGID, CAP_SETUID);
  std::string message;
  bool is_given_up = false;
  std::size_t groups_after = 0;
  bool writes = false;
  place.keeper.reset();
  std::thread([&] {
    is_given_up = give_up(capability);
    if (auto opened = FolderState(settings).open(); !opened) message = opened.error().message;
    groups_after = static_cast<std::size_t>(::getgroups(0, nullptr));
    std::ofstream file(settings.folder / "page");
    writes = file.is_open();
  }).join();
  REQUIRE(is_given_up);
  CHECK_THAT(message, Catch::Contains("may not act as the folder's owner"));
  CHECK(groups_after == 1);
  CHECK(writes);  // as root
  CHECK(FolderState(settings).open().has_value());
}

TEST_CASE("Names of one file in the folder are files of their own where it is restored") {
  Place here;
  here.write("a", "content");
  fs::create_hard_link(here.folder.path() / "a", here.folder.path() / "b");
  MapPartStore parts;
  const Digest root = *here.snapshot(parts);
  Place there;
  REQUIRE(there.restore(parts, root).has_value());
  CHECK(there.read("b") == "content");
  CHECK(fs::hard_link_count(there.folder.path() / "a") == 1);
  // Where it is right already it stays as it is.
  REQUIRE(here.restore(parts, root).has_value());
  CHECK(fs::hard_link_count(here.folder.path() / "a") == 2);
  // In place or not, what is written to it then is another state, which the next restore mends.
  here.write("b", "CONTENT");
  CHECK(*here.snapshot(parts) != root);
  REQUIRE(here.restore(parts, root).has_value());
  CHECK(here.read("a") == "content");
  CHECK(*here.snapshot(parts) == root);
}

}  // namespace prophecy::pbft::test
