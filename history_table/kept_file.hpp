// The file that a table outlives its processes in, on tmpfs or a disk: a header of one page, then
// the table's memory, which is mapped from it.
//
// What a file holds is used again only if it is what this configuration left there, whole:
//  - closed in order: its check sum, made when nobody wrote any more, has to fit;
//  - left by processes that were killed: only while the machine has not been started since, by what
//    it calls its boot, and in the very file; then the system's memory has all that they stored.
// A loss of power leaves any mix of old and new pages, but also a header that says "in use": that
// was on the disk before the first page was changed.
//
// Not shared by processes: the master opens and closes it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "history_table/memory.hpp"

namespace prophecy::table {

// An ownership of keys that change hands while the sketcher runs: before it answers by an entry, it
// erases what earlier ones have left of that key. So it may begin with a file of any ownership; and
// of its own file nobody else may, since entries there are older than what other owners have
// answered meanwhile.
constexpr std::uint64_t kChangingOwnership = UINT64_MAX;

// What the entries of a table depend on. A file of another identity is emptied.
struct Identity {
  using Id = std::array<std::uint8_t, 32>;

  std::uint32_t digest = 0;           // the kind of the sketches
  Id key{};                           // of the secret under which they are made
  Id groups{};                        // of the groups that answer, in their order
  std::uint64_t ownership_epoch = 0;  // which keys are this sketcher's; 0: all, always
  std::uint32_t group_count = 0;      // that have write floors in front of the entries

  bool operator==(const Identity&) const = default;
};

class KeptFile {
 public:
  static constexpr std::size_t kHeaderBytes = 4096;

  struct Opened;

  // Creates or takes the file; waits some seconds for a predecessor to end. `fresh_seed` becomes
  // the table's if it begins empty. An error, with the file left as it was, if it is none of ours,
  // or others may read or write it.
  [[nodiscard]] static Result<Opened> open(const std::filesystem::path& path, std::size_t bytes,
                                           const Identity& identity, std::uint64_t fresh_seed);

  // Requires that nobody writes to `memory` any more.
  [[nodiscard]] Result<> close(const Memory& memory);

 private:
  struct Header;

  explicit KeptFile(std::filesystem::path path, UniqueFd fd)
      : path_(std::move(path)), fd_(std::move(fd)) {}

  [[nodiscard]] Result<> take();
  [[nodiscard]] Result<Header> read_header() const;
  [[nodiscard]] Result<> write_header(const Header& header) const;
  [[nodiscard]] Result<> make_empty(const Header& header) const;
  [[nodiscard]] Error error(const std::string& problem) const;
  [[nodiscard]] Error system_error(const std::string& what) const;

  std::filesystem::path path_;
  UniqueFd fd_;  // and the lock on it, which children share
};

struct KeptFile::Opened {
  KeptFile file;
  Memory memory;  // the header's page first
  std::uint64_t seed = 0;
  bool is_warm = false;     // it has a predecessor's entries
  std::string emptied_for;  // why it has not, though there was a file
};

}  // namespace prophecy::table
