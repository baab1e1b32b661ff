#include "sketcher/spool/spooled_body.hpp"

#include <cerrno>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/body.hpp"

namespace prophecy::sketcher {

static_assert(kSourcePieceBytes == pbft::kBodyLeafBytesMax);

SpooledBody::SpooledBody(UniqueFd file, bool hashed, SpoolCounters& held)
    : file_(std::move(file)), hashed_(hashed), held_(held) {
  held_.files.add();
}

SpooledBody::~SpooledBody() {
  held_.bytes.subtract(size_);
  held_.files.subtract();
}

int SpooledBody::append(std::string_view piece) {
  ASSERT(size_ % kSourcePieceBytes == 0 && piece.size() <= kSourcePieceBytes);
  size_ += piece.size();
  if (hashed_) leaves_.push_back(pbft::digest_of_leaf(as_bytes(piece)));
  while (!piece.empty()) {
    const ssize_t written = ::write(file_.get(), piece.data(), piece.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    piece.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

bool SpooledBody::read(std::uint64_t offset, std::span<char> into) const {
  ASSERT(offset <= size_ && into.size() <= size_ - offset);
  while (!into.empty()) {
    const ssize_t got = ::pread(file_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace prophecy::sketcher
