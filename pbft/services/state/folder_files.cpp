#include "pbft/services/state/folder_files.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "pbft/services/state/folder_rules.hpp"

namespace prophecy::pbft {

namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

Result<UniqueFd> opened(int fd, const std::string& path) {
  if (fd < 0) return io_error(path);
  return UniqueFd(fd);
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

std::string path_below(const std::string& folder, const std::string& name) {
  return folder.empty() ? name : folder + "/" + name;
}

Result<UniqueFd> open_state_folder(const std::string& path) {
  return opened(::open(path.c_str(), kFolderFlags), path);
}

Result<UniqueFd> open_folder_at(int folder, const std::string& name, const std::string& path) {
  return opened(::openat(folder, name.c_str(), kFolderFlags | O_NOFOLLOW), path);
}

Result<UniqueFd> open_own_folder_at(int folder, const std::string& name, const std::string& path) {
  // First its place alone, which needs no right to read it. The mode is changed there, since
  // another folder, or a link, may take the name at any time.
  const auto place =
      opened(::openat(folder, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), path);
  if (!place) return place.error();
  struct stat status {};
  if (::fstat(place->get(), &status) != 0) return io_error(path);
  const std::string by_descriptor = "/proc/self/fd/" + std::to_string(place->get());
  if ((status.st_mode & S_IRWXU) != S_IRWXU &&
      ::chmod(by_descriptor.c_str(), (status.st_mode & 07777) | S_IRWXU) != 0) {
    return io_error(path);
  }
  return open_folder_at(place->get(), ".", path);
}

Result<UniqueFd> open_file_at(int folder, const std::string& name, const std::string& path) {
  return opened(
      ::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY),
      path);
}

Result<> for_each_name(int folder, const std::string& path,
                       const std::function<Result<>(const std::string&)>& visit) {
  // A descriptor of its own: reading moves its position.
  auto own = open_folder_at(folder, ".", path);
  if (!own) return own.error();
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(own->get()));
  if (!directory) return io_error(path);
  (void)own->release();
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr && errno != 0) return io_error(path);
    if (entry == nullptr) return {};
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (auto visited = visit(name); !visited) return visited;
  }
}

Result<std::vector<std::string>> names_in(int folder, const std::string& path,
                                          std::uint64_t names_max,
                                          const std::function<bool(const std::string&)>& wanted) {
  std::vector<std::string> names;
  auto visited = for_each_name(folder, path, [&](const std::string& name) -> Result<> {
    if (!wanted(name)) return {};
    if (names.size() == names_max) {
      return Error{ErrorKind::limit, path + ": more than " + std::to_string(names_max) +
                                         " files and folders (state_files_max)"};
    }
    names.push_back(name);
    return {};
  });
  if (!visited) return visited.error();
  std::sort(names.begin(), names.end());
  return names;
}

Result<bool> status_at(int folder, const std::string& name, const std::string& path,
                       struct stat& status) {
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT) return false;
  return io_error(path);
}

Result<std::string> link_target_at(int folder, const std::string& name, const std::string& path) {
  char target[4096];
  const ssize_t size = ::readlinkat(folder, name.c_str(), target, sizeof target);
  if (size < 0) return io_error(path);
  return std::string(target, static_cast<std::size_t>(size));
}

Result<std::size_t> read_some(int file, std::span<std::uint8_t> room, const std::string& path) {
  for (;;) {
    const ssize_t size = ::read(file, room.data(), room.size());
    if (size >= 0) return static_cast<std::size_t>(size);
    if (errno != EINTR) return io_error(path);
  }
}

Result<> write_all(int file, ByteView bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(file, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return io_error(path);
    bytes = bytes.subspan(static_cast<std::size_t>(size));
  }
  return {};
}

Result<> check_file_system(int folder, const struct stat& status, const std::string& path) {
  struct stat above {};
  if (::fstat(folder, &above) != 0) return io_error(path);
  if (above.st_dev == status.st_dev) return {};
  return Error{ErrorKind::invalid,
               path + ": another file system is mounted there (state_exclude leaves it out)"};
}

Result<> remove_at(int folder, const std::string& name, const std::string& path,
                   std::size_t depth) {
  struct stat status {};
  auto there = status_at(folder, name, path, status);
  if (!there) return there.error();
  if (!*there) return {};
  const bool is_folder = S_ISDIR(status.st_mode);
  if (is_folder && depth > 2 * kFolderDepthMax) {
    return Error{ErrorKind::limit, path + ": too deep to be removed"};
  }
  if (is_folder) {
    if (auto checked = check_file_system(folder, status, path); !checked) return checked;
    auto inside = open_own_folder_at(folder, name, path);
    if (!inside) return inside.error();
    auto emptied = for_each_name(inside->get(), path, [&](const std::string& below) {
      return remove_at(inside->get(), below, path_below(path, below), depth + 1);
    });
    if (!emptied) return emptied;
  }
  if (::unlinkat(folder, name.c_str(), is_folder ? AT_REMOVEDIR : 0) != 0) return io_error(path);
  return {};
}

}  // namespace prophecy::pbft
