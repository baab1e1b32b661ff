// Snapshots of folders, for the end-to-end tests:
//
//   folder_state root FOLDER          prints the root's digest
//   folder_state copy FOLDER OTHER    makes OTHER the same, through parts; prints how many files of
//                                     it were written
//
// Files below static/ have times that are part of the state; mod_dav's properties are left out.
#include "pbft/services/state/folder_state.hpp"

#include <iostream>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>

#include "pbft/core/state/memory_part_store.hpp"
#include "pbft/services/state_keeper.hpp"

namespace {

using namespace prophecy;
using namespace prophecy::pbft;

struct Folder {
  Folder(boost::asio::io_context& io, const std::string& path) {
    FolderSettings settings;
    settings.folder = path;
    settings.covered_times = {"static/*"};
    settings.exclude = {".DAV"};
    auto made = std::make_unique<FolderState>(settings);
    state = made.get();
    keeper = std::make_unique<StateKeeper>(io, std::move(made));
  }
  FolderState* state = nullptr;
  std::unique_ptr<StateKeeper> keeper;
};

int complain(const Error& error) {
  std::cerr << error.message << '\n';
  return 1;
}

int run(const std::string& command, const std::string& from, const std::string& to) {
  boost::asio::io_context io(1);
  MemoryPartStore parts;
  Folder folder(io, from);
  std::optional<Result<Digest>> root;
  folder.keeper->snapshot(parts, [&](Result<Digest> made) { root = std::move(made); });
  io.run();
  if (!*root) return complain(root->error());
  if (command == "root") {
    std::cout << to_hex(**root) << '\n';
    return 0;
  }
  Folder other(io, to);
  std::optional<Result<>> restored;
  other.keeper->restore(parts, **root, [&](Result<> done) { restored = std::move(done); });
  io.restart();
  io.run();
  if (!*restored) return complain(restored->error());
  std::cout << other.state->files_written() << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if ((command == "root" && argc == 3) || (command == "copy" && argc == 4)) {
    return run(command, argv[2], argc == 4 ? argv[3] : "");
  }
  std::cerr << "usage: folder_state root FOLDER | copy FOLDER OTHER\n";
  return 2;
}
