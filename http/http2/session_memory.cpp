#include "http/http2/session_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::http {
namespace {

constexpr std::size_t kPlacesOfRange = 64;
// Sessions are alike. Arenas that began at equal offsets would keep what is used most in the same
// few sets of the processor's caches.
constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kOffsets = 32;

}  // namespace

SessionMemoryPool::SessionMemoryPool(std::size_t page_bytes)
    : page_bytes_(page_bytes), place_bytes_(SessionArena::kBytes + page_bytes_) {}

SessionMemoryPool::~SessionMemoryPool() {
  ASSERT(free_.size() == reserved_.size() * kPlacesOfRange);
}

bool SessionMemoryPool::reserve() {
  const bool pages_fit =
      SessionArena::kBytes % page_bytes_ == 0 && kLineBytes * kOffsets < page_bytes_;
  if (!pages_fit) return false;
  auto range = ReservedMemory::reserve(kPlacesOfRange * place_bytes_);
  if (!range) return false;
  for (std::size_t i = kPlacesOfRange; i > 0; --i)
    free_.push_back(range->begin() + (i - 1) * place_bytes_);
  reserved_.push_back(std::move(*range));
  return true;
}

SessionArena* SessionMemoryPool::take() {
  if (free_.empty() && !reserve()) return nullptr;
  std::byte* const place = free_.back();
  free_.pop_back();
  const std::size_t number = reinterpret_cast<std::uintptr_t>(place) / place_bytes_;
  return new (place + number % kOffsets * kLineBytes) SessionArena;
}

std::byte* SessionMemoryPool::place_of(SessionArena* arena) const {
  auto* const byte = reinterpret_cast<std::byte*>(arena);
  return byte - reinterpret_cast<std::uintptr_t>(byte) % page_bytes_;
}

void SessionMemoryPool::give_back(SessionArena* arena) {
  // (Locked pages keep what was in them, which does no harm.)
  static_cast<void>(drop_pages(arena));
  free_.push_back(place_of(arena));
}

bool SessionMemoryPool::drop_pages(SessionArena* arena) {
  return ReservedMemory::give_back({place_of(arena), place_bytes_});
}

namespace {

// nghttp2's memory functions. `user` is the arena: blocks of nghttp2 point to it.
SessionArena& arena_of(void* user) {
  return *static_cast<SessionArena*>(user);
}

void* allocate(std::size_t size, void* user) {
  SessionArena& arena = arena_of(user);
  if (void* const block = arena.allocate(size)) return block;
  void* const block = std::malloc(std::max<std::size_t>(size, 1));
  if (block != nullptr) arena.count_elsewhere(true);
  return block;
}

void release(void* block, void* user) {
  if (block == nullptr) return;
  SessionArena& arena = arena_of(user);
  if (arena.owns(block)) return arena.release(block);
  arena.count_elsewhere(false);
  std::free(block);
}

void* allocate_zeros(std::size_t count, std::size_t size, void* user) {
  if (size != 0 && count > SIZE_MAX / size) return nullptr;
  void* const block = allocate(count * size, user);
  if (block != nullptr) std::memset(block, 0, count * size);
  return block;
}

void* resize(void* block, std::size_t size, void* user) {
  if (block == nullptr) return allocate(size, user);
  SessionArena& arena = arena_of(user);
  if (!arena.owns(block)) return std::realloc(block, std::max<std::size_t>(size, 1));
  const std::size_t size_before = arena.size_of(block);
  if (size <= size_before) return block;
  void* const larger = allocate(size, user);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, block, size_before);
  arena.release(block);
  return larger;
}

}  // namespace

SessionMemory::SessionMemory(SessionMemoryPool* pool)
    : pool_(pool), arena_(pool == nullptr ? nullptr : pool->take()) {}

SessionMemory::~SessionMemory() {
  if (is_packed()) pool_->count_packed(false);
  if (arena_ != nullptr) pool_->give_back(arena_);
}

nghttp2_mem SessionMemory::functions() const {
  ASSERT(has_arena());
  return {.mem_user_data = arena_,
          .malloc = allocate,
          .free = release,
          .calloc = allocate_zeros,
          .realloc = resize};
}

// Most words that are not zero are pointers into the arena; and with each text that nghttp2 keeps,
// it keeps the function that releases it.
WordSwap SessionMemory::swap() const {
  return {reinterpret_cast<std::uintptr_t>(arena_), SessionArena::kBytes,
          reinterpret_cast<std::uintptr_t>(&release)};
}

void SessionMemory::pack() {
  ASSERT(has_arena() && !is_packed());
  arena_->clear_released();
  const auto used = arena_->used();
  std::string& scratch = pool_->scratch();
  scratch.clear();
  pack_words(used, swap(), scratch);
  packed_.assign(scratch);
  used_bytes_ = static_cast<std::uint32_t>(used.size());
  is_whole_ = arena_->elsewhere() == 0;
  if (pool_->drop_pages(arena_)) return pool_->count_packed(true);
  std::string().swap(packed_);
}

void SessionMemory::restore() {
  unpack_words(packed_, swap(), {reinterpret_cast<std::byte*>(arena_), used_bytes_});
  std::string().swap(packed_);
  pool_->count_packed(false);
}

}  // namespace prophecy::http
