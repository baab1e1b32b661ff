// `Base64Decoder` decodes base64 (RFC 4648, both alphabets) piece by piece. Padding may be missing;
// spaces and line ends are passed over.
//
// No I/O. For one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace prophecy::measurement {

class Base64Decoder {
 public:
  // Appends to `out`. False: not base64; the decoder is then of no more use.
  [[nodiscard]] bool decode(std::string_view text, std::string& out);
  // Whether what was decoded is whole.
  [[nodiscard]] bool finish() const;

 private:
  std::uint32_t bits_ = 0;
  unsigned count_ = 0;  // of bits that wait
  unsigned padding_ = 0;
  std::uint64_t digits_ = 0;
};

// Without padding, for sketch logs.
void append_base64(std::string_view bytes, std::string& out);

}  // namespace prophecy::measurement
