// `SessionMemory` is the memory of one nghttp2 session, and packs it while the connection is idle.
//
// nghttp2 keeps some 30 KiB for a connection that has carried one request: room for one frame, two
// tables of fields, a map of streams. Most of it is zero. Packed, the session is a short string;
// its pages have gone back to the system, and only its addresses stay reserved. Every byte is
// restored before nghttp2 is called again, so nothing depends on what the bytes mean.
//
// `SessionMemoryPool` reserves the addresses for a worker's sessions. The system backs a page once
// it is written to.
//
// Not thread-safe. The pool outlives the memories.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "base/memory/reserved_memory.hpp"
#include "http/http2/packed_words.hpp"
#include "http/http2/session_arena.hpp"

namespace prophecy::http {

class SessionMemoryPool {
 public:
  // It lends no arenas where pages are larger than one. (The default is the system's page size.)
  explicit SessionMemoryPool(std::size_t page_bytes = ReservedMemory::page_bytes());
  ~SessionMemoryPool();  // all arenas are given back
  SessionMemoryPool(const SessionMemoryPool&) = delete;
  SessionMemoryPool& operator=(const SessionMemoryPool&) = delete;

  // Null: the system has no more addresses for us, or its pages are too large.
  [[nodiscard]] SessionArena* take();
  void give_back(SessionArena* arena);
  // Gives the arena's pages back: all of it is zero then. False: they are locked in memory.
  [[nodiscard]] bool drop_pages(SessionArena* arena);
  // Storage for whoever packs; its content belongs to nobody.
  [[nodiscard]] std::string& scratch() { return scratch_; }
  // Sessions that are packed now.
  [[nodiscard]] std::size_t packed() const { return packed_; }
  void count_packed(bool is_packed) { is_packed ? ++packed_ : --packed_; }

 private:
  [[nodiscard]] bool reserve();
  [[nodiscard]] std::byte* place_of(SessionArena* arena) const;

  const std::size_t page_bytes_;
  // An arena may begin anywhere in its first page.
  const std::size_t place_bytes_;
  std::vector<ReservedMemory> reserved_;
  std::vector<std::byte*> free_;  // places in it
  std::string scratch_;
  std::size_t packed_ = 0;
};

class SessionMemory {
 public:
  // Without a pool, or an arena of it, the memory is malloc()'s, and is not packed.
  explicit SessionMemory(SessionMemoryPool* pool);
  // The session has released its memory, or is packed, and is_whole().
  ~SessionMemory();
  SessionMemory(const SessionMemory&) = delete;
  SessionMemory& operator=(const SessionMemory&) = delete;

  [[nodiscard]] bool has_arena() const { return arena_ != nullptr; }
  // For nghttp2, which copies them. REQUIRES: has_arena().
  [[nodiscard]] nghttp2_mem functions() const;

  // Nothing may touch the memory until unpack(). REQUIRES: has_arena(), not packed.
  void pack();
  void unpack() {
    if (is_packed()) restore();
  }
  [[nodiscard]] bool is_packed() const { return !packed_.empty(); }
  [[nodiscard]] std::size_t packed_bytes() const { return packed_.size(); }
  // While it is packed: all of the session's memory lies in the arena, and goes with that.
  [[nodiscard]] bool is_whole() const { return is_whole_; }

 private:
  [[nodiscard]] WordSwap swap() const;
  void restore();

  SessionMemoryPool* pool_;
  SessionArena* arena_;
  std::uint32_t used_bytes_ = 0;  // of the arena, when it was packed
  bool is_whole_ = false;
  std::string packed_;
};

}  // namespace prophecy::http
