// A body in an unnamed file. It is written from its beginning, in pieces, and then read by as many
// as want it. Writing and reading go to the page cache as a rule; a disk that cannot keep up makes
// the event loop wait, for a piece at a time.
//
// Each piece is hashed as it comes, as the leaf that it would be of a request by digest
// (pbft/wire/body.hpp), if that is wanted: when the body is whole, so are its digests.
//
// Single-threaded.
#pragma once

#include <string_view>
#include <vector>

#include "base/byte_source.hpp"
#include "base/unique_fd.hpp"
#include "sketcher/counters/counters.hpp"

namespace prophecy::sketcher {

class SpooledBody final : public ByteSource {
 public:
  // Counted by `held` for as long as it exists, with its bytes.
  SpooledBody(UniqueFd file, bool hashed, SpoolCounters& held);
  ~SpooledBody() override;
  SpooledBody(const SpooledBody&) = delete;
  SpooledBody& operator=(const SpooledBody&) = delete;

  // Requires that the bytes are counted already, and kSourcePieceBytes of them, or fewer of the
  // last piece. An errno value, 0 when it is written.
  [[nodiscard]] int append(std::string_view piece);

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  [[nodiscard]] bool read(std::uint64_t offset, std::span<char> into) const override;
  [[nodiscard]] std::span<const Sha256::Digest> leaf_digests() const override { return leaves_; }

 private:
  UniqueFd file_;
  bool hashed_;
  SpoolCounters& held_;
  std::uint64_t size_ = 0;
  std::vector<Sha256::Digest> leaves_;
};

}  // namespace prophecy::sketcher
