// `Evidence` keeps an origin's answer that did not validate, until the group's answer has judged
// it. A plain value. A faulty origin chooses how long its answers are, so the kept body is bounded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "base/ids.hpp"
#include "canonical/answer_form.hpp"
#include "sketch/sketch_value.hpp"

namespace prophecy::sketcher {

struct Evidence {
  static constexpr std::size_t kBodyBytesMax = 64 << 10;
  static constexpr std::size_t kDigestBytesMax = 64 << 10;

  NodeId replica = 0;
  std::uint16_t status = 0;
  Bytes head;
  std::string body;  // its beginning
  std::size_t body_bytes = 0;
  sketch::BlockList blocks{};  // of an answer in blocks; into block_digests
  Bytes block_digests;         // its first ones
  std::optional<sketch::Sketch> sketch;
  // The floor of the read's URI at its first look-up: where it has risen since, a write may have
  // changed the answer, and another one put it back.
  Sigma floor = 0;
  // The answer exceeds what is held in memory: it refutes an agreed answer that is held as a whole,
  // and says nothing about one in blocks.
  bool is_too_large = false;
  // The origin gave it to a request without visible exceptions, or with constants in their place.
  bool is_confirmed = false;
  // In place of an answer: the agreed list, but for this block.
  struct WrongBlock {
    std::size_t block = 0;
    Sha256::Digest digest{};  // of the origin's
  };
  std::optional<WrongBlock> wrong_block{};

  [[nodiscard]] sketch::AnswerForm form() const {
    return {.status = status, .head = head, .body = body, .blocks = blocks};
  }

  // The evidence of a wrong block as an answer. Requires the list that has the block.
  [[nodiscard]] Evidence against(const sketch::AnswerForm& agreed) const {
    ASSERT(wrong_block && wrong_block->block < agreed.blocks.count());
    Evidence kept = of(replica, agreed, std::nullopt);
    const std::size_t begin = wrong_block->block * sizeof(Sha256::Digest);
    if (begin < kept.block_digests.size()) {
      std::copy(wrong_block->digest.begin(), wrong_block->digest.end(),
                kept.block_digests.begin() + static_cast<std::ptrdiff_t>(begin));
    }
    kept.wrong_block = wrong_block;
    kept.floor = floor;
    kept.is_confirmed = is_confirmed;
    return kept;
  }

  // Copies what is kept of `form`. `blocks` stays valid when the copy is moved: the digests'
  // storage moves with it.
  [[nodiscard]] static Evidence of(NodeId replica, const sketch::AnswerForm& form,
                                   const std::optional<sketch::Sketch>& sketch) {
    Evidence kept;
    kept.replica = replica;
    kept.status = form.status;
    kept.head.assign(form.head.begin(), form.head.end());
    kept.body.assign(form.body.substr(0, kBodyBytesMax));
    kept.body_bytes = static_cast<std::size_t>(form.body_bytes());
    static_assert(kDigestBytesMax % sizeof(Sha256::Digest) == 0);
    const ByteView digests =
        form.blocks.digests.first(std::min(form.blocks.digests.size(), kDigestBytesMax));
    kept.block_digests.assign(digests.begin(), digests.end());
    kept.blocks = {form.blocks.length, form.blocks.block_bytes, kept.block_digests};
    kept.sketch = sketch;
    return kept;
  }
};

}  // namespace prophecy::sketcher
