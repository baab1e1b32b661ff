// The folder of a store, and whose it is:
//
//   store/identity    the group, its life and the replica it belongs to; a checksum
//   store/promises/   the database (pbft/storage/store.hpp)
//   store.new/        a store that was not finished when the program ended; begun anew
//   parts/            pbft/storage/file_part_store.hpp
//
// A store appears by a rename, whole. So a folder with something in it and no store is one that
// has lost it, and is not begun anew in silence: what the replica promised is not known any more.
//
// The folder is locked for as long as the object lives (flock; it ends with the process).
#pragma once

#include <array>
#include <filesystem>
#include <functional>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/unique_fd.hpp"
#include "pbft/storage/write_marks.hpp"

namespace prophecy::pbft {

struct StoreIdentity {
  std::array<std::uint8_t, 16> group{};
  std::array<std::uint8_t, 16> founded{};  // its life
  NodeId replica = 0;
};

class StoreFolder {
 public:
  // Makes an empty database with the marks of `secret` in the folder, which does not exist yet.
  using MakeDatabase =
      std::function<Result<>(const std::filesystem::path& folder, const MarkSecret& secret)>;

  // ErrorKind::invalid: it belongs to somebody else, others may write to it, its format is not
  // known. unavailable: another process has it. damaged: see above; set_aside() may be called.
  [[nodiscard]] static Result<StoreFolder> open(const std::filesystem::path& folder,
                                                const StoreIdentity& identity,
                                                const MakeDatabase& make_database);

  [[nodiscard]] bool fresh() const { return fresh_; }  // made by this open()
  [[nodiscard]] std::filesystem::path database() const { return folder_ / "store" / "promises"; }
  [[nodiscard]] const MarkSecret& mark_secret() const { return secret_; }

 private:
  StoreFolder() = default;
  [[nodiscard]] Result<> lock();
  [[nodiscard]] Result<> make_store(const StoreIdentity& identity, const MakeDatabase& database);
  [[nodiscard]] Result<> check_identity(const StoreIdentity& identity);

  std::filesystem::path folder_;
  UniqueFd lock_;  // the folder itself
  MarkSecret secret_{};
  bool fresh_ = false;
};

// Renames the folder to FOLDER.damaged-N, for people to look at, and removes all but the newest
// three of those. Gives the new name. ErrorKind::unavailable when a process has the store open.
[[nodiscard]] Result<std::filesystem::path> set_aside(const std::filesystem::path& folder);

}  // namespace prophecy::pbft
