// `PartFiles` is where a part store (pbft/storage/file_part_store.hpp) keeps its files, one a part,
// each named by the part's digest: a folder (pbft/storage/part_folder.hpp), or a simulated disk.
//
// write() and sync() are called from the store's background work, remove() also from the store's
// thread, never for one name from both at the same time. All else is called from the store's
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/error.hpp"
#include "pbft/wire/part.hpp"

namespace prophecy::pbft {

class PartFiles {
 public:
  virtual ~PartFiles() = default;

  // All that lie there. Removes what a process left unfinished.
  [[nodiscard]] virtual Result<std::vector<Digest>> list() = 0;
  // ErrorKind::io: it is there and cannot be read now. ErrorKind::damaged: there is no such file.
  // The content may be anything.
  [[nodiscard]] virtual Result<Bytes> read(const Digest& name) const = 0;
  // All of the file, in the place of the one that has this name, or nothing of it. False when the
  // system refuses. On the disk after the next sync().
  [[nodiscard]] virtual bool write(const Digest& name, ByteView content) = 0;
  virtual void remove(const Digest& name) = 0;
  // True when all that was written before the call is on the disk.
  [[nodiscard]] virtual bool sync() = 0;
  // So many bytes more leave kFreeBytesMin to others.
  [[nodiscard]] virtual bool has_room(std::uint64_t bytes) const = 0;
};

// `PartWriter` runs a part store's work on its files aside from the store's thread.
class PartWriter {
 public:
  // The work that is under way is waited for; its end is not told then.
  virtual ~PartWriter() = default;
  // Calls `work` aside, then `done` on the store's thread. Requires that nothing is under way.
  virtual void run(std::function<void()> work, std::function<void()> done) = 0;
};

}  // namespace prophecy::pbft
