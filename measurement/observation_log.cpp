#include "measurement/observation_log.hpp"

#include <algorithm>
#include <cerrno>
#include <type_traits>

#include <unistd.h>

#include "base/unnamed_file.hpp"

namespace prophecy::measurement {
namespace {

// The file is ours alone, and is gone with the process: its records are memory's.
static_assert(std::is_trivially_copyable_v<Observation>);
constexpr std::size_t kReadAtOnce = 4096;  // observations

bool before(const Observation& one, const Observation& other) {
  return one.before(other);
}

Result<> write_all(int file, const void* data, std::size_t size, std::uint64_t offset) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::pwrite(file, bytes, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return io_error("the temporary file of observations");
    bytes += written;
    offset += static_cast<std::uint64_t>(written);
    size -= static_cast<std::size_t>(written);
  }
  return {};
}

Result<> read_all(int file, void* data, std::size_t size, std::uint64_t offset) {
  auto* bytes = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::pread(file, bytes, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return io_error("the temporary file of observations");
    bytes += got;
    offset += static_cast<std::uint64_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace

class ObservationLog::RunReader {
 public:
  RunReader(int file, Run run) : file_(file), run_(run) {}

  // False at the end.
  [[nodiscard]] Result<bool> advance() {
    if (++position_ < buffer_.size()) return true;
    const std::uint64_t left = (run_.end - run_.begin) / sizeof(Observation);
    buffer_.resize(std::min<std::uint64_t>(left, kReadAtOnce));
    position_ = 0;
    if (buffer_.empty()) return false;
    const std::size_t size = buffer_.size() * sizeof(Observation);
    if (auto result = read_all(file_, buffer_.data(), size, run_.begin); !result) {
      return std::move(result.error());
    }
    run_.begin += size;
    return true;
  }
  [[nodiscard]] const Observation& current() const { return buffer_[position_]; }

 private:
  int file_;
  Run run_;
  std::vector<Observation> buffer_;
  std::size_t position_ = 0;
};

ObservationLog::ObservationLog(std::filesystem::path folder, std::size_t held_max)
    : folder_(std::move(folder)), held_max_(held_max) {}

Result<> ObservationLog::append(const Observation& observation) {
  if (held_.size() == held_max_) {
    if (auto result = write_run(); !result) return result;
  }
  held_.push_back(observation);
  return {};
}

Result<> ObservationLog::write_run() {
  if (!file_) {
    auto file = make_unnamed_file(folder_);
    if (!file) return std::move(file.error());
    file_ = std::move(*file);
  }
  std::sort(held_.begin(), held_.end(), before);
  const std::uint64_t begin = runs_.empty() ? 0 : runs_.back().end;
  const std::size_t size = held_.size() * sizeof(Observation);
  if (auto result = write_all(file_.get(), held_.data(), size, begin); !result) return result;
  runs_.push_back({begin, begin + size});
  held_.clear();
  return {};
}

Result<> ObservationLog::for_each(const std::function<void(const Observation&)>& take) {
  if (runs_.empty()) {
    std::sort(held_.begin(), held_.end(), before);
    std::for_each(held_.begin(), held_.end(), take);
    return {};
  }
  if (!held_.empty()) {
    if (auto result = write_run(); !result) return result;
  }
  std::vector<Observation>().swap(held_);
  // A heap whose front is the reader with the first observation.
  std::vector<RunReader> readers;
  for (const Run& run : runs_) {
    readers.emplace_back(file_.get(), run);
    auto more = readers.back().advance();
    if (!more) return std::move(more.error());
  }
  const auto later = [](const RunReader& one, const RunReader& other) {
    return other.current().before(one.current());
  };
  std::make_heap(readers.begin(), readers.end(), later);
  while (!readers.empty()) {
    std::pop_heap(readers.begin(), readers.end(), later);
    take(readers.back().current());
    auto more = readers.back().advance();
    if (!more) return std::move(more.error());
    if (*more) {
      std::push_heap(readers.begin(), readers.end(), later);
    } else {
      readers.pop_back();
    }
  }
  return {};
}

}  // namespace prophecy::measurement
