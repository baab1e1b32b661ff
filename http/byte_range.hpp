// Which bytes of a representation a Range field asks for (RFC 9110, 14). One range is served;
// several are answered with the whole, as a server may: requests for many small ranges are a known
// way to make much of little.
#pragma once

#include <cstdint>
#include <string_view>

namespace prophecy::http {

struct ByteRange {
  enum class Kind : std::uint8_t {
    whole,          // none that is understood: the field is to be ignored
    part,           // the `size` bytes from `first` on; size > 0, and all lie in the representation
    unsatisfiable,  // it begins behind the end: 416
  };
  Kind kind = Kind::whole;
  std::uint64_t first = 0;
  std::uint64_t size = 0;
};

// Of a representation of `length` bytes.
[[nodiscard]] ByteRange parse_byte_range(std::string_view field, std::uint64_t length);

}  // namespace prophecy::http
