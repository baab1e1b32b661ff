#include "pbft/storage/write_marks.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <span>

#include <fcntl.h>
#include <unistd.h>

#include "base/codec.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::pbft {
namespace {

// secret, number, secret: nothing was cut out of it or put in between.
constexpr std::size_t kMarkSize = 2 * sizeof(MarkSecret) + sizeof(std::uint64_t);
constexpr std::size_t kChunkSize = 1024 * 1024;

// Of one of a mark's two halves.
std::optional<std::uint64_t> number_in(ByteView half, const MarkSecret& secret) {
  Reader reader(half);
  MarkSecret before{};
  MarkSecret behind{};
  reader.fixed(before);
  const auto number = reader.integer<std::uint64_t>();
  reader.fixed(behind);
  if (!reader.complete() || before != secret || behind != secret) return std::nullopt;
  return number;
}

// What the system refuses may be in order again later; sectors that cannot be read are lost.
Error read_error(const std::string& what) {
  const bool lost = errno == EIO;
  Error error = io_error(what);
  if (lost) error.kind = ErrorKind::damaged;
  return error;
}

// Calls visit(number) for each mark, in the order in which they lie there.
template <class Visit>
Result<> visit_marks(const std::filesystem::path& file, const MarkSecret& secret,
                     const Visit& visit) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return read_error(file.string());
  Bytes buffer(kChunkSize + kMarkSize - 1);
  std::size_t kept = 0;  // of the chunk before: too little for a whole mark
  for (;;) {
    const ssize_t size = ::read(fd.get(), buffer.data() + kept, kChunkSize);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return read_error(file.string());
    if (size == 0) return {};
    ByteView rest(buffer.data(), kept + static_cast<std::size_t>(size));
    while (rest.size() >= kMarkSize) {
      const void* found = ::memmem(rest.data(), rest.size(), secret.data(), secret.size());
      const auto at =
          found == nullptr
              ? rest.size()
              : static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - rest.data());
      if (rest.size() - at < kMarkSize) break;
      if (const auto number = number_in(rest.subspan(at, kMarkSize), secret)) visit(*number);
      rest = rest.subspan(at + 1);
    }
    kept = std::min(rest.size(), kMarkSize - 1);
    std::memmove(buffer.data(), rest.data() + rest.size() - kept, kept);
  }
}

// The database's logs by their numbers, which rise, and its tables.
struct Files {
  std::map<std::uint64_t, std::filesystem::path> logs;
  std::vector<std::filesystem::path> tables;
};

Result<Files> list_files(const std::filesystem::path& folder) {
  Files files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::filesystem::path& path = entry->path();
    if (path.extension() == ".sst") files.tables.push_back(path);
    if (path.extension() != ".log") continue;
    const std::string name = path.stem().string();
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
    if (parsed.ec == std::errc() && parsed.ptr == name.data() + name.size())
      files.logs[number] = path;
  }
  if (error) {
    const bool lost = error == std::errc::no_such_file_or_directory || error == std::errc::io_error;
    return Error{lost ? ErrorKind::damaged : ErrorKind::io,
                 folder.string() + ": " + error.message()};
  }
  return files;
}

}  // namespace

Bytes encode_mark(const MarkSecret& secret, std::uint64_t write) {
  Bytes bytes;
  Writer writer(bytes);
  for (int copy = 0; copy < 2; ++copy) {
    writer.raw(secret);
    writer.integer(write);
    writer.raw(secret);
  }
  return bytes;
}

std::optional<std::uint64_t> decode_mark(const MarkSecret& secret, ByteView bytes) {
  if (bytes.size() != 2 * kMarkSize) return std::nullopt;
  const auto number = number_in(bytes.first(kMarkSize), secret);
  return number == number_in(bytes.subspan(kMarkSize), secret) ? number : std::nullopt;
}

Result<std::uint64_t> newest_mark(const std::filesystem::path& folder, const MarkSecret& secret) {
  const auto files = list_files(folder);
  if (!files) return files.error();
  std::uint64_t newest = 0;
  for (const auto& table : files->tables) {
    const auto visited = visit_marks(
        table, secret, [&](std::uint64_t number) { newest = std::max(newest, number); });
    if (!visited) return visited.error();
  }
  // A log may begin with what a table has already. From there on each follows the one before.
  std::optional<std::uint64_t> last;
  bool missing = false;
  for (const auto& [number, path] : files->logs) {
    const auto visited = visit_marks(path, secret, [&](std::uint64_t write) {
      const std::uint64_t before = last.value_or(std::min(write, newest));
      missing = missing || write < before || write - before > 1;
      last = write;
    });
    if (!visited) return visited.error();
  }
  if (missing) {
    return Error{ErrorKind::damaged, folder.string() + ": a write is missing in the log"};
  }
  return std::max(newest, last.value_or(0));
}

}  // namespace prophecy::pbft
