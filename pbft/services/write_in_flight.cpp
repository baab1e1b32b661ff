#include "pbft/services/write_in_flight.hpp"

#include <algorithm>
#include <chrono>

#include <fcntl.h>
#include <unistd.h>

namespace prophecy::pbft {
namespace {

std::uint64_t milliseconds_since_1970() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

}  // namespace

WriteInFlight::WriteInFlight(const std::filesystem::path& file) {
  if (file.empty()) return;
  file_.reset(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file_) return;
  if (::pread(file_.get(), &before_, sizeof before_, 0) != sizeof before_) before_ = 0;
}

void WriteInFlight::begin() {
  write(std::max<std::uint64_t>(milliseconds_since_1970(), 1));
}

void WriteInFlight::end() {
  write(0);
}

// The disk may be full: then the next process does not wait.
void WriteInFlight::write(std::uint64_t sent_at) const {
  if (file_) (void)!::pwrite(file_.get(), &sent_at, sizeof sent_at, 0);
}

// The clock may have been set meanwhile.
Duration WriteInFlight::left_behind(Duration longest) const {
  if (before_ == 0) return Duration::zero();
  const std::uint64_t now = milliseconds_since_1970();
  const std::uint64_t since = now > before_ ? now - before_ : 0;
  const auto whole = static_cast<std::uint64_t>(
      std::max<std::int64_t>(std::chrono::duration_cast<milliseconds>(longest).count(), 0));
  return milliseconds(since >= whole ? 0 : whole - since);
}

}  // namespace prophecy::pbft
