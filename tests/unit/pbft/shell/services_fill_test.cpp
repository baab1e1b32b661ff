// How full the state of an origin is, and how its snapshots come about.
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "map_part_store.hpp"
#include "pbft/services/state/folder_state.hpp"
#include "pbft/services/state/state_parts.hpp"
#include "pbft/services/state_keeper.hpp"
#include "state_runs.hpp"

using namespace prophecy;
using namespace prophecy::pbft;
using namespace prophecy::pbft::test;

namespace {

namespace fs = std::filesystem;

struct Folder {
  explicit Folder(FolderSettings settings) {
    settings.folder = folder.path();
    auto made = std::make_unique<FolderState>(settings);
    state = made.get();
    keeper = std::make_unique<StateKeeper>(io, std::move(made));
  }
  void write(const std::string& name, std::size_t size = 0) const {
    std::ofstream(folder.path() / name) << std::string(size, 'x');
  }
  Digest snapshot() {
    const auto root = take_snapshot(io, *keeper, parts);
    REQUIRE(root.has_value());
    return *root;
  }

  boost::asio::io_context io{1};
  TemporaryFolder folder;
  MapPartStore parts;
  FolderState* state = nullptr;
  std::unique_ptr<StateKeeper> keeper;
};

}  // namespace

TEST_CASE("A state is full at its bounds, and a snapshot is still made beyond them") {
  Folder folder({.files_max = 4, .files_beyond = 2});
  folder.write("a");
  const Digest little = folder.snapshot();
  CHECK(folder.state->fill_percent() == 25);
  for (const char* name : {"b", "c", "d", "e"})
    folder.write(name);
  const Digest full = folder.snapshot();
  CHECK(folder.state->fill_percent() == 125);
  // Equal states are as full, however they came about.
  REQUIRE(run_restore(folder.io, *folder.keeper, folder.parts, little).has_value());
  CHECK(folder.state->fill_percent() == 25);
  REQUIRE(run_restore(folder.io, *folder.keeper, folder.parts, full).has_value());
  CHECK(folder.state->fill_percent() == 125);
}

TEST_CASE("What is no part of a state does not fill it") {
  Folder folder({.files_max = 4, .exclude = {"*.tmp"}});
  folder.write("a");
  for (int number = 0; number < 9; ++number) {
    const std::string name = std::to_string(number);
    folder.write(name + ".tmp", 100);
    REQUIRE(::mkfifo((folder.folder.path() / name).c_str(), 0600) == 0);
    (void)folder.snapshot();
    CHECK(folder.state->fill_percent() == 25);
    fs::remove(folder.folder.path() / name);
  }
  REQUIRE(::mkfifo((folder.folder.path() / "pipe").c_str(), 0600) == 0);
  (void)folder.snapshot();
  CHECK(folder.state->fill_percent() == 25);
}

TEST_CASE("How full a state is does not depend on whether its snapshot succeeds") {
  Folder folder({.files_max = 4, .files_beyond = 4});
  folder.write("a", 100);
  (void)folder.snapshot();
  for (const char* name : {"b", "c", "d"})
    folder.write(name, 100);
  folder.parts.full = true;
  folder.write("b", 99);
  CHECK_FALSE(take_snapshot(folder.io, *folder.keeper, folder.parts).has_value());
  CHECK(folder.state->fill_percent() == 100);
}

TEST_CASE("A snapshot that fails leaves no parts behind") {
  Folder folder({.files_max = 3});
  folder.write("a", 100);
  (void)folder.snapshot();
  const auto before = folder.parts.parts;
  folder.write("b", 300);
  fs::create_directory(folder.folder.path() / "c");
  for (const char* name : {"c/1", "c/2"})
    folder.write(name, 200);
  CHECK_FALSE(take_snapshot(folder.io, *folder.keeper, folder.parts).has_value());
  CHECK(folder.parts.kept > before.size());  // some were kept meanwhile
  CHECK(folder.parts.parts == before);
}

TEST_CASE("Bytes and levels of folders fill a state as well") {
  Folder bytes({.bytes_max = 1000, .bytes_beyond = 1000});
  bytes.write("a", 1000);
  (void)bytes.snapshot();
  CHECK(bytes.state->fill_percent() == 100);
  Folder deep({});
  fs::path path = deep.folder.path();
  for (std::size_t depth = 0; depth < kFolderDepthMax; ++depth)
    path /= "d";
  fs::create_directories(path);
  (void)deep.snapshot();  // and its root can be pinned
  CHECK(deep.state->fill_percent() >= 100);
}

// A client's upload may have parts in common with the state.
TEST_CASE("What others drop while a snapshot is made stays where the snapshot has it") {
  Folder folder({});
  const Bytes piece = encode_content(as_bytes("xxx"));
  const Digest common = sha256(piece);
  folder.write("a", 3);
  std::optional<Digest> other;
  SECTION("a part that was there before") {
    REQUIRE(folder.parts.keep(common, piece));
  }
  SECTION("a part that came with it") {}
  SECTION("another state that has the part") {
    REQUIRE(folder.parts.keep(common, piece));
    other = folder.parts.add({{common}}, as_bytes("other"));
    REQUIRE(folder.parts.pin(*other));
  }
  folder.parts.is_behind = true;
  std::optional<Result<Digest>> root;
  folder.keeper->snapshot(folder.parts, [&](Result<Digest> made) { root = std::move(made); });
  REQUIRE(run_until(folder.io, [&] { return !folder.parts.waiting.empty(); }));
  REQUIRE(folder.parts.holds(common));
  if (other) folder.parts.unpin(*other);
  folder.parts.discard(common);
  folder.parts.end_backlog();
  REQUIRE(run_until(folder.io, [&] { return root.has_value(); }));
  REQUIRE(root->has_value());
  CHECK(folder.parts.pin(**root));
}

TEST_CASE("What a snapshot no longer has goes with the last state that has it") {
  Folder folder({});
  std::optional<Digest> before;
  std::size_t most = 0;
  for (int size = 1; size <= 6; ++size) {
    folder.write("a", static_cast<std::size_t>(size));
    const Digest root = folder.snapshot();
    // As when its checkpoint has become stable.
    if (before) folder.parts.unpin(*before);
    before = root;
    if (size == 3) most = folder.parts.parts.size();
  }
  CHECK(folder.parts.parts.size() == most);
}

TEST_CASE("A snapshot waits while its parts wait for the disk") {
  Folder folder({});
  std::ofstream large(folder.folder.path() / "large");
  for (int line = 0; line < 1'000'000; ++line)
    large << line << '\n';
  large.close();
  folder.parts.is_behind = true;
  std::optional<Result<Digest>> root;
  folder.keeper->snapshot(folder.parts, [&](Result<Digest> made) { root = std::move(made); });
  const auto bytes = [&] {
    std::size_t sum = 0;
    for (const auto& [digest, part] : folder.parts.parts)
      sum += part.size();
    return sum;
  };
  REQUIRE(run_until(folder.io, [&] { return bytes() > 0; }));
  SECTION("as long as that takes") {
    for (int i = 0; i < 20; ++i)
      folder.io.run_one_for(milliseconds(5));
    CHECK_FALSE(root.has_value());
    CHECK(bytes() <= PartPipe::kBytesInFlightMax);
    folder.parts.end_backlog();
    REQUIRE(run_until(folder.io, [&] { return root.has_value(); }));
    CHECK(root->has_value());
    CHECK(folder.parts.reaches_all(**root));
  }
  SECTION("and ends when it is stopped") {
    folder.keeper->stop();
    folder.parts.end_backlog();
    CHECK_FALSE(root.has_value());
  }
}
