// The primitives of every binary encoding here: little-endian integers and length-prefixed
// strings. The Reader never reads past its input; after the first failure it stays failed and
// yields zeros and empty views, so that a decoder checks once, at its end.
#pragma once

#include <array>
#include <concepts>
#include <cstring>

#include "base/bytes.hpp"

namespace prophecy {

class Writer {
 public:
  explicit Writer(Bytes& out) : out_(out) {}

  template <std::unsigned_integral T>
  void integer(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      out_.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i)));
    }
  }
  void raw(ByteView bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  // A 32-bit length, then the bytes.
  void sized(ByteView bytes) {
    integer(static_cast<std::uint32_t>(bytes.size()));
    raw(bytes);
  }

 private:
  Bytes& out_;
};

class Reader {
 public:
  explicit Reader(ByteView input) : input_(input) {}

  template <std::unsigned_integral T>
  T integer() {
    const ByteView bytes = raw(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
    }
    return static_cast<T>(value);
  }

  ByteView raw(std::size_t size) {
    if (failed_ || size > input_.size()) {
      failed_ = true;
      return {};
    }
    const ByteView bytes = input_.first(size);
    input_ = input_.subspan(size);
    return bytes;
  }

  // A length-prefixed string of at most `size_max` bytes.
  ByteView sized(std::size_t size_max) {
    const std::size_t size = integer<std::uint32_t>();
    if (size > size_max) failed_ = true;
    return raw(size);
  }

  template <std::size_t N>
  void fixed(std::array<std::uint8_t, N>& out) {
    const ByteView bytes = raw(N);
    if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), N);
  }

  void fail() { failed_ = true; }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::size_t remaining() const { return failed_ ? 0 : input_.size(); }
  // True when everything was read, and nothing failed.
  [[nodiscard]] bool complete() const { return !failed_ && input_.empty(); }

 private:
  ByteView input_;
  bool failed_ = false;
};

}  // namespace prophecy
