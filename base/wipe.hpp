// `WipeAtEnd` overwrites a secret at the end of its scope, whichever way that is left.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace prophecy {

void wipe(std::span<std::uint8_t> bytes);

// The bytes must neither move nor be freed before.
class WipeAtEnd {
 public:
  explicit WipeAtEnd(std::span<std::uint8_t> bytes) : bytes_(bytes) {}
  explicit WipeAtEnd(std::string& text)
      : bytes_(reinterpret_cast<std::uint8_t*>(text.data()), text.size()) {}
  ~WipeAtEnd() { wipe(bytes_); }
  WipeAtEnd(const WipeAtEnd&) = delete;
  WipeAtEnd& operator=(const WipeAtEnd&) = delete;

 private:
  std::span<std::uint8_t> bytes_;
};

}  // namespace prophecy
