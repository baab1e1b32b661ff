#include "pbft/services/state/folder_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/digest.hpp"
#include "base/random.hpp"

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

// Each level takes two descriptors.
constexpr std::size_t kRemovedLevelsMax = 16;

Result<> unlink_at(int folder, const std::string& name, const std::string& path, int flags) {
  if (::unlinkat(folder, name.c_str(), flags) != 0) return io_error(path);
  return {};
}

Result<UniqueFd> open_to_empty(int folder, const std::string& name, const std::string& path,
                               const struct stat& status) {
  if (auto checked = check_file_system(folder, status, path); !checked) return checked.error();
  return open_own_folder_at(folder, name, path);
}

// What lies deeper than some levels is moved up to `top`, whose turn comes again then.
Result<> empty(int folder, int top, const std::string& path, std::size_t level, bool& has_moved) {
  return for_each_name(folder, path, [&](const std::string& name) -> Result<> {
    const std::string below = path_below(path, name);
    struct stat status {};
    const auto there = status_at(folder, name, below, status);
    if (!there) return there.error();
    if (!*there) return {};
    if (!S_ISDIR(status.st_mode)) return unlink_at(folder, name, below, 0);
    const auto inside = open_to_empty(folder, name, below, status);
    if (!inside) return inside.error();
    if (level == kRemovedLevelsMax) {
      has_moved = true;
      if (::renameat(folder, name.c_str(), top, temporary_name().c_str()) == 0) return {};
      return io_error(below);
    }
    if (auto emptied = empty(inside->get(), top, below, level + 1, has_moved); !emptied) {
      return emptied;
    }
    return unlink_at(folder, name, below, AT_REMOVEDIR);
  });
}

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

std::string temporary_name() {
  std::array<std::uint8_t, 16> number{};
  SecureRandom().fill(number);
  return ".prophecy-restore-" + to_hex(number);
}

Result<> remove_at(int folder, const std::string& name, const std::string& path) {
  struct stat status {};
  auto there = status_at(folder, name, path, status);
  if (!there) return there.error();
  if (!*there) return {};
  if (!S_ISDIR(status.st_mode)) return unlink_at(folder, name, path, 0);
  auto inside = open_to_empty(folder, name, path, status);
  if (!inside) return inside.error();
  for (;;) {
    bool has_moved = false;
    if (auto emptied = empty(inside->get(), inside->get(), path, 0, has_moved); !emptied) {
      return emptied;
    }
    if (!has_moved) return unlink_at(folder, name, path, AT_REMOVEDIR);
  }
}

}  // namespace prophecy::pbft
