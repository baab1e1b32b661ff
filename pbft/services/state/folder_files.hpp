// What snapshots and restores of a folder do with files: always relative to an open folder, never
// through a symbolic link.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::pbft {

// The path within the state folder, for messages and patterns.
[[nodiscard]] std::string path_below(const std::string& folder, const std::string& name);

// The configured folder itself, which may be reached through links.
[[nodiscard]] Result<UniqueFd> open_state_folder(const std::string& path);
[[nodiscard]] Result<UniqueFd> open_folder_at(int folder, const std::string& name,
                                              const std::string& path);
// A folder that its owner may read, write and search: where its mode says otherwise, it is changed.
[[nodiscard]] Result<UniqueFd> open_own_folder_at(int folder, const std::string& name,
                                                  const std::string& path);
[[nodiscard]] Result<UniqueFd> open_file_at(int folder, const std::string& name,
                                            const std::string& path);

// Calls `visit` for each name but `.` and `..`, in no order; it may remove what it is called for.
// Ends at the first error.
[[nodiscard]] Result<> for_each_name(int folder, const std::string& path,
                                     const std::function<Result<>(const std::string&)>& visit);
// Those that are `wanted`, sorted by their bytes. ErrorKind::limit when there are more of them than
// `names_max`.
[[nodiscard]] Result<std::vector<std::string>> names_in(
    int folder, const std::string& path, std::uint64_t names_max,
    const std::function<bool(const std::string&)>& wanted);
// A socket, a pipe or a device: no part of a state, and nothing that a restore touches.
[[nodiscard]] inline bool is_special(const struct stat& status) {
  return !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode);
}
// False when there is nothing of that name.
[[nodiscard]] Result<bool> status_at(int folder, const std::string& name, const std::string& path,
                                     struct stat& status);
[[nodiscard]] Result<std::string> link_target_at(int folder, const std::string& name,
                                                 const std::string& path);
// At most `room` bytes; 0 at the end.
[[nodiscard]] Result<std::size_t> read_some(int file, std::span<std::uint8_t> room,
                                            const std::string& path);
[[nodiscard]] Result<> write_all(int file, ByteView bytes, const std::string& path);
// ErrorKind::invalid when another file system is mounted at the folder `status`, below `folder`.
[[nodiscard]] Result<> check_file_system(int folder, const struct stat& status,
                                         const std::string& path);
// With everything below it, whatever it is, whatever its modes are and however deep it lies.
// Another file system that is mounted there stays as it is, and is an error.
[[nodiscard]] Result<> remove_at(int folder, const std::string& name, const std::string& path);
// Of 128 random bits, as nobody else will have made one. It begins with `.prophecy-restore-`.
[[nodiscard]] std::string temporary_name();

}  // namespace prophecy::pbft
