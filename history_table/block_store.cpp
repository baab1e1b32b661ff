#include "history_table/block_store.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "base/assert.hpp"

namespace prophecy {
namespace {

using Word = std::uint64_t;

constexpr std::size_t kLineWords = 8;  // the cursor has a cache line of its own
// No record is where an empty slot would point to.
constexpr Word kFirstPosition = 1;
constexpr std::size_t kSlotsPerBucket = 8;
// The smallest list has a head and two digests; most are larger.
constexpr std::size_t kRingWordsPerSlot = 32;
constexpr unsigned kTagShift = 48;
constexpr Word kPositionMask = (Word{1} << kTagShift) - 1;

// Every load acquires and every store releases: whoever sees a word of a newer record then sees
// that its place was taken.
Word load(const Word& word) {
  return std::atomic_ref(const_cast<Word&>(word)).load(std::memory_order_acquire);
}
void store(Word& word, Word value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

Word tag_of(const sketch::Sketch& key) {
  std::uint16_t tag;
  std::memcpy(&tag, key.data() + 8, sizeof tag);
  return Word{tag} | 1;  // never 0: a slot that is in use is not empty
}

}  // namespace

// A record's first words: its position, the key, the size of the bytes behind them.
struct BlockStore::Record {
  static constexpr std::size_t kHeaderWords = 4;
  using Header = std::array<Word, kHeaderWords>;

  static Header header(Word position, const sketch::Sketch& key, std::size_t size) {
    Header words{position};
    const auto size_word = static_cast<std::uint32_t>(size);
    auto* const bytes = reinterpret_cast<std::uint8_t*>(words.data() + 1);
    static_assert(sizeof key + sizeof size_word == (kHeaderWords - 1) * sizeof(Word));
    std::memcpy(bytes, key.data(), sizeof key);
    std::memcpy(bytes + sizeof key, &size_word, sizeof size_word);
    return words;
  }
  static std::size_t size_of(const Header& words) {
    std::uint32_t size;
    std::memcpy(&size,
                reinterpret_cast<const std::uint8_t*>(words.data() + 1) + sizeof(sketch::Sketch),
                sizeof size);
    return size;
  }
  static Word words_for(std::size_t size) {
    return kHeaderWords + (size + sizeof(Word) - 1) / sizeof(Word);
  }
};

Result<BlockStore> BlockStore::create(std::size_t bytes) {
  ASSERT(bytes >= kBytesMin && bytes <= kBytesMax);
  auto memory = table::Memory::anonymous(bytes);
  if (!memory) return memory.error();
  BlockStore made(std::move(*memory));
  store(*made.taken_, kFirstPosition);
  return made;
}

BlockStore::BlockStore(table::Memory memory) : memory_(std::move(memory)) {
  const Word words = memory_.size() / sizeof(Word) - kLineWords;
  index_buckets_ = words / (kRingWordsPerSlot + 1) / kSlotsPerBucket;
  taken_ = reinterpret_cast<Word*>(memory_.address());
  index_ = taken_ + kLineWords;
  ring_ = index_ + index_buckets_ * kSlotsPerBucket;
  ring_words_ = words - index_buckets_ * kSlotsPerBucket;
}

Word* BlockStore::bucket_of(const sketch::Sketch& key) const {
  Word hash;  // the key is a digest already
  std::memcpy(&hash, key.data(), sizeof hash);
  return index_ + hash % index_buckets_ * kSlotsPerBucket;
}

bool BlockStore::is_there(Word position) const {
  const Word taken = load(*taken_);
  return position < taken && taken - position <= ring_words_;
}

std::uint64_t BlockStore::bytes_taken() const {
  return (load(*taken_) - kFirstPosition) * sizeof(Word);
}

bool BlockStore::put(const sketch::Sketch& key, ByteView bytes) {
  const Word words = Record::words_for(bytes.size());
  if (words > ring_words_ / 4) return false;
  const Word position = std::atomic_ref(*taken_).fetch_add(words, std::memory_order_acq_rel);
  ASSERT(position + words <= kPositionMask);
  const Record::Header header = Record::header(position, key, bytes.size());
  for (std::size_t i = 0; i < header.size(); ++i)
    store(ring(position + i), header[i]);
  for (Word i = header.size(); i < words; ++i) {
    Word word = 0;
    const std::size_t begin = (i - header.size()) * sizeof word;
    std::memcpy(&word, bytes.data() + begin, std::min(sizeof word, bytes.size() - begin));
    store(ring(position + i), word);
  }
  // Its own slot, if it has one; else the one of the oldest record. That of an empty slot is 0.
  Word* const bucket = bucket_of(key);
  Word* chosen = bucket;
  for (Word* slot = bucket; slot != bucket + kSlotsPerBucket; ++slot) {
    if (load(*slot) >> kTagShift == tag_of(key)) {
      chosen = slot;
      break;
    }
    if ((load(*slot) & kPositionMask) < (load(*chosen) & kPositionMask)) chosen = slot;
  }
  store(*chosen, tag_of(key) << kTagShift | position);
  return true;
}

std::optional<BlockStore::Found> BlockStore::find(const sketch::Sketch& key) const {
  if (load(*taken_) == kFirstPosition) return std::nullopt;
  const Word* const bucket = bucket_of(key);
  for (const Word* slot = bucket; slot != bucket + kSlotsPerBucket; ++slot) {
    const Word word = load(*slot);
    if (word >> kTagShift != tag_of(key)) continue;
    const Word position = word & kPositionMask;
    auto bytes = read(position, key);
    if (bytes) return Found{std::move(*bytes), load(*taken_) - position > ring_words_ / 2};
  }
  return std::nullopt;
}

std::optional<Bytes> BlockStore::read(Word position, const sketch::Sketch& key) const {
  if (!is_there(position)) return std::nullopt;
  Record::Header header;
  for (std::size_t i = 0; i < header.size(); ++i)
    header[i] = load(ring(position + i));
  const std::size_t size = Record::size_of(header);
  if (header != Record::header(position, key, size)) return std::nullopt;
  const Word words = Record::words_for(size);
  if (words > ring_words_ / 4) return std::nullopt;
  Bytes bytes(size);
  for (Word i = header.size(); i < words; ++i) {
    const Word word = load(ring(position + i));
    const std::size_t begin = (i - header.size()) * sizeof word;
    std::memcpy(bytes.data() + begin, &word, std::min(sizeof word, size - begin));
  }
  if (!is_there(position)) return std::nullopt;
  return bytes;
}

}  // namespace prophecy
