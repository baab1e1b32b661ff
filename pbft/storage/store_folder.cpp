#include "pbft/storage/store_folder.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <sstream>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/digest.hpp"
#include "base/file.hpp"
#include "base/random.hpp"

namespace prophecy::pbft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormat = "2";
constexpr std::size_t kIdentityBytesMax = 4096;
constexpr std::size_t kSetAsideMax = 3;

Result<> sync_folder(const fs::path& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return io_error(folder.string());
  return {};
}

fs::path parent_of(const fs::path& folder) {
  return fs::absolute(folder).lexically_normal().parent_path();
}

// Without the trailing slash that an operator may have written.
fs::path plain(const fs::path& folder) {
  const fs::path normal = folder.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

Result<UniqueFd> lock_folder(const fs::path& folder) {
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return io_error(folder.string());
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno != EWOULDBLOCK) return io_error(folder.string());
  return Error{ErrorKind::unavailable, folder.string() + ": another process has this store open"};
}

// One `name value` a line; the last is the checksum of all before it, in every format.
std::string encode_identity(const StoreIdentity& identity, const MarkSecret& secret) {
  std::ostringstream out;
  out << "format " << kFormat << "\ngroup " << to_hex(identity.group) << "\nfounded "
      << to_hex(identity.founded) << "\nreplica " << identity.replica << "\nmarks "
      << to_hex(secret) << "\n";
  const std::string text = out.str();
  return text + "sha256 " + to_hex(sha256(as_bytes(text))) + "\n";
}

using Fields = std::map<std::string, std::string>;

// Nothing when the checksum does not fit.
std::optional<Fields> decode_identity(const std::string& text) {
  const std::size_t last = text.rfind("sha256 ");
  if (last == std::string::npos) return std::nullopt;
  const std::string content = text.substr(0, last);
  if (text.substr(last) != "sha256 " + to_hex(sha256(as_bytes(content))) + "\n")
    return std::nullopt;
  Fields fields;
  std::istringstream lines(content);
  std::string name;
  std::string value;
  while (lines >> name >> value)
    fields[name] = value;
  return fields;
}

bool holds_nothing(const fs::path& folder, std::error_code& error) {
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path name = entry->path().filename();
    // A file system of its own has a lost+found.
    if (name != "store.new" && name != "lost+found") return false;
  }
  return true;
}

}  // namespace

Result<> StoreFolder::lock() {
  if (::mkdir(folder_.c_str(), 0700) == 0) {
    if (auto synced = sync_folder(parent_of(folder_)); !synced) return synced;
  } else if (errno != EEXIST) {
    return io_error(folder_.string());
  }
  auto locked = lock_folder(folder_);
  if (!locked) return locked.error();
  lock_ = std::move(*locked);
  struct stat status {};
  if (::fstat(lock_.get(), &status) != 0) return io_error(folder_.string());
  if ((status.st_mode & 022) != 0) {
    return Error{ErrorKind::invalid,
                 folder_.string() + ": a store to which others may write; expected mode 0700"};
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return Error{ErrorKind::invalid, folder_.string() + ": a store that belongs to another user"};
  }
  return {};
}

Result<> StoreFolder::make_store(const StoreIdentity& identity, const MakeDatabase& database) {
  const fs::path unfinished = folder_ / "store.new";
  std::error_code error;
  fs::remove_all(unfinished, error);
  if (error) return Error{ErrorKind::io, unfinished.string() + ": " + error.message()};
  if (::mkdir(unfinished.c_str(), 0700) != 0) return io_error(unfinished.string());
  MarkSecret secret{};
  SecureRandom().fill(secret);
  if (auto made = database(unfinished / "promises", secret); !made) return made;
  if (auto written = create_file(unfinished / "identity", encode_identity(identity, secret),
                                 FileSecrecy::secret);
      !written) {
    return written;
  }
  if (auto synced = sync_folder(unfinished / "promises"); !synced) return synced;
  if (auto synced = sync_folder(unfinished); !synced) return synced;
  if (::rename(unfinished.c_str(), (folder_ / "store").c_str()) != 0)
    return io_error(unfinished.string());
  fresh_ = true;
  return sync_folder(folder_);
}

Result<> StoreFolder::check_identity(const StoreIdentity& identity) {
  const auto text = read_file(folder_ / "store" / "identity", kIdentityBytesMax);
  const auto fields = text ? decode_identity(*text) : std::nullopt;
  if (!fields) {
    // What the system refuses may be in order again later; sectors that cannot be read are lost.
    const bool is_unreadable =
        !text && text.error().message.find(std::strerror(EIO)) != std::string::npos;
    if (!text && text.error().kind == ErrorKind::io && !is_unreadable &&
        fs::exists(folder_ / "store" / "identity")) {
      return text.error();
    }
    return Error{ErrorKind::damaged,
                 folder_.string() + ": not empty, and without a valid store/identity"};
  }
  const auto field = [&](const char* name) {
    const auto found = fields->find(name);
    return found == fields->end() ? std::string() : found->second;
  };
  if (field("format") != kFormat) {
    return Error{ErrorKind::invalid, folder_.string() + ": a store of format '" + field("format") +
                                         "', which this version does not know"};
  }
  if (field("group") != to_hex(identity.group)) {
    return Error{ErrorKind::invalid, folder_.string() + ": the store of another group (" +
                                         field("group") + ", not " + to_hex(identity.group) + ")"};
  }
  if (field("founded") != to_hex(identity.founded)) {
    return Error{ErrorKind::invalid, folder_.string() +
                                         ": a store of another life of this group (founded '" +
                                         field("founded") + "', not '" + to_hex(identity.founded) +
                                         "'); a group that begins anew needs new stores"};
  }
  if (field("replica") != std::to_string(identity.replica)) {
    return Error{ErrorKind::invalid, folder_.string() + ": the store of replica " +
                                         field("replica") + ", not of replica " +
                                         std::to_string(identity.replica)};
  }
  if (!from_hex(field("marks"), secret_)) {
    return Error{ErrorKind::damaged, folder_.string() + ": store/identity lacks a field"};
  }
  return {};
}

Result<StoreFolder> StoreFolder::open(const fs::path& folder, const StoreIdentity& identity,
                                      const MakeDatabase& make_database) {
  StoreFolder opened;
  opened.folder_ = plain(folder);
  if (auto locked = opened.lock(); !locked) return locked.error();
  std::error_code error;
  if (holds_nothing(opened.folder_, error)) {
    if (error) return Error{ErrorKind::io, folder.string() + ": " + error.message()};
    if (auto made = opened.make_store(identity, make_database); !made) return made.error();
  }
  if (auto checked = opened.check_identity(identity); !checked) return checked.error();
  return opened;
}

Result<fs::path> set_aside(const fs::path& folder) {
  const fs::path from = plain(fs::absolute(folder));
  const auto locked = lock_folder(from);
  if (!locked) return locked.error();
  const std::string prefix = from.filename().string() + ".damaged-";
  std::map<std::uint64_t, fs::path> earlier;
  std::error_code error;
  for (fs::directory_iterator entry(from.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    std::uint64_t number = 0;
    const auto parsed =
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
    if (parsed.ec == std::errc() && parsed.ptr == name.data() + name.size())
      earlier[number] = entry->path();
  }
  if (error) return Error{ErrorKind::io, from.parent_path().string() + ": " + error.message()};
  const std::uint64_t number = earlier.empty() ? 1 : earlier.rbegin()->first + 1;
  const fs::path to = from.parent_path() / (prefix + std::to_string(number));
  if (::rename(from.c_str(), to.c_str()) != 0) return io_error(from.string());
  if (auto synced = sync_folder(from.parent_path()); !synced) return synced.error();
  // The new one is the third. What cannot be removed is in nobody's way but the operator's.
  for (auto oldest = earlier.begin(); earlier.size() >= kSetAsideMax; oldest = earlier.begin()) {
    std::error_code ignored;
    fs::remove_all(oldest->second, ignored);
    earlier.erase(oldest);
  }
  return to;
}

}  // namespace prophecy::pbft
