// `CodedBodies` holds the coded bodies of a worker's verified answers, by sketch and coding, and
// codes those that are missing.
//
// The sketch covers the body, so what is remembered under it is that body's coding, whoever asked.
// Memory: no more than its bound, the least recently used goes first; a body whose coding is no
// smaller is remembered as such. Processor time: a share of the wall clock's, with at most a tenth
// of a second saved up; beyond it a body that is missing goes as it is.
//
// Single-threaded; each worker has its own.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.hpp"
#include "http/content_coding.hpp"
#include "sketch/sketch_value.hpp"
#include "sketcher/counters/compression_counters.hpp"

namespace prophecy::sketcher {

class CodedBodies {
 public:
  using Body = std::shared_ptr<const std::string>;

  // Of each body's memory, besides its bytes: a bound for all that the containers take.
  static constexpr std::size_t kEntryBytes = 256;

  CodedBodies(std::size_t bytes_max, double processor_share, CompressionCounters& counters)
      : bytes_max_(bytes_max), processor_share_(processor_share), counters_(counters) {
    counters_.held_bytes.set(0);
  }
  CodedBodies(const CodedBodies&) = delete;
  CodedBodies& operator=(const CodedBodies&) = delete;

  // Null: the body goes as it is. Requires a coding other than identity.
  [[nodiscard]] Body find_or_make(const sketch::Sketch& sketch, http::ContentCoding coding,
                                  std::string_view body);

  [[nodiscard]] std::size_t held_bytes() const { return held_bytes_; }

 private:
  struct Key {
    sketch::Sketch sketch;
    http::ContentCoding coding;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    // A sketch is a keyed hash: its bytes are as good as any.
    std::size_t operator()(const Key& key) const;
  };
  struct Entry {
    Key key;
    Body body;  // null: no smaller
    [[nodiscard]] std::size_t bytes() const { return kEntryBytes + (body ? body->capacity() : 0); }
  };
  using Entries = std::list<Entry>;  // the most recently used first

  [[nodiscard]] bool has_time(TimePoint now);
  void remember(Entry entry);

  std::size_t bytes_max_;
  double processor_share_;
  CompressionCounters& counters_;
  Entries entries_;
  std::unordered_map<Key, Entries::iterator, Hash> by_key_;
  std::size_t held_bytes_ = 0;
  Duration time_left_ = std::chrono::milliseconds(100);
  TimePoint time_since_{};
};

}  // namespace prophecy::sketcher
