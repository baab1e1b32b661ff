// Who may have a folder as a state.
#include <catch2/catch.hpp>
#include <grp.h>

#include "folder_place.hpp"

namespace prophecy::pbft::test {
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

}  // namespace prophecy::pbft::test
