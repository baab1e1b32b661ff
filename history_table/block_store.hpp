// The lists of blocks that large answers lead to: s(r) -> the answer's form in blocks, in memory
// that all workers share, of a fixed size. A ring of records, in the order in which they came, and
// an index of it: what is new takes the place of what is oldest.
//
// Memory is mapped before the workers are forked. Nobody waits for anybody: a writer takes its
// place in the ring with one instruction, writes its record there, and then puts it into the index.
// One that is killed before that leaves a record that nobody finds.
//
// What is found may be torn: a writer that stood still for a whole turn of the ring writes into the
// midst of newer records. The key is a digest under the installation's secret of what was put, so
// whoever finds has to compute it anew, and to take what does not match for not found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "history_table/memory.hpp"
#include "sketch/sketch_value.hpp"

namespace prophecy {

// One object a process, made before the fork and inherited. For several threads at once as well.
class BlockStore {
 public:
  static constexpr std::size_t kBytesMin = std::size_t{1} << 16;
  static constexpr std::size_t kBytesMax = std::size_t{1} << 36;

  struct Found {
    Bytes bytes;
    // It will be overwritten before long: worth to be put once more.
    bool is_old = false;
  };

  // Maps an empty store of at most `bytes`, shared with children forked later.
  [[nodiscard]] static Result<BlockStore> create(std::size_t bytes);

  // False: it is larger than a quarter of the store.
  bool put(const sketch::Sketch& key, ByteView bytes);
  [[nodiscard]] std::optional<Found> find(const sketch::Sketch& key) const;
  // Bytes that were ever taken in the ring, and that it has.
  [[nodiscard]] std::uint64_t bytes_taken() const;
  [[nodiscard]] std::uint64_t capacity() const { return ring_words_ * sizeof(Word); }

 private:
  using Word = std::uint64_t;
  struct Record;

  explicit BlockStore(table::Memory memory);
  [[nodiscard]] Word& ring(Word position) const { return ring_[position % ring_words_]; }
  [[nodiscard]] Word* bucket_of(const sketch::Sketch& key) const;
  // Its words have not been taken by another record since.
  [[nodiscard]] bool is_there(Word position) const;
  [[nodiscard]] std::optional<Bytes> read(Word position, const sketch::Sketch& key) const;

  table::Memory memory_;
  Word* taken_;  // words of the ring that were ever taken: the position of the next record
  Word* index_;  // buckets of kSlotsPerBucket; a slot: tag and position of a record, or 0
  Word index_buckets_;
  Word* ring_;
  Word ring_words_;
};

}  // namespace prophecy
