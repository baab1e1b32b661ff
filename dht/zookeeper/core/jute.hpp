// The primitives of jute, ZooKeeper's encoding: big-endian integers; strings, buffers and lists
// behind a signed 32-bit length, where -1 stands for null. The reader never reads past its input;
// after the first failure it stays failed and yields zeros and empty values, so that a decoder
// checks once, at its end.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/assert.hpp"
#include "base/bytes.hpp"

namespace prophecy::zookeeper {

class JuteWriter {
 public:
  explicit JuteWriter(Bytes& out) : out_(out) {}

  void boolean(bool value) { out_.push_back(value ? 1 : 0); }
  void integer(std::int32_t value) { big_endian(static_cast<std::uint32_t>(value), 4); }
  void long_integer(std::int64_t value) { big_endian(static_cast<std::uint64_t>(value), 8); }
  // REQUIRES: fewer than 2^31.
  void length(std::size_t size) {
    ASSERT(size <= std::numeric_limits<std::int32_t>::max());
    integer(static_cast<std::int32_t>(size));
  }
  void buffer(ByteView bytes) {
    length(bytes.size());
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void string(std::string_view text) { buffer(as_bytes(text)); }

 private:
  void big_endian(std::uint64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) {
      out_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
  }

  Bytes& out_;
};

class JuteReader {
 public:
  explicit JuteReader(ByteView input) : input_(input) {}

  // Another byte than 0 and 1 is a failure.
  bool boolean() {
    const std::uint64_t value = big_endian(1);
    if (value > 1) fail();
    return value == 1;
  }
  std::int32_t integer() {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(big_endian(4)));
  }
  std::int64_t long_integer() { return static_cast<std::int64_t>(big_endian(8)); }

  // At most `size_max` bytes; null is empty.
  ByteView buffer(std::size_t size_max) {
    const std::int32_t size = integer();
    if (size == -1) return {};
    if (size < 0 || static_cast<std::size_t>(size) > size_max) fail();
    return raw(static_cast<std::size_t>(size));
  }
  std::string string(std::size_t size_max) { return std::string(as_text(buffer(size_max))); }
  // The length of a list: at most `count_max`, and none whose elements, of `element_bytes_min`
  // each, could not lie in what is left. Null is empty.
  std::size_t count(std::size_t count_max, std::size_t element_bytes_min) {
    const std::int32_t count = integer();
    if (count == -1) return 0;
    if (count < 0 || static_cast<std::size_t>(count) > count_max ||
        static_cast<std::size_t>(count) > input_.size() / element_bytes_min) {
      fail();
      return 0;
    }
    return static_cast<std::size_t>(count);
  }

  void fail() {
    failed_ = true;
    input_ = {};
  }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return input_.empty(); }
  // True when everything was read, and nothing failed.
  [[nodiscard]] bool complete() const { return !failed_ && input_.empty(); }

 private:
  ByteView raw(std::size_t size) {
    if (failed_ || size > input_.size()) {
      fail();
      return {};
    }
    const ByteView bytes = input_.first(size);
    input_ = input_.subspan(size);
    return bytes;
  }
  std::uint64_t big_endian(std::size_t size) {
    std::uint64_t value = 0;
    for (const std::uint8_t byte : raw(size))
      value = value << 8 | byte;
    return value;
  }

  ByteView input_;
  bool failed_ = false;
};

}  // namespace prophecy::zookeeper
