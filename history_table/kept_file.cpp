#include "history_table/kept_file.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <thread>
#include <type_traits>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/assert.hpp"

namespace prophecy::table {
namespace {

constexpr std::array<char, 16> kMagic{'P', 'r', 'o', 'p', 'h', 'e', 'c',  'y',
                                      ' ', 't', 'a', 'b', 'l', 'e', '\r', '\n'};
// To be raised with every change of what the words of a table mean.
constexpr std::uint32_t kFormat = 7;
// A predecessor that was killed is gone in milliseconds; its workers end with it.
constexpr auto kLockPatience = std::chrono::seconds(5);
constexpr auto kLockPause = std::chrono::milliseconds(20);

using CheckSum = std::array<std::uint8_t, 16>;

CheckSum check_sum_of(const void* data, std::size_t size) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, size));
  CheckSum sum;
  static_assert(sizeof sum == sizeof canonical);
  std::memcpy(sum.data(), &canonical, sizeof sum);
  return sum;
}

CheckSum content_sum(const Memory& memory) {
  return check_sum_of(memory.address() + KeptFile::kHeaderBytes,
                      memory.size() - KeptFile::kHeaderBytes);
}

// The same for as long as the machine's memory lasts; nothing if the system does not tell.
std::array<char, 40> boot_id() {
  std::array<char, 40> id{};
  std::ifstream("/proc/sys/kernel/random/boot_id").read(id.data(), id.size() - 1);
  return id;
}

}  // namespace

// As it lies in the file, in this machine's byte order: another one has another `format`.
struct KeptFile::Header {
  enum class State : std::uint32_t { in_use = 1, closed = 2 };

  std::array<char, 16> magic = kMagic;
  std::uint32_t format = kFormat;
  State state = State::in_use;
  std::uint64_t bytes = 0;
  std::uint64_t seed = 0;
  std::uint64_t ownership_epoch = 0;
  std::uint32_t digest = 0;
  std::uint32_t group_count = 0;
  Identity::Id key{};
  Identity::Id groups{};
  // Of what is in use:
  std::array<char, 40> boot{};
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  // Of what is closed:
  CheckSum content{};

  CheckSum header{};  // of all before it

  [[nodiscard]] CheckSum sum() const { return check_sum_of(this, offsetof(Header, header)); }
  [[nodiscard]] Identity identity() const {
    return {digest, key, groups, ownership_epoch, group_count};
  }
  // Why what such a file holds cannot be used with what is configured.
  [[nodiscard]] std::optional<std::string> mismatch(const Header& wanted) const;
};

std::optional<std::string> KeptFile::Header::mismatch(const Header& wanted) const {
  static_assert(sizeof(Header) < kHeaderBytes && std::is_trivially_copyable_v<Header>);
  static_assert(std::has_unique_object_representations_v<Header>, "no bytes of chance in the sum");
  if (format != wanted.format) return "another version's format";
  if (header != sum()) return "a damaged header";
  if (bytes != wanted.bytes) return "another size";
  if (digest != wanted.digest) return "another digest";
  if (key != wanted.key) return "another key_file";
  if (groups != wanted.groups) return "other groups";
  if (group_count != wanted.group_count) return "another number of groups";
  const bool is_erased = wanted.ownership_epoch == kChangingOwnership;
  if (!is_erased && ownership_epoch != wanted.ownership_epoch) return "another ownership of keys";
  if (state == State::closed) return std::nullopt;
  if (wanted.boot == decltype(boot){} || boot != wanted.boot) {
    return "it was in use when the machine stopped";
  }
  if (device != wanted.device || inode != wanted.inode) return "a copy of one that was in use";
  return std::nullopt;
}

Result<KeptFile::Opened> KeptFile::open(const std::filesystem::path& path, std::size_t bytes,
                                        const Identity& identity, std::uint64_t fresh_seed) {
  KeptFile file(
      path,
      UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600)));
  if (!file.fd_) return file.system_error("cannot open");
  if (auto taken = file.take(); !taken) return taken.error();
  struct stat status {};
  if (::fstat(file.fd_.get(), &status) != 0) return file.system_error("cannot examine");

  Header wanted{.bytes = bytes,
                .seed = fresh_seed,
                .ownership_epoch = identity.ownership_epoch,
                .digest = identity.digest,
                .group_count = identity.group_count,
                .key = identity.key,
                .groups = identity.groups,
                .boot = boot_id(),
                .device = status.st_dev,
                .inode = status.st_ino};
  std::optional<std::string> mismatch;
  if (status.st_size != 0) {
    auto found = file.read_header();
    if (!found) return found.error();
    mismatch = found->mismatch(wanted);
    if (!mismatch && static_cast<std::uint64_t>(status.st_size) != bytes) mismatch = "another size";
    if (!mismatch && found->state == Header::State::closed) {
      const auto memory = Memory::of_file(file.fd_.get(), bytes);
      if (!memory) return file.error(memory.error().message);
      if (content_sum(*memory) != found->content) mismatch = "its check sum does not fit";
    }
    if (!mismatch) wanted.seed = found->seed;
  }
  const bool is_warm = status.st_size != 0 && !mismatch;
  // "In use" is on the disk before the memory may be changed.
  if (auto written = is_warm ? file.write_header(wanted) : file.make_empty(wanted); !written) {
    return written.error();
  }
  auto memory = Memory::of_file(file.fd_.get(), bytes);
  if (!memory) return file.error(memory.error().message);
  if (auto populated = memory->populate(); !populated) {
    return file.error(populated.error().message);
  }
  return Opened{std::move(file), std::move(*memory), wanted.seed, is_warm,
                std::move(mismatch).value_or("")};
}

// The file is ours alone, from here on.
Result<> KeptFile::take() {
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return system_error("cannot examine");
  if (!S_ISREG(status.st_mode)) return error("is not a regular file");
  if (status.st_uid != ::geteuid()) return error("belongs to another user");
  if ((status.st_mode & 077) != 0) return error("others may read or write it; expected mode 0600");
  const auto deadline = std::chrono::steady_clock::now() + kLockPatience;
  while (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return system_error("cannot lock");
    if (std::chrono::steady_clock::now() > deadline) return error("another process uses it");
    std::this_thread::sleep_for(kLockPause);
  }
  return {};
}

Result<KeptFile::Header> KeptFile::read_header() const {
  Header header;
  const ssize_t size = ::pread(fd_.get(), &header, sizeof header, 0);
  if (size < 0) return system_error("cannot read");
  if (size != sizeof header || header.magic != kMagic) {
    return error("is not a history table; it is left as it is");
  }
  return header;
}

Result<> KeptFile::write_header(const Header& header) const {
  Header summed = header;
  summed.header = summed.sum();
  if (::pwrite(fd_.get(), &summed, sizeof summed, 0) != sizeof summed) {
    return system_error("cannot write");
  }
  if (::fdatasync(fd_.get()) != 0) return system_error("cannot write");
  return {};
}

// All zero, with its room on the disk: a write to a page that has none would be a SIGBUS. With its
// header first, so that what is left of a start that was cut short is known for ours.
Result<> KeptFile::make_empty(const Header& header) const {
  if (::ftruncate(fd_.get(), 0) != 0) return system_error("cannot empty");
  if (auto written = write_header(header); !written) return written;
  if (const int problem = ::posix_fallocate(fd_.get(), 0, static_cast<off_t>(header.bytes));
      problem != 0) {
    // Gives back what there was; if not, the next start does.
    [[maybe_unused]] const int ignored = ::ftruncate(fd_.get(), 0);
    errno = problem;
    return system_error("cannot take " + std::to_string(header.bytes) + " bytes for");
  }
  return {};
}

Result<> KeptFile::close(const Memory& memory) {
  auto header = read_header();
  if (!header) return header.error();
  header->state = Header::State::closed;
  header->content = content_sum(memory);
  if (::msync(memory.address(), memory.size(), MS_SYNC) != 0) return system_error("cannot write");
  return write_header(*header);
}

Error KeptFile::error(const std::string& problem) const {
  return {ErrorKind::invalid, "history table " + path_.string() + ": " + problem};
}

Error KeptFile::system_error(const std::string& what) const {
  return io_error(what + " history table " + path_.string());
}

}  // namespace prophecy::table
