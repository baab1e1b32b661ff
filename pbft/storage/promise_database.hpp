// The database below a store: RocksDB, tuned small, opened with distrust. Its headers are included
// by promise_database.cpp alone.
//
// Blocking. One thread writes; another may load meanwhile.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "pbft/core/state/actions.hpp"
#include "pbft/storage/store_settings.hpp"
#include "pbft/storage/write_marks.hpp"

namespace prophecy::pbft {

class PromiseDatabase {
 public:
  using Visit = std::function<void(ByteView key, ByteView value)>;

  // An empty one, on the disk, in a folder that does not exist yet.
  [[nodiscard]] static Result<> make(const std::filesystem::path& folder, const MarkSecret& secret);

  // ErrorKind::damaged when it is not whole; it is left as it was then.
  [[nodiscard]] static Result<PromiseDatabase> open(const std::filesystem::path& folder,
                                                    const MarkSecret& secret);
  PromiseDatabase(PromiseDatabase&&) noexcept;
  ~PromiseDatabase();

  // By rising keys.
  [[nodiscard]] Result<> load(const Visit& visit) const;

  // One write: after a crash all of it is there, or nothing. After a failure nothing more may be
  // written.
  [[nodiscard]] Result<> write(std::span<const std::vector<DurableWrite>> commits, SyncPolicy sync);

 private:
  struct Handle;
  explicit PromiseDatabase(std::unique_ptr<Handle> handle);
  std::unique_ptr<Handle> handle_;
};

}  // namespace prophecy::pbft
