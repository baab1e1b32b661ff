#include "measurement/file_pieces.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::size_t kReadBytes = 256 << 10;
constexpr std::size_t kPieceBytes = 256 << 10;
constexpr std::size_t kWaitingBytesMax = 8 << 20;

}  // namespace

FilePieces::FilePieces(std::string path) : path_(std::move(path)), thread_([this] { read(); }) {}

FilePieces::~FilePieces() {
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void FilePieces::read() {
  auto outcome = read_file();
  if (!growing_.bytes.empty()) put(std::exchange(growing_, {}));
  const std::lock_guard lock(mutex_);
  outcome_ = std::move(outcome);
  ended_ = true;
  changed_.notify_all();
}

Result<> FilePieces::read_file() {
  const UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return io_error(path_);
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  ArchiveBytes archive(*this);
  std::string buffer(kReadBytes, '\0');
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error(path_);
    if (got == 0) break;
    const auto size = static_cast<std::size_t>(got);
    archive.feed({buffer.data(), size});
    const std::lock_guard lock(mutex_);
    bytes_read_ += size;
    if (abandoned_) return {};
  }
  archive.finish();
  return {};
}

void FilePieces::on_bytes(std::string_view bytes, std::uint64_t offset, bool moves) {
  // Bytes of another member have another offset.
  const bool continues =
      moves ? growing_.offset + growing_.bytes.size() == offset : growing_.offset == offset;
  if (!growing_.bytes.empty() && (!continues || growing_.bytes.size() >= kPieceBytes)) {
    put(std::move(growing_));
    growing_ = {};
  }
  if (growing_.bytes.empty()) {
    growing_.offset = offset;
    growing_.moves = moves;
  }
  growing_.bytes.append(bytes);
}

void FilePieces::on_gap(Damage damage) {
  if (!growing_.bytes.empty()) put(std::exchange(growing_, {}));
  Piece piece;
  piece.gap = std::move(damage);
  put(std::move(piece));
}

void FilePieces::put(Piece piece) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_bytes_ < kWaitingBytesMax || abandoned_; });
  if (abandoned_) return;
  waiting_bytes_ += piece.bytes.size();
  const bool first = waiting_.empty();
  waiting_.push_back(std::move(piece));
  if (first) changed_.notify_all();
}

std::optional<FilePieces::Piece> FilePieces::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !waiting_.empty() || ended_; });
  if (waiting_.empty()) return std::nullopt;
  Piece piece = std::move(waiting_.front());
  waiting_.pop_front();
  const bool was_full = waiting_bytes_ >= kWaitingBytesMax;
  waiting_bytes_ -= piece.bytes.size();
  if (was_full) changed_.notify_all();
  return piece;
}

Result<> FilePieces::for_each(ArchiveSink& sink, const std::function<bool()>& is_over) {
  while (auto piece = take()) {
    if (piece->gap) {
      sink.on_gap(std::move(*piece->gap));
    } else {
      sink.on_bytes(piece->bytes, piece->offset, piece->moves);
    }
    if (is_over()) return {};
  }
  return std::move(outcome_);
}

}  // namespace prophecy::measurement
