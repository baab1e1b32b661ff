// A folder that is the state of a replica, for tests of its snapshots and restores; and parts that
// stand for others.
#pragma once

#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "map_part_store.hpp"
#include "pbft/services/state/folder_state.hpp"
#include "pbft/services/state/state_parts.hpp"
#include "state_runs.hpp"

namespace prophecy::pbft::test {

namespace fs = std::filesystem;

// A folder, and a replica's view of it.
struct Place {
  explicit Place(FolderSettings given = {}) { start(std::move(given)); }
  void start(FolderSettings given) {
    given.folder = folder.path();
    auto made = std::make_unique<FolderState>(given);
    state = made.get();
    keeper = std::make_unique<StateKeeper>(io, std::move(made));
  }

  void write(const std::string& path, const std::string& content) const {
    fs::create_directories((folder.path() / path).parent_path());
    std::ofstream(folder.path() / path, std::ios::binary) << content;
  }
  [[nodiscard]] std::string read(const std::string& path) const {
    std::ifstream file(folder.path() / path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // So old that it is no recent change any more: the change time cannot be set, so we wait.
  static void let_age() { ::usleep((FileMemory::kRecentSeconds + 1) * 1'000'000 + 100'000); }

  Result<Digest> snapshot(MapPartStore& parts) { return take_snapshot(io, *keeper, parts); }
  Result<> restore(const MapPartStore& parts, const Digest& root) {
    return run_restore(io, *keeper, parts, root);
  }
  std::string restore_error(const MapPartStore& parts, const Digest& root) {
    const auto restored = restore(parts, root);
    return restored.has_value() ? "" : restored.error().message;
  }
  [[nodiscard]] bool is_empty() const { return fs::is_empty(folder.path()); }

  boost::asio::io_context io{1};
  TemporaryFolder folder;
  FolderState* state = nullptr;
  std::unique_ptr<StateKeeper> keeper;
};

inline void fill(const Place& place) {
  place.write("index.html", "hello");
  place.write("empty", "");
  place.write("deep/er/file", std::string(3 * kContentBytesMax + 17, 'x'));
  place.write("exact", std::string(2 * kContentBytesMax, 'y'));
  fs::create_directory(place.folder.path() / "hollow");
  fs::create_symlink("deep/er", place.folder.path() / "link");
  fs::create_symlink("/etc/passwd", place.folder.path() / "far");
  fs::permissions(place.folder.path() / "index.html", fs::perms{0640});
  fs::permissions(place.folder.path() / "deep", fs::perms{0705});
}

inline Digest put(MapPartStore& parts, const Bytes& part) {
  const Digest digest = sha256(part);
  parts.parts.emplace(digest, part);
  return digest;
}

inline FolderEntry file_entry(MapPartStore& parts, const std::string& name,
                              const std::string& content) {
  FolderEntry entry;
  entry.name = name;
  entry.mode = 0644;
  entry.size = content.size();
  entry.child = put(parts, encode_content(as_bytes(content)));
  return entry;
}

inline Digest put_listing(MapPartStore& parts, const std::vector<FolderEntry>& entries) {
  return put(parts, encode_listing(entries));
}

}  // namespace prophecy::pbft::test
